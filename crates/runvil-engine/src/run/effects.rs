//! The effects that are out, and what each answer is for.

use std::collections::BTreeMap;

use runvil_vfs::OpName;

use super::Run;
use crate::{ChainId, Effect, EffectId, EffectKind, conversation::PendingRound, tools::PendingCall};

/// What an answer is for.
pub(crate) enum Purpose {
    /// A model round of the chain.
    Round(Box<PendingRound>),
    /// A Pack tool call of the chain.
    Tool(Box<PendingCall>),
    /// A store operation of the chain.
    Store(OpName),
    /// The timer of a wait.
    Timer {
        /// The child id that the timer took.
        timer: ChainId,
    },
}

/// One effect that is not answered yet.
pub(crate) struct OpenEffect {
    /// The chain that waits for it.
    pub(crate) chain: ChainId,
    pub(crate) purpose: Purpose,
    /// Nothing waits for it any more; its answer is thrown away.
    pub(crate) abandoned: bool,
}

/// The table of open effects, and what a step hands out of it.
#[derive(Default)]
pub(crate) struct Effects {
    issued: u64,
    pub(super) open: BTreeMap<EffectId, OpenEffect>,
    pub(super) new: Vec<Effect>,
    pub(super) drops: Vec<EffectId>,
}

impl Effects {
    /// Whether an id was ever handed out.
    pub(super) fn was_issued(&self, id: EffectId) -> bool {
        (1..=self.issued).contains(&id.0)
    }
}

impl Run {
    /// Issues one piece of Harness work on behalf of a chain.
    pub(crate) fn issue(&mut self, chain: &ChainId, kind: EffectKind, purpose: Purpose) -> EffectId {
        self.shared.count();
        self.effects.issued += 1;
        let id = EffectId(self.effects.issued);
        let asking = self.chain(chain);
        let effect = Effect {
            id,
            task: asking.task.clone(),
            section: asking.section_name.clone(),
            kind,
        };
        self.effects.new.push(effect);
        self.effects.open.insert(
            id,
            OpenEffect {
                chain: chain.clone(),
                purpose,
                abandoned: false,
            },
        );
        id
    }

    /// Gives up an effect that nothing waits for any more.
    ///
    /// A store operation is not withdrawn: it lands, and only its answer is thrown away.
    pub(crate) fn drop_effect(&mut self, id: EffectId) {
        let Some(open) = self.effects.open.get_mut(&id) else {
            return;
        };
        if open.abandoned {
            return;
        }
        open.abandoned = true;
        if !matches!(open.purpose, Purpose::Store(_)) {
            self.effects.drops.push(id);
        }
    }

    /// Gives up every effect of one chain.
    pub(crate) fn drop_effects_of(&mut self, chain: &ChainId) {
        let ids: Vec<_> = self
            .effects
            .open
            .iter()
            .filter(|(_, open)| open.chain == *chain)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            self.drop_effect(id);
        }
    }
}
