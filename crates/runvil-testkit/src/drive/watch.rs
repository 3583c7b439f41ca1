//! What the Host does when a log checkpoint is reached, in the middle of a step.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use runvil_engine::{CancelFlag, Event, EventKind, Run};

use crate::case::{Action, ActionKind, ActionMoment};

/// Acts at the log checkpoints of a run.
pub(super) struct LogWatch {
    actions: Vec<(u64, ActionKind)>,
    cancel: CancelFlag,
    stop: Arc<AtomicBool>,
}

impl LogWatch {
    pub(super) fn new(actions: &[Action], cancel: CancelFlag) -> Self {
        let at_log = |action: &&Action| action.on == ActionMoment::Log;
        let actions = actions
            .iter()
            .filter(at_log)
            .map(|action| (action.nth, action.r#do))
            .collect();
        Self {
            actions,
            cancel,
            stop: Arc::default(),
        }
    }

    /// Has the run tell of its checkpoints, if the case does anything at one.
    pub(super) fn attach(&self, run: &mut Run) {
        if self.actions.is_empty() {
            return;
        }
        let (actions, cancel, stop) = (self.actions.clone(), self.cancel.clone(), self.stop.clone());
        let mut reached = 0;
        run.watch(move |event: &Event| {
            if !matches!(event.kind, EventKind::Lua { .. }) {
                return;
            }
            reached += 1;
            for (_, action) in actions.iter().filter(|(nth, _)| *nth == reached) {
                match action {
                    ActionKind::Cancel => cancel.cancel(),
                    ActionKind::Stop => stop.store(true, Ordering::Relaxed),
                }
            }
        });
    }

    /// Whether a stop landed during the last step. It reaches the calls that waited before that step.
    pub(super) fn take_stop(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }
}
