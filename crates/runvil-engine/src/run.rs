//! The machine: step it, perform what it hands out, answer (book: How a run proceeds).

mod answers;
mod effects;
mod ending;
mod events;
mod pace;
mod resume;
mod shared;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use runvil_lua::CancelFlag;
use runvil_vfs::{Identity, StoreFailure};

pub(crate) use effects::{OpenEffect, Purpose};
pub(crate) use events::EventLog;
pub(crate) use resume::{Reply, Resume};
pub(crate) use shared::RunShared;

use crate::{
    Answer, CancelPlace, ChainId, Effect, EffectId, Event, Handed, RunError, RunSetup, StepRecord, StoreAccess,
    chain::{Chain, Flow},
    tasks::Tasks,
};
use effects::Effects;

/// One run of one prompt, as a pure machine.
///
/// [`Run::step`] runs Lua until nothing is left to run without an answer. It may spin for as long as a block's Lua
/// does, so it belongs on a thread that may block.
pub struct Run {
    pub(crate) shared: Arc<RunShared>,
    pub(crate) chains: BTreeMap<ChainId, Chain>,
    pub(crate) ready: VecDeque<(ChainId, Resume)>,
    pub(crate) effects: Effects,
    pub(crate) tasks: Tasks,
    store: Option<Box<dyn StoreAccess>>,
    /// What this step was answered each time it opened or forked the store.
    openings: Vec<Option<StoreFailure>>,
    answers: VecDeque<(EffectId, Answer)>,
    state: State,
}

/// Where a run stands.
enum State {
    /// Not stepped yet.
    Fresh,
    /// Its chains run.
    Running,
    /// Its outcome is decided and waits for the open effects to be answered.
    Ending(RunOutcome),
    /// Its outcome was handed out.
    Ended,
}

/// What one step gives.
#[derive(Debug, Default)]
pub struct Step {
    /// New work for the Harness, in issue order.
    pub effects: Vec<Effect>,
    /// Effects that nothing waits for any more. Each is still answered, as dropped.
    pub drops: Vec<EffectId>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What the Host answered each time the run opened or forked its store access: `None` where it granted it.
    pub openings: Vec<Option<StoreFailure>>,
    /// Where the run's cancel took effect, if it did in this step.
    pub cancelled: Option<CancelPlace>,
    /// How the run ended. It comes once, after every open effect is answered.
    pub outcome: Option<RunOutcome>,
}

impl Step {
    /// The step as a record keeps it. `handed` are the answers that it was handed.
    #[must_use]
    pub fn into_record(self, handed: Vec<Handed>) -> StepRecord {
        let Self {
            effects,
            drops,
            events,
            openings,
            cancelled,
            outcome,
        } = self;
        StepRecord {
            handed,
            openings,
            effects,
            drops,
            events,
            cancelled,
            outcome,
        }
    }
}

/// How a run ends (book: The three run outcomes).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunOutcome {
    /// It ran to its end.
    Completed {
        /// The run result.
        text: String,
    },
    /// The Host cancelled it, or a stopped call went uncaught.
    Cancelled,
    /// It failed.
    Failed(RunError),
}

impl Run {
    /// Builds a run. Nothing of the prompt runs before the first step.
    ///
    /// # Errors
    /// The prompt declares no Engine major, or one that this build does not run.
    pub fn new(setup: RunSetup) -> Result<Self, RunError> {
        setup.prompt.check_version()?;
        let RunSetup {
            prompt,
            facts,
            packs,
            roles,
            store,
        } = setup;
        Ok(Self {
            shared: Arc::new(RunShared::new(prompt, facts, packs, roles, store.is_some())),
            chains: BTreeMap::new(),
            ready: VecDeque::new(),
            effects: Effects::default(),
            tasks: Tasks::default(),
            store,
            openings: Vec::new(),
            answers: VecDeque::new(),
            state: State::Fresh,
        })
    }

    /// The flag that cancels this run, from any thread and at any time.
    #[must_use]
    pub fn cancel_flag(&self) -> CancelFlag {
        self.shared.cancel.clone()
    }

