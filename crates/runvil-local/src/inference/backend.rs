//! The model backend of the installed models.

use std::{
    collections::BTreeMap,
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use async_trait::async_trait;
use rayon::{ThreadPool, ThreadPoolBuilder};
use runvil_engine::{CompletionError, CompletionErrorKind, ModelInfo, ModelReply, ModelRound, ThinkingMode};
use runvil_model::{Catalog, ModelBackend, OnText, RoundLimits, judge};
use sysinfo::System;
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    task::spawn_blocking,
    time::timeout,
};

use super::{
    failure::Failure,
    listener::{Listener, Progress},
    memory,
    sampling::Sampling,
    session::Session,
};
use crate::{InstalledModel, Library, LocalName};

/// How the installed models are run.
#[derive(Debug, Clone, Default)]
pub struct LocalOptions {
    /// How the tokens of each model are chosen where a request does not say it. A model that is not named here has the
    /// defaults.
    pub sampling: BTreeMap<LocalName, Sampling>,
    /// The memory that a model may take, in bytes, in place of what is free on the machine.
    pub memory: Option<u64>,
    /// How many threads compute; as many as the machine has cores, unless it is told here.
    pub threads: Option<NonZero<usize>>,
}

/// The installed models as a model backend.
///
/// The model of the last round stays loaded, with the conversation that it read: a round that continues it reads only
/// what is new. Rounds queue up and are answered in order, on a thread that may block. A round whose future is dropped
/// stops within one token.
#[derive(Clone)]
pub struct LocalModels {
    library: Library,
    options: Arc<LocalOptions>,
    slot: Arc<Mutex<Slot>>,
}

impl std::fmt::Debug for LocalModels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalModels")
            .field("library", &self.library)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl LocalModels {
    /// The models of a library.
    #[must_use]
    pub fn new(library: Library, options: LocalOptions) -> Self {
        Self {
            library,
            options: Arc::new(options),
            slot: Arc::default(),
        }
    }

    /// The library that the models are in.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }
}

impl InstalledModel {
    /// The model as a catalog lists it.
    #[must_use]
    pub fn info(&self) -> ModelInfo {
        ModelInfo {
            id: self.name.id(),
            context: self.facts.context,
            thinking: ThinkingMode::Never,
            description: self.facts.title.clone(),
            provider: None,
        }
    }
}

#[async_trait]
impl ModelBackend for LocalModels {
    async fn complete(
        &self,
        round: &ModelRound,
        limits: RoundLimits,
        on_text: OnText<'_>,
    ) -> Result<ModelReply, CompletionError> {
        let mut slot = Arc::clone(&self.slot).lock_owned().await;
        let threads = slot.threads(self.options.threads)?;
        let job = Job {
            models: self.clone(),
            slot,
            round: round.clone(),
            limits,
        };
        let cancel = CancelOnDrop(Arc::default());
        let (listener, mut heard) = Listener::new(Arc::clone(&cancel.0));
        let answer = spawn_blocking(move || threads.install(|| job.answer(&listener)));
        loop {
            match timeout(limits.receive_timeout, heard.recv()).await {
                Ok(Some(Progress::Alive)) => {}
                Ok(Some(Progress::Text(text))) => on_text(&text),
                Ok(None) => break,
                Err(_) => return Err(CompletionError::new(CompletionErrorKind::Timeout)),
            }
        }
        let reply = answer
            .await
            .unwrap_or_else(|error| Err(Failure::Computation(error.to_string())))?;
        judge(reply)
    }

    async fn models(&self, _limits: RoundLimits) -> Result<Catalog, CompletionError> {
        let library = self.library.clone();
        let listed = spawn_blocking(move || library.list()).await;
        let models = listed
            .map_err(|error| Failure::Computation(error.to_string()))?
            .map_err(Failure::from)?;
        Ok(Catalog {
            models: models.iter().map(InstalledModel::info).collect(),
            ..Catalog::default()
        })
    }
}

/// Tells the thread that computes once nobody waits for the reply any more.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What stays from one round to the next.
#[derive(Default)]
struct Slot {
    threads: Option<Arc<ThreadPool>>,
    session: Option<Session>,
}

impl Slot {
    /// The threads that compute.
    fn threads(&mut self, count: Option<NonZero<usize>>) -> Result<Arc<ThreadPool>, Failure> {
        if let Some(threads) = &self.threads {
            return Ok(Arc::clone(threads));
        }
        let threads = ThreadPoolBuilder::new()
            .num_threads(count.map_or_else(cores, NonZero::get))
            .thread_name(|at| format!("runvil-local-{at}"))
            .build()
            .map_err(|error| Failure::Threads(error.to_string()))?;
        Ok(Arc::clone(self.threads.insert(Arc::new(threads))))
    }
}

/// How many cores this process may use. Two threads of one core take the same units from each other.
fn cores() -> usize {
    let allowed = thread::available_parallelism().map_or(1, NonZero::get);
    System::physical_core_count().map_or(allowed, |cores| cores.clamp(1, allowed))
}

/// A round whose turn it is.
struct Job {
    models: LocalModels,
    slot: OwnedMutexGuard<Slot>,
    round: ModelRound,
    limits: RoundLimits,
}

impl Job {
    fn answer(mut self, listener: &Listener) -> Result<ModelReply, Failure> {
        let name: LocalName = self.round.model.name().parse()?;
        let model = self.models.library.get(&name)?;
        // A session that panics is not put back.
        let mut session = match self.slot.session.take().filter(|session| session.serves(&model)) {
            Some(session) => session,
            None => {
                memory::check(&model, self.models.options.memory)?;
                Session::load(&self.models.library, model, listener)?
            }
        };
        let sampling = self.models.options.sampling.get(&name).cloned().unwrap_or_default();
        let reply = session.answer(&self.round, &sampling, self.limits, listener);
        self.slot.session = Some(session);
        reply
    }
}
