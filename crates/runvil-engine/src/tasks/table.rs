//! The table of every task of a run: who owns it, how it stands, what it left.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use runvil_syntax::SectionId;
use runvil_vfs::Identity;
use serde_json::Value;

use super::{schedule::Queues, wait::Waits};
use crate::{AbandonReason, ChainId, Failure, TaskOrigin, globals::Arguments};

/// How a task stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TaskState {
    /// In flight; queued until it is admitted for the first time.
    Running,
    /// Ended by itself, with its text or its failure.
    Done(Result<String, Failure>),
    /// Its owner cancelled it.
    Cancelled,
    /// Its owner ended first.
    Abandoned(AbandonReason),
}

/// What a task's chain starts from, until it is admitted.
pub(super) struct Start {
    pub(super) section: SectionId,
    pub(super) args: Arc<Arguments>,
    pub(super) input: Option<String>,
    pub(super) item: Option<Value>,
    pub(super) index: Option<i64>,
    pub(super) var: Arc<Value>,
    /// The section that spawned it, under which its start is reported.
    pub(super) spawned_from: String,
}

/// One task, from its spawn to the end of the run.
pub(super) struct Task {
    pub(super) id: ChainId,
    pub(super) owner: ChainId,
    pub(super) origin: TaskOrigin,
    /// The target section's name.
    pub(super) target: String,
    /// Its chain's call depth.
    pub(super) depth: u32,
    /// Its place among all tasks of the run, in spawn order.
    pub(super) order: u64,
    pub(super) identity: Identity,
    pub(super) state: TaskState,
    /// `None` once it was admitted.
    pub(super) start: Option<Start>,
    /// Whether it holds its slots.
    pub(super) holds_slots: bool,
    /// Whether a wait took its result.
    pub(super) delivered: bool,
    pub(super) note: Option<String>,
    /// Whether its end was told to the model that started it.
    pub(super) noticed: bool,
}

impl Task {
    pub(super) fn has_ended(&self) -> bool {
        self.state != TaskState::Running
    }

    /// Whether it was ever admitted.
    pub(super) fn has_started(&self) -> bool {
        self.start.is_none()
    }
}

/// Every task that a run started, its queues and its waits.
#[derive(Default)]
pub(crate) struct Tasks {
    table: BTreeMap<ChainId, Task>,
    spawned: u64,
    pub(super) queues: Queues,
    pub(super) waits: Waits,
}

impl Tasks {
    /// Adds a task, whose place is behind all others.
    pub(super) fn insert(&mut self, mut task: Task) {
        task.order = self.spawned;
        self.spawned += 1;
        self.queues.spawned(&task);
        self.table.insert(task.id.clone(), task);
    }

    pub(super) fn get(&self, id: &ChainId) -> Option<&Task> {
        self.table.get(id)
    }

    /// A task that the machine knows to exist.
    pub(super) fn get_mut(&mut self, id: &ChainId) -> &mut Task {
        self.table
            .get_mut(id)
            .expect("a task stays in the table for the whole run")
    }

    /// The task, if this chain owns it.
    pub(super) fn owned(&self, owner: &ChainId, id: &ChainId) -> Result<&Task, Failure> {
        self.get(id)
            .filter(|task| task.owner == *owner)
            .ok_or_else(|| Failure::TaskNotOwned { task: id.to_string() })
    }

    /// The tasks that a chain owns and that still run, in spawn order.
    pub(super) fn live(&self, owner: &ChainId, origin: Option<TaskOrigin>) -> Vec<ChainId> {
        self.owned_by(owner)
            .filter(|task| !task.has_ended() && origin.is_none_or(|origin| task.origin == origin))
            .map(|task| task.id.clone())
            .collect()
    }

    /// Every task that a chain owns, in spawn order: a child's number grows with each spawn.
    pub(super) fn owned_by<'a>(&'a self, owner: &'a ChainId) -> impl Iterator<Item = &'a Task> {
        self.table
            .range((Bound::Excluded(owner), Bound::Unbounded))
            .map(|(_, task)| task)
            .take_while(|task| task.id.is_within(owner))
            .filter(|task| task.owner == *owner)
    }

    /// Takes a task that never ran out of its queue.
    pub(super) fn withdraw(&mut self, id: &ChainId) {
        if let Some(task) = self.table.get(id) {
            self.queues.withdraw(task);
        }
    }

    /// Sets the progress note of a task. The main walk's is kept nowhere, since nothing reads it.
    pub(super) fn note(&mut self, id: &ChainId, text: String) {
        if let Some(task) = self.table.get_mut(id) {
            task.note = Some(text);
        }
    }
}
