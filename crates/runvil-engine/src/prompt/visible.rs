//! What a section can name (book: The visible set; Resolving heading references).

use std::sync::Arc;

use runvil_syntax::{HeadingRef, HeadingRefError, Section, SectionId};

use super::Prompt;

/// Why a heading reference names no section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadingError {
    /// The target is not a string; holds the Lua type that it is.
    #[error("section target must be a string, got {0}")]
    NotAString(String),
    /// It is not markers, whitespace and a name.
    #[error(transparent)]
    Malformed(#[from] HeadingRefError),
    /// No visible section has that level and name.
    #[error("section heading `{heading}` not found; available sections: {available}")]
    NotFound {
        /// The reference, trimmed.
        heading: String,
        /// Every visible section's heading reference, in order.
        available: String,
    },
    /// A list section cannot run as a task.
    #[error("section `{0}` is a list section, not a worker template")]
    ListSection(String),
}

/// The sections that a heading reference can name from one place, in the order in which messages list them.
pub(crate) struct VisibleSet {
    prompt: Arc<Prompt>,
    ids: Vec<SectionId>,
}

impl VisibleSet {
    /// The siblings in document order, then the direct children. From the H1 body it is every top-level section.
    pub(super) fn of(prompt: Arc<Prompt>, from: Option<SectionId>) -> Self {
        let tree = prompt.tree();
        let ids = match from {
            Some(id) => siblings(tree, id).chain(tree[id].children.iter().copied()).collect(),
            None => tree.top_level.clone(),
        };
        Self { prompt, ids }
    }

    /// What `require` reaches: the visible set, then the siblings of each ancestor, outward to the top level.
    pub(super) fn reach(prompt: Arc<Prompt>, from: Option<SectionId>) -> Self {
        let mut reach = Self::of(prompt, from);
        let tree = reach.prompt.tree();
        let ancestors = std::iter::successors(from.and_then(|id| tree[id].parent), |id| tree[*id].parent);
        let outward: Vec<_> = ancestors.flat_map(|ancestor| siblings(tree, ancestor)).collect();
        reach.ids.extend(outward);
        reach
    }

    /// The section that the reference names, `None` where there is none.
    pub(crate) fn find(&self, heading: &str) -> Result<Option<SectionId>, HeadingError> {
        let reference = HeadingRef::parse(heading)?;
        let tree = self.prompt.tree();
        Ok(self
            .ids
            .iter()
            .copied()
            .find(|id| reference.matches(tree[*id].level, &tree[*id].name)))
    }

    /// The section that the reference names.
    pub(crate) fn resolve(&self, heading: &str) -> Result<SectionId, HeadingError> {
        self.find(heading)?.ok_or_else(|| HeadingError::NotFound {
            heading: heading.trim().to_owned(),
            available: self
                .ids
                .iter()
                .map(|id| self.prompt.tree()[*id].heading())
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// The section that a task may run: any visible one that is not made of list items alone.
    pub(crate) fn resolve_worker(&self, heading: &str) -> Result<SectionId, HeadingError> {
        let id = self.resolve(heading)?;
        match &self.prompt.tree()[id] {
            Section {
                items: Some(_), name, ..
            } => Err(HeadingError::ListSection(name.clone())),
            _ => Ok(id),
        }
    }
}

/// The other sections under the same parent.
fn siblings(tree: &runvil_syntax::Prompt, id: SectionId) -> impl Iterator<Item = SectionId> {
    tree.family(id).iter().copied().filter(move |sibling| *sibling != id)
}