    /// Has the next step cancel itself where the same step of another run of the same course did.
    pub fn cancel_at(&mut self, place: CancelPlace) {
        self.shared.cancel_at(place);
    }

    /// Has `watcher` hear each event at the moment it is reported, in the middle of a step, for a Host that acts at one,
    /// such as a cancel at a checkpoint. The step hands the events out all the same.
    pub fn watch(&mut self, watcher: impl FnMut(&Event) + Send + 'static) {
        self.shared.events().watch(Box::new(watcher));
    }

    /// Hands in the answer to an effect; the next step uses it.
    ///
    /// An answer of the wrong kind, to an id never issued, or given twice ends the run as `Internal`. The late
    /// answer to a dropped effect is thrown away.
    pub fn answer(&mut self, id: EffectId, answer: Answer) {
        self.answers.push_back((id, answer));
    }

    /// Runs until no chain is ready and no queued task fits, or the outcome is decided.
    pub fn step(&mut self) -> Step {
        self.shared.begin_step();
        if matches!(self.state, State::Fresh) {
            self.state = State::Running;
            self.start();
        }
        while let Some((id, answer)) = self.answers.pop_front() {
            self.take_answer(id, answer);
        }
        while self.is_running() && self.work() {}
        self.hand_out()
    }

    /// One piece of work. Whether there was any.
    fn work(&mut self) -> bool {
        if self.shared.sees_cancel() {
            self.end(RunOutcome::Cancelled);
            return false;
        }
        if let Some((id, resume)) = self.ready.pop_front() {
            self.advance(&id, resume);
            return true;
        }
        self.admit_next()
    }

    /// Opens the store and starts the root chain.
    fn start(&mut self) {
        self.shared.report_run(crate::EventKind::RunStarted);
        let root = Identity::root(ChainId::root().to_string());
        let opened = match &mut self.store {
            Some(store) => store.open(&root),
            None => Err(StoreFailure::NoStore),
        };
        let opened = self.opened(opened);
        if let Err(failure) = opened {
            self.fail(&failure.into(), false);
            return;
        }
        let chain = Chain::root(&self.shared, root);
        let id = chain.id.clone();
        self.chains.insert(id.clone(), chain);
        self.ready.push_back((id, Resume::Begin));
    }

    /// Opens store access for a forked identity.
    pub(crate) fn open_store(&mut self, identity: &Identity) -> Result<(), StoreFailure> {
        let Some(store) = &mut self.store else { return Ok(()) };
        let forked = store.fork(identity);
        self.opened(forked)
    }

    /// Keeps what the Host answered, which is an input of the run.
    fn opened(&mut self, answer: Result<(), StoreFailure>) -> Result<(), StoreFailure> {
        if self.store.is_some() {
            self.openings.push(answer.as_ref().err().cloned());
        }
        answer.map_err(StoreFailure::in_setup)
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }

    /// The chain with this id, which the caller knows to live.
    pub(crate) fn chain(&mut self, id: &ChainId) -> &mut Chain {
        self.chains
            .get_mut(id)
            .expect("a chain is looked up only while it lives")
    }

    /// Drives a chain until it waits, ends, or the run is cancelled.
    fn advance(&mut self, id: &ChainId, resume: Resume) {
        if !self.chains.contains_key(id) {
            return;
        }
        let mut flow = self.begin(id, resume);
        while self.is_running() {
            flow = match flow {
                Flow::Enter(entry) if !self.shared.sees_cancel() => self.enter(id, entry),
                Flow::NextBlock if !self.shared.sees_cancel() => self.next_block(id),
                Flow::Lua(with) => self.resume_block(id, with),
                Flow::Enter(_) | Flow::NextBlock | Flow::Parked => return,
            };
        }
    }

    /// What a chain does first with what it is resumed with.
    fn begin(&mut self, id: &ChainId, resume: Resume) -> Flow {
        let chain = self.chain(id);
        chain.waiting = None;
        match resume {
            Resume::Begin => chain.begin(),
            Resume::Lua(reply) => Flow::Lua(reply),
            Resume::Wait => Flow::Lua(self.wait_reply(id)),
        }
    }
}
