//! The end of a run: the first outcome stands, everything that lives is torn down, open effects are awaited.

use super::{Run, RunOutcome, State, Step};
use crate::{EventKind, Failure, RunError, RunErrorKind};

/// The notice that a failed H1 gate opens with.
const GATE_NOTICE: &str = "the environment cannot satisfy this prompt:\n- the H1 gate failed";

impl Run {
    /// Ends the run with a failure that nothing caught. `in_h1` says whether it left the H1 body's own Lua.
    pub(crate) fn fail(&mut self, failure: &Failure, in_h1: bool) {
        let outcome = match failure.run_kind(in_h1) {
            None => RunOutcome::Cancelled,
            Some(kind) => RunOutcome::Failed(run_error(failure, kind)),
        };
        self.end(outcome);
    }

    /// Decides the run's outcome, once: tears down every chain and gives up every open effect.
    pub(crate) fn end(&mut self, outcome: RunOutcome) {
        if !self.is_running() {
            return;
        }
        self.terminate_tasks();
        self.tear_down_chains();
        let open: Vec<_> = self.effects.open.keys().copied().collect();
        for id in open {
            self.drop_effect(id);
        }
        self.ready.clear();
        self.shared.report_run(match outcome {
            RunOutcome::Completed { .. } => EventKind::RunSucceeded,
            RunOutcome::Cancelled | RunOutcome::Failed(_) => EventKind::RunFailed,
        });
        self.state = State::Ending(outcome);
    }

    /// What this step hands out.
    pub(super) fn hand_out(&mut self) -> Step {
        let mut outcome = None;
        if matches!(self.state, State::Ending(_)) && self.effects.open.is_empty() {
            let State::Ending(decided) = std::mem::replace(&mut self.state, State::Ended) else {
                unreachable!("the state was just matched");
            };
            outcome = Some(decided);
        }
        Step {
            effects: std::mem::take(&mut self.effects.new),
            drops: std::mem::take(&mut self.effects.drops),
            events: self.shared.events().drain(),
            openings: std::mem::take(&mut self.openings),
            cancelled: self.shared.take_cancel_place(),
            outcome,
        }
    }
}

/// The record of an uncaught failure.
fn run_error(failure: &Failure, kind: RunErrorKind) -> RunError {
    if let Failure::Internal(error) = failure {
        return error.clone();
    }
    let message = failure.run_message();
    let message = match kind {
        RunErrorKind::RequirementsUnmet => format!("{GATE_NOTICE}: {message}"),
        _ => message,
    };
    RunError {
        retryable: failure.is_retryable(),
        ..RunError::new(kind, message)
    }
}
