//! What one section entry is to its Lua: the context that the natives of its VM share with the machine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runvil_lua::Vm;
use runvil_syntax::SectionId;
use serde_json::Value;

use crate::{
    ChainId, EventKind, Failure,
    conversation::Conversation,
    globals::{self, Arguments, Libraries, PendingProse, Seeds},
    models::Selection,
    run::RunShared,
    tools::ToolScope,
};

/// One entry into a section, as its Lua sees it. The machine and the natives of the section's VM share it; the
/// natives run only while the machine resumes a block, so a lock is never contended.
pub(crate) struct SectionContext {
    pub(crate) run: Arc<RunShared>,
    /// The nearest enclosing task.
    pub(crate) task: ChainId,
    /// The section entry id, `sys.id`.
    pub(crate) id: String,
    /// The section, `None` for the H1 body.
    pub(crate) section: Option<SectionId>,
    /// The section's name, the title for the H1 body.
    pub(crate) name: String,
    /// The chain's arguments as the entry found them.
    pub(crate) args: Arc<Arguments>,
    /// What a spawn gave this entry.
    pub(crate) seeds: Option<Seeds>,
    /// What changes while its blocks run; `Mutex::default()` at the entry.
    pub(crate) state: Mutex<SectionState>,
}

/// The part of an entry that changes while its blocks run.
#[derive(Default)]
pub(crate) struct SectionState {
    /// The heading that a `jump` of the running block recorded.
    pub(crate) jump: Option<String>,
    pub(crate) prose: PendingProse,
    pub(crate) libraries: Libraries,
    /// The latest `models.use`.
    pub(crate) selection: Option<Selection>,
    pub(crate) conversation: Conversation,
    pub(crate) tools: ToolScope,
}

impl SectionState {
    /// Counts a tool call that is dispatched. The first of them fixes the section's model.
    pub(crate) fn count_call(&mut self, run: &RunShared, name: &str) {
        let selected = self.selection.clone();
        let model = || {
            selected
                .or_else(|| run.roles.default())
                .map(|model| model.name().to_owned())
        };
        self.tools.count(&run.catalog, name, model);
    }
}

impl SectionContext {
    pub(crate) fn state(&self) -> MutexGuard<'_, SectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model that a round of the section runs on when it names none (book: Which model a round uses).
    pub(crate) fn section_model(&self) -> Option<Selection> {
        let selected = self.state().selection.clone();
        selected.or_else(|| self.run.roles.default())
    }

    /// Reports an event under this section.
    pub(crate) fn report(&self, kind: EventKind) {
        self.run.report(&self.task, &self.name, kind);
    }

    /// Makes a block's prose pending and forgets an earlier block's jump.
    pub(crate) fn begin_block(&self, prose: &str) {
        let mut state = self.state();
        state.jump = None;
        state.prose = PendingProse::new(prose);
    }

    pub(crate) fn take_jump(&self) -> Option<String> {
        self.state().jump.take()
    }

    /// The section's final `var`, and the arguments that the next section of the chain sees.
    pub(crate) fn read_back(&self, vm: &Vm) -> Result<(Value, Arc<Arguments>), Failure> {
        let var = globals::read_var(vm.lua(), self)?;
        Ok((var, globals::current_arguments(vm.lua(), self)?))
    }
}
