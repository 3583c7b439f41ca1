//! Spawning: a task is fixed by the call, and runs once it is admitted (book: Starting a task with `tasks.spawn`).

use super::{
    SpawnRequest,
    table::{Start, Task, TaskState},
};
use crate::{CALL_DEPTH_CAP, CallForm, ChainId, Failure, TaskOrigin, run::Run};

impl Run {
    /// Queues a new task of a chain.
    pub(crate) fn spawn(
        &mut self,
        owner: &ChainId,
        request: SpawnRequest,
        origin: TaskOrigin,
    ) -> Result<ChainId, Failure> {
        self.spawn_as(owner, request, origin, CallForm::Call)
    }

    /// As [`Run::spawn`], with the call form that a refusal at the depth cap names.
    pub(super) fn spawn_as(
        &mut self,
        owner: &ChainId,
        request: SpawnRequest,
        origin: TaskOrigin,
        form: CallForm,
    ) -> Result<ChainId, Failure> {
        let from = self.chain(owner).walk.current();
        let section = self.shared.prompt.visible_from(from).resolve_worker(&request.target)?;
        let target = self.shared.prompt.tree()[section].name.clone();
        let chain = self.chain(owner);
        if chain.depth >= CALL_DEPTH_CAP {
            return Err(Failure::CallDepth(form));
        }
        let id = chain.next_child();
        let identity = chain.identity.fork(id.to_string());
        let (depth, spawned_from) = (chain.depth + 1, chain.section_name.clone());
        self.open_store(&identity)?;
        let SpawnRequest {
            args,
            input,
            item,
            index,
            var,
            ..
        } = request;
        self.tasks.insert(Task {
            id: id.clone(),
            owner: owner.clone(),
            origin,
            target,
            depth,
            order: 0,
            identity,
            state: TaskState::Running,
            start: Some(Start {
                section,
                args,
                input,
                item,
                index,
                var,
                spawned_from,
            }),
            holds_slots: false,
            delivered: false,
            note: None,
            noticed: false,
        });
        Ok(id)
    }
}
