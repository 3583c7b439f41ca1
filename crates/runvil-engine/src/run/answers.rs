//! Answers: each goes to the chain that waits for it, or ends a run whose Harness broke the rules.

use super::{OpenEffect, Purpose, Run, RunOutcome};
use crate::{Answer, EffectId, RunError};

impl Run {
    /// Takes one answer.
    pub(super) fn take_answer(&mut self, id: EffectId, answer: Answer) {
        let Some(open) = self.effects.open.remove(&id) else {
            let fault = if self.effects.was_issued(id) {
                format!("effect {id} was answered twice")
            } else {
                format!("an answer names effect {id}, which was never issued")
            };
            self.break_invariant(RunError::internal(fault));
            return;
        };
        if !fits(&open.purpose, &answer) {
            self.break_invariant(RunError::internal(format!(
                "effect {id} was answered with the wrong kind of answer"
            )));
            return;
        }
        if open.abandoned || !self.is_running() {
            return;
        }
        self.deliver(open, answer);
    }

    /// Hands a fitting answer to the module that asked.
    fn deliver(&mut self, open: OpenEffect, answer: Answer) {
        let OpenEffect { chain, purpose, .. } = open;
        match (purpose, answer) {
            (Purpose::Round(round), Answer::Model(reply)) => {
                self.round_answered(&chain, *round, Some((*reply).into()));
            }
            (Purpose::Round(round), _) => self.round_answered(&chain, *round, None),
            (Purpose::Tool(call), Answer::Tool(output)) => {
                self.tool_answered(&chain, *call, Some(output.into()));
            }
            (Purpose::Tool(call), _) => self.tool_answered(&chain, *call, None),
            (Purpose::Store(op), Answer::Store(reply)) => {
                self.store_answered(&chain, op, Some(reply.into()));
            }
            (Purpose::Store(op), _) => self.store_answered(&chain, op, None),
            (Purpose::Timer { timer }, answer) => {
                self.timer_answered(&chain, &timer, matches!(answer, Answer::Timer));
            }
        }
    }

    /// Ends the run for a mistake of its Harness, unless its outcome is decided already.
    fn break_invariant(&mut self, error: RunError) {
        if self.is_running() {
            self.end(RunOutcome::Failed(error));
        }
    }
}

/// Whether an answer is of the effect's own kind. Any effect can be answered as dropped.
fn fits(purpose: &Purpose, answer: &Answer) -> bool {
    matches!(
        (purpose, answer),
        (_, Answer::Dropped)
            | (Purpose::Round(_), Answer::Model(_))
            | (Purpose::Tool(_), Answer::Tool(_))
            | (Purpose::Store(_), Answer::Store(_))
            | (Purpose::Timer { .. }, Answer::Timer)
    )
}
