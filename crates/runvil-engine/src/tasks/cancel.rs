//! Cancelling a task, and stopping chains from outside (book: What `tasks.cancel` does).

use super::table::TaskState;
use crate::{AbandonReason, ChainId, EventKind, Failure, run::Run};

impl Run {
    /// Cancels a task that a chain owns; one that ended stays as it is.
    pub(super) fn cancel(&mut self, owner: &ChainId, id: &ChainId) -> Result<(), Failure> {
        self.tasks.owned(owner, id)?;
        self.cancel_task(id);
        self.notify(id);
        Ok(())
    }

    /// Stops a live task on purpose. Whether it was live.
    pub(super) fn cancel_task(&mut self, id: &ChainId) -> bool {
        self.stop_task(id, TaskState::Cancelled, EventKind::TaskCancelled { task: id.clone() })
    }

    /// Ends a live task whose owner ended first. Whether it was live.
    pub(super) fn abandon_task(&mut self, id: &ChainId, reason: AbandonReason) -> bool {
        self.stop_task(
            id,
            TaskState::Abandoned(reason),
            EventKind::TaskAbandoned {
                task: id.clone(),
                reason,
            },
        )
    }

    /// Stops a live task from outside: first all that it owns, then its own chains. A task that never ran ends without
    /// an event.
    fn stop_task(&mut self, id: &ChainId, state: TaskState, event: EventKind) -> bool {
        if self.tasks.get_mut(id).has_ended() {
            return false;
        }
        if !self.tasks.get_mut(id).has_started() {
            self.tasks.withdraw(id);
            self.tasks.get_mut(id).state = state;
            return true;
        }
        self.abort_chains_of(id);
        self.give_slots_back(id);
        let task = self.tasks.get_mut(id);
        task.state = state;
        let target = task.target.clone();
        self.shared.report(id, &target, event);
        true
    }

    /// Takes down a task's own chain and the chains that it called, innermost first, after the tasks that each owns.
    fn abort_chains_of(&mut self, id: &ChainId) {
        let chains: Vec<_> = self
            .chains
            .iter()
            .filter(|(_, chain)| chain.task == *id)
            .map(|(chain, _)| chain.clone())
            .collect();
        for chain in chains.iter().rev() {
            for owned in self.tasks.live(chain, None) {
                self.abandon_task(&owned, AbandonReason::OwnerAborted);
                self.notify(&owned);
            }
            self.tasks.waits.remove(chain);
            self.drop_effects_of(chain);
            self.abort_section(chain);
            self.chains.remove(chain);
        }
    }
}
