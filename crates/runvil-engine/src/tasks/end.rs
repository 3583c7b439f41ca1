//! How tasks end: by themselves, with their owner, or with the run (book: Ownership, leaked tasks, and abandonment).

use super::table::TaskState;
use crate::{AbandonReason, ChainId, ErrorKind, EventKind, Failure, TaskOrigin, chain::ChainEnd, run::Run};

impl Run {
    /// A task's chain ended by itself: its result is held until its owner takes it.
    pub(crate) fn task_ended(&mut self, id: &ChainId, end: ChainEnd) {
        self.chains.remove(id);
        self.give_slots_back(id);
        let result = match end {
            ChainEnd::Returned(text) => Ok(text.unwrap_or_default()),
            ChainEnd::Failed { failure, .. } => Err(failure),
        };
        let event = match &result {
            Ok(_) => EventKind::TaskSucceeded { task: id.clone() },
            Err(_) => EventKind::TaskFailed { task: id.clone() },
        };
        let task = self.tasks.get_mut(id);
        task.state = TaskState::Done(result);
        let (owner, target) = (task.owner.clone(), task.target.clone());
        self.shared.report(id, &target, event);
        self.notify(id);
        self.member_ended(&owner, id);
    }

    /// Settles the tasks that an ending chain owns and that still run: each is abandoned, and author tasks among them
    /// fail a chain that would have ended normally.
    pub(crate) fn settle_owned_tasks(&mut self, id: &ChainId, end: ChainEnd) -> ChainEnd {
        let live = self.tasks.live(id, None);
        if live.is_empty() {
            return end;
        }
        let leaked = self.tasks.live(id, Some(TaskOrigin::Author));
        let (reason, end) = match end {
            ChainEnd::Returned(_) if !leaked.is_empty() => {
                let failure = Failure::TasksLive { tasks: leaked };
                (AbandonReason::OwnerReturned, ChainEnd::Failed { failure, in_h1: false })
            }
            ChainEnd::Returned(_) => (AbandonReason::OwnerReturned, end),
            ChainEnd::Failed { ref failure, .. } if failure.kind() == ErrorKind::ToolLoopExhausted => {
                (AbandonReason::ToolLoopExhausted, end)
            }
            ChainEnd::Failed { .. } => (AbandonReason::OwnerFailed, end),
        };
        for task in live {
            self.abandon_task(&task, reason);
            self.notify(&task);
        }
        end
    }

    /// Ends every task that still runs when the run ends: those of the main walk and of the sections that it called with
    /// the run, those nested under one with their owner.
    pub(crate) fn terminate_tasks(&mut self) {
        let walks: Vec<_> = self
            .chains
            .iter()
            .filter(|(_, chain)| chain.task == ChainId::root())
            .map(|(id, _)| id.clone())
            .collect();
        for walk in walks.iter().rev() {
            for task in self.tasks.live(walk, None) {
                self.abandon_task(&task, AbandonReason::RunTerminated);
                self.notify(&task);
            }
        }
    }
}
