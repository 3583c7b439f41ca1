//! Tasks: spawn, admission, waits, ownership, notices (book: Tasks).

mod slots;
mod table;

use crate::{ChainId, chain::ChainEnd, request::Asked, run::Run};

pub(crate) use slots::Slots;
pub(crate) use table::Tasks;

/// What a chain waits for, as a status shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// A model round.
    Chat,
    /// A tool call.
    ToolCall,
    /// A store operation.
    Store,
    /// Other tasks.
    Tasks,
    /// A chain that it started with `call`.
    Call,
    /// A concurrency slot.
    Queued,
}

/// A task operation of a block.
pub(crate) enum TaskRequest {}

impl Run {
    pub(crate) fn serve_task(&mut self, _id: &ChainId, request: TaskRequest) -> Asked {
        match request {}
    }

    /// Admits the next queued task that fits. Whether there was one.
    pub(crate) fn admit_next(&mut self) -> bool {
        false
    }

    /// Settles the tasks that an ending chain owns, and gives the end that then holds.
    pub(crate) fn settle_owned_tasks(&mut self, _id: &ChainId, end: ChainEnd) -> ChainEnd {
        end
    }

    /// A task's chain ended by itself.
    pub(crate) fn task_ended(&mut self, id: &ChainId, _end: ChainEnd) {
        self.chains.remove(id);
    }

    /// Ends every live task with the run.
    pub(crate) fn terminate_tasks(&mut self) {}

    /// Takes the notices that wait for the model of a chain, in the order in which they were queued, and joins their
    /// tasks (book: Notices ahead of a model round).
    pub(crate) fn take_notices(&mut self, _id: &ChainId) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn timer_answered(&mut self, _id: &ChainId, _timer: &ChainId, _fired: bool) {}
}
