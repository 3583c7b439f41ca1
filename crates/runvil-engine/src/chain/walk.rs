//! Where a walk stands, and where it goes next (book: The section walk; Child walks).

use runvil_syntax::{Prompt, SectionId};

/// The section that the walk is in at each level, outermost first. Jumping into a child adds a level; a level that
/// runs out gives control back to the one above, after the section that jumped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    levels: Vec<SectionId>,
}

impl Walk {
    pub(crate) fn starting_at(section: SectionId) -> Self {
        Self { levels: vec![section] }
    }

    /// The section that the walk is in; `None` before the first, in the H1 pass, and after the last.
    pub(crate) fn current(&self) -> Option<SectionId> {
        self.levels.last().copied()
    }

    /// Moves on after a section that ended without a result, and gives the next one.
    pub(crate) fn fall_through(&mut self, prompt: &Prompt) -> Option<SectionId> {
        while let Some(ended) = self.levels.pop() {
            let family = prompt.family(ended);
            let place = family.iter().position(|id| *id == ended)?;
            if let Some(next) = family.get(place + 1) {
                self.levels.push(*next);
                return Some(*next);
            }
        }
        None
    }

    /// Starts the main walk after the H1 pass.
    pub(crate) fn start_main(&mut self, prompt: &Prompt) -> Option<SectionId> {
        let first = prompt.top_level.first().copied();
        self.levels.extend(first);
        first
    }

    /// Moves to a jump's target: a sibling takes the jumper's place, a child starts a level of its own.
    pub(crate) fn jump(&mut self, prompt: &Prompt, target: SectionId) {
        if prompt[target].parent != self.current() {
            self.levels.pop();
        }
        self.levels.push(target);
    }
}
