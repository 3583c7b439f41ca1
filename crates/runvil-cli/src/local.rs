//! The embedded models: those that are installed on this machine, where this build can run them.

#[cfg(feature = "local")]
pub(crate) use with_models::{backend, library, list};
#[cfg(not(feature = "local"))]
pub(crate) use without_models::{backend, list};

use runvil_engine::ModelInfo;

use crate::exit::Fault;

/// What the name of an embedded model begins with.
const PREFIX: &str = "local/";

/// Whether a name asks for an embedded model.
pub(crate) fn is_asked_for(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The installed model of that id, such as `local/smollm2`.
pub(crate) fn find(id: &str) -> Result<ModelInfo, Fault> {
    if !cfg!(feature = "local") {
        return Err(not_built());
    }
    list()?
        .into_iter()
        .find(|model| model.id.to_string() == id)
        .ok_or_else(|| Fault::usage(format_args!("no model named `{id}` is installed")).with_help(ADD))
}

/// How a model is installed.
const ADD: &str = "`runvil model list` shows what is installed, `runvil model add NAME FILE.gguf` adds a model";

/// What is said where embedded models are asked of a build that has none.
pub(crate) fn not_built() -> Fault {
    Fault::usage("this runvil is built without embedded models")
        .with_help("build it with them: cargo install --path crates/runvil-cli --features local")
}

#[cfg(not(feature = "local"))]
mod without_models {
    use std::sync::Arc;

    use runvil_engine::ModelInfo;
    use runvil_model::ModelBackend;

    use crate::{config::Config, exit::Fault};

    /// The embedded models; none in this build.
    pub(crate) fn list() -> Result<Vec<ModelInfo>, Fault> {
        Ok(Vec::new())
    }

    /// The backend of a run: the gateway's alone.
    pub(crate) fn backend(
        gateway: Option<Arc<dyn ModelBackend>>,
        _: &Config,
    ) -> Result<Option<Arc<dyn ModelBackend>>, Fault> {
        Ok(gateway)
    }
}

#[cfg(feature = "local")]
mod with_models {
    use std::sync::Arc;

    use async_trait::async_trait;
    use etcetera::BaseStrategy as _;
    use runvil_engine::{CompletionError, CompletionErrorKind, ModelInfo, ModelReply, ModelRound};
    use runvil_local::{
        InstalledModel, InvalidName, LOCAL_SERVER, Library, LibraryError, LocalModels, LocalName, LocalOptions,
        Sampling,
    };
    use runvil_model::{Catalog, ModelBackend, OnText, RoundLimits};

    use crate::{
        config::{Config, LocalModels as Configured},
        exit::Fault,
    };

    /// The models in the user's data folder.
    pub(crate) fn library() -> Result<Library, Fault> {
        let folders = etcetera::choose_base_strategy().map_err(|error| {
            Fault::failure(format_args!("the user's data folder cannot be told: {error}"))
                .with_help("set HOME, or on Windows APPDATA")
        })?;
        Ok(Library::new(folders.data_dir().join("runvil").join("models")))
    }

    /// The embedded models, by name.
    pub(crate) fn list() -> Result<Vec<ModelInfo>, Fault> {
        Ok(library()?.list()?.iter().map(InstalledModel::info).collect())
    }

    /// The backend of a run: embedded models answer their rounds, as the configuration sets them up, and the gateway all
    /// others.
    pub(crate) fn backend(
        gateway: Option<Arc<dyn ModelBackend>>,
        config: &Config,
    ) -> Result<Option<Arc<dyn ModelBackend>>, Fault> {
        Ok(Some(Arc::new(Routed {
            gateway,
            local: LocalModels::new(library()?, options(&config.models)?),
        })))
    }

    fn options(configured: &Configured) -> Result<LocalOptions, Fault> {
        let mut options = LocalOptions::default();
        for (name, model) in &configured.0 {
            let name: LocalName = name.0.parse().map_err(|error: InvalidName| {
                Fault::usage(format_args!("[models.\"local/{}\"]: {error}", name.0.escape_debug()))
                    .with_help("correct the configuration file: `runvil model list` shows what is installed")
            })?;
            let usual = Sampling::default();
            options.sampling.insert(
                name,
                Sampling {
                    temperature: model.temperature.unwrap_or(usual.temperature),
                    top_k: model.top_k.unwrap_or(usual.top_k),
                    top_p: model.top_p.unwrap_or(usual.top_p),
                    repetition_penalty: model.repetition_penalty.unwrap_or(usual.repetition_penalty),
                    seed: model.seed.unwrap_or(usual.seed),
                    max_tokens: model.max_tokens.or(usual.max_tokens),
                    stop: model.stop.clone().unwrap_or(usual.stop),
                },
            );
        }
        Ok(options)
    }

    /// Sends each round to the server that its model's id names.
    struct Routed {
        gateway: Option<Arc<dyn ModelBackend>>,
        local: LocalModels,
    }

    #[async_trait]
    impl ModelBackend for Routed {
        async fn complete(
            &self,
            round: &ModelRound,
            limits: RoundLimits,
            on_text: OnText<'_>,
        ) -> Result<ModelReply, CompletionError> {
            match &self.gateway {
                _ if round.model.server() == LOCAL_SERVER => self.local.complete(round, limits, on_text).await,
                Some(gateway) => gateway.complete(round, limits, on_text).await,
                None => Err(CompletionError::new(CompletionErrorKind::Unavailable)),
            }
        }

        async fn models(&self, limits: RoundLimits) -> Result<Catalog, CompletionError> {
            let mut catalog = match &self.gateway {
                Some(gateway) => gateway.models(limits).await?,
                None => Catalog::default(),
            };
            catalog.models.extend(self.local.models(limits).await?.models);
            Ok(catalog)
        }
    }

    impl From<LibraryError> for Fault {
        fn from(error: LibraryError) -> Self {
            let help = match &error {
                LibraryError::Model { .. } => {
                    "name a GGUF file of an instruct model of the llama or qwen2 architecture with byte-level BPE"
                        .to_owned()
                }
                LibraryError::Taken(name) => {
                    format!("choose another name, or remove that model first: runvil model remove {name}")
                }
                LibraryError::Unknown(_) => super::ADD.to_owned(),
                LibraryError::Busy => "try again once it is done".to_owned(),
                LibraryError::Altered { name, .. } => {
                    format!("remove the model and add it again: runvil model remove {name}")
                }
                LibraryError::Changed(_) => "add it again once nothing writes to it".to_owned(),
                LibraryError::Facts { .. } => "remove the model and add it again: runvil model remove NAME".to_owned(),
                _ => "check the path, its permissions and the free space".to_owned(),
            };
            Self::failure(&error).with_help(help)
        }
    }
}
