//! The model backend of the installed models.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use runvil_engine::{CompletionError, CompletionErrorKind, ModelInfo, ModelReply, ModelRound, ThinkingMode};
use runvil_model::{Catalog, ModelBackend, OnText, RoundLimits, judge};
use tokio::{
    sync::{Mutex, OwnedMutexGuard, mpsc},
    task::spawn_blocking,
    time::timeout,
};

use super::{failure::Failure, generation::Progress, memory, sampling::Sampling, session::Session};
use crate::{InstalledModel, Library, LocalName};

/// How the installed models are run.
#[derive(Debug, Clone, Default)]
pub struct LocalOptions {
    /// How tokens are chosen where a request does not say it.
    pub sampling: Sampling,
    /// Texts that end a reply before them, beside the model's own end.
    pub stop: Vec<String>,
    /// The memory that a model may take, in bytes, in place of what is free on the machine.
    pub memory: Option<u64>,
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
    loaded: Arc<Mutex<Option<Session>>>,
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
            loaded: Arc::default(),
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
        let job = Job {
            models: self.clone(),
            slot: Arc::clone(&self.loaded).lock_owned().await,
            round: round.clone(),
            limits,
        };
        let cancel = CancelOnDrop(Arc::default());
        let cancelled = Arc::clone(&cancel.0);
        let (progress, mut heard) = mpsc::unbounded_channel();
        let answer = spawn_blocking(move || {
            job.answer(&mut |step| {
                if cancelled.load(Ordering::Relaxed) {
                    return Err(Failure::Cancelled);
                }
                // A listener that is gone has set the flag, too.
                let _ = progress.send(step);
                Ok(())
            })
        });
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
            .map_err(Failure::Library)?;
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

/// A round whose turn it is.
struct Job {
    models: LocalModels,
    slot: OwnedMutexGuard<Option<Session>>,
    round: ModelRound,
    limits: RoundLimits,
}

impl Job {
    fn answer(mut self, progress: &mut dyn FnMut(Progress) -> Result<(), Failure>) -> Result<ModelReply, Failure> {
        let name: LocalName = self.round.model.name().parse()?;
        let model = self.models.library.get(&name)?;
        // A session that panics is not put back.
        let mut session = match self.slot.take().filter(|session| session.serves(&model)) {
            Some(session) => session,
            None => {
                memory::check(&model, self.models.options.memory)?;
                Session::load(&self.models.library, model, &mut || progress(Progress::Alive))?
            }
        };
        let options = &self.models.options;
        let reply = session.answer(&self.round, options.sampling, &options.stop, self.limits, progress);
        *self.slot = Some(session);
        reply
    }
}
