//! What every chain of a run shares.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use runvil_lua::CancelFlag;

use super::{EventLog, pace::Pace};
use crate::{
    CancelPlace, ChainId, EventKind, ModelInfo, PackSnapshot, RunFacts, models::Roles, prompt::Prompt, tools::Catalog,
    untrusted,
};

/// The facts and the prompt-wide state of one run. Natives of every section VM read it.
pub(crate) struct RunShared {
    pub(crate) prompt: Arc<Prompt>,
    pub(crate) facts: RunFacts,
    pub(crate) catalog: Catalog,
    pub(crate) roles: Roles,
    /// Whether the Host declares a store.
    pub(crate) has_store: bool,
    pub(crate) cancel: CancelFlag,
    /// The nonce of the run's untrusted envelopes.
    pub(crate) nonce: String,
    events: Mutex<EventLog>,
    pace: Pace,
    turns: Mutex<BTreeMap<ChainId, u32>>,
}

impl RunShared {
    pub(super) fn new(
        prompt: Arc<Prompt>,
        facts: RunFacts,
        packs: PackSnapshot,
        bound: BTreeMap<String, ModelInfo>,
        has_store: bool,
    ) -> Self {
        Self {
            catalog: Catalog::new(packs),
            roles: Roles::new(&prompt.tree().frontmatter.models, bound),
            has_store,
            cancel: CancelFlag::new(),
            nonce: untrusted::nonce(&facts.seed),
            events: Mutex::new(EventLog::new(facts.name.clone(), prompt.parse_events())),
            pace: Pace::default(),
            turns: Mutex::default(),
            prompt,
            facts,
        }
    }

    /// How many model rounds a task was served, its own and those of the sections that it called.
    pub(crate) fn turns(&self, task: &ChainId) -> u32 {
        self.served().get(task).copied().unwrap_or_default()
    }

    /// Counts a served model round of a task, and gives its number.
    pub(crate) fn count_turn(&self, task: &ChainId) -> u32 {
        let mut served = self.served();
        let turns = served.entry(task.clone()).or_default();
        *turns += 1;
        *turns
    }

    fn served(&self) -> MutexGuard<'_, BTreeMap<ChainId, u32>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The prompt's title, under which the run and the H1 pass report.
    pub(crate) fn title(&self) -> &str {
        &self.prompt.tree().h1.title
    }

    /// Reports an event of a task under a section's name.
    pub(crate) fn report(&self, task: &ChainId, section: &str, kind: EventKind) {
        self.events().push(task, section, kind);
        self.count();
    }

    /// Reports an event of the run itself.
    pub(crate) fn report_run(&self, kind: EventKind) {
        self.report(&ChainId::root(), self.title(), kind);
    }

    /// Looks at the cancel flag, as the Engine does between pieces of its work.
    pub(crate) fn sees_cancel(&self) -> bool {
        self.pace.look(&self.cancel)
    }

    /// Counts one thing that the step came to.
    pub(crate) fn count(&self) {
        self.pace.count(&self.cancel);
    }

    /// The cancel struck running Lua.
    pub(crate) fn cancel_struck_lua(&self) {
        self.pace.struck_lua();
    }

    pub(super) fn begin_step(&self) {
        self.pace.begin_step();
    }

    pub(super) fn cancel_at(&self, place: CancelPlace) {
        self.pace.cancel_at(place, &self.cancel);
    }

    pub(super) fn take_cancel_place(&self) -> Option<CancelPlace> {
        self.pace.take_place()
    }

    pub(crate) fn events(&self) -> MutexGuard<'_, EventLog> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rounds that one loop call may take.
    pub(crate) fn round_cap(&self) -> u32 {
        let own = self.prompt.tree().frontmatter.max_tool_iterations;
        own.map_or(self.facts.limits.max_tool_iterations, u32::from)
    }
}
