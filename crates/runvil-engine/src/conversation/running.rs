//! What runs over a list: one loop, one compactor (book: How the loop runs; Compactors and context exhaustion).

use std::sync::Arc;

use super::{Conversation, RoundCalls, compose, estimate, record::Record, rules};
use crate::{Failure, models::Model};

/// A `models.loop` or `handle:loop` that has not returned.
pub(crate) struct RunningLoop {
    /// The handle's own model; `None` for the section's current one.
    pub(super) model: Option<Arc<Model>>,
    /// Rounds that count toward the cap.
    pub(super) rounds: u32,
    /// Whether a tool call was answered.
    pub(super) answered_calls: bool,
    /// The overflow of the current round, until its retry is answered.
    pub(super) overflow: Option<Overflow>,
}

/// A round that did not fit its model.
pub(crate) struct Overflow {
    /// Which gate refused it.
    pub(super) reason: Reason,
    /// The estimate of the list that did not fit.
    pub(super) estimate: u64,
    /// The records from before the compaction, with the notices delivered since; `None` until it passed.
    pub(super) before: Option<Vec<Arc<Record>>>,
}

/// Which gate refused a request (book: Overflow reasons).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The precheck, before it left.
    Precheck,
    /// The provider.
    Provider,
}

impl Reason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Precheck => "precheck",
            Self::Provider => "provider",
        }
    }

    pub(super) fn exhausted(self) -> Failure {
        Failure::ContextExhausted {
            reason: self.as_str().to_owned(),
        }
    }
}

/// A compactor that has not returned.
pub(crate) struct Compaction {
    /// The records as it found them.
    before: Vec<Arc<Record>>,
}

impl Conversation {
    /// Starts a loop. The caller made sure that nothing runs.
    pub(crate) fn open_loop(&mut self, model: Option<Arc<Model>>) {
        self.running = Some(RunningLoop {
            model,
            rounds: 0,
            answered_calls: false,
            overflow: None,
        });
    }

    /// Ends the loop, however it ended.
    pub(crate) fn close_loop(&mut self) {
        self.running = None;
    }

    /// Whether the loop that runs answered a tool call.
    pub(super) fn has_answered_calls(&self) -> bool {
        self.running.as_ref().is_some_and(|it| it.answered_calls)
    }

    /// Starts a compactor over the list as it stands.
    pub(crate) fn begin_compaction(&mut self) {
        self.compaction = Some(Compaction {
            before: self.records.clone(),
        });
    }

    /// Ends the compactor: judges the list that it left, and restores the records if it raised or broke a rule.
    pub(crate) fn end_compaction(&mut self, returned: bool) -> Result<(), Failure> {
        let Some(Compaction { before }) = self.compaction.take() else {
            return Ok(());
        };
        let verdict = if returned { self.judge() } else { Ok(()) };
        if !returned || verdict.is_err() {
            self.records = before;
            self.end_retry();
        } else if let Some(overflow) = self.overflow() {
            overflow.before = Some(before);
        }
        verdict
    }

    /// The rules that a compacted list must pass.
    fn judge(&mut self) -> Result<(), Failure> {
        rules::check(&self.records)?;
        let Some((limit, reason)) = self.overflow().map(|it| (it.estimate, it.reason)) else {
            return Ok(());
        };
        if estimate::estimate(&compose::compose(&self.records)) < limit {
            Ok(())
        } else {
            Err(reason.exhausted())
        }
    }

    /// The overflow whose compaction or retry runs.
    pub(super) fn overflow(&mut self) -> Option<&mut Overflow> {
        self.running.as_mut()?.overflow.as_mut()
    }

    /// Whether the next round is the retry after a compaction.
    pub(super) fn is_retry(&self) -> bool {
        let overflow = self.running.as_ref().and_then(|it| it.overflow.as_ref());
        overflow.is_some_and(|overflow| overflow.before.is_some())
    }

    /// The round is over: the next one may overflow and compact again.
    pub(super) fn end_retry(&mut self) {
        if let Some(running) = &mut self.running {
            running.overflow = None;
        }
    }

    /// Takes an overflow of the current round. `Ok` hands it to the compactor; a retry that overflows restores the
    /// records from before the compaction and exhausts the context.
    pub(super) fn overflowed(&mut self, reason: Reason, estimate: u64) -> Result<(), Failure> {
        let Some(running) = &mut self.running else {
            return Err(reason.exhausted());
        };
        match running.overflow.take() {
            Some(Overflow {
                before: Some(before), ..
            }) => {
                self.records = before;
                Err(reason.exhausted())
            }
            _ => {
                running.overflow = Some(Overflow {
                    reason,
                    estimate,
                    before: None,
                });
                Ok(())
            }
        }
    }

    /// Appends a tool round whose every call has its result. `cap` is the most rounds that the loop may take.
    pub(crate) fn record_calls(&mut self, round: &RoundCalls, results: Vec<String>, cap: u32) -> Result<(), Failure> {
        self.push(Record::of_calls(round.calls.clone()));
        for (call, text) in round.calls.iter().zip(results) {
            self.push(Record::result(call, text));
        }
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        running.answered_calls = true;
        if running.rounds >= cap {
            return Err(Failure::ToolLoopExhausted);
        }
        Ok(())
    }
}
