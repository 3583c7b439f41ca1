//! What a Host gives to start one run.

use std::{fmt, sync::Arc};

use runvil_engine::Recorder;
use runvil_pack::Services;
use serde_json::Value;

use crate::{ModelAccess, RunControl, store::LaunchStore};

/// One run to start: the prompt, what it is given, and what it may use.
#[derive(Clone)]
pub struct Launch {
    /// The prompt file's bytes.
    pub source: Vec<u8>,
    /// The run's name, the `execution` of its events.
    pub name: String,
    /// The argument string, exactly as given.
    pub args: String,
    /// The text for the prompt's declared `input:` file.
    pub input: Option<String>,
    /// The services of this run alone, such as its operator's input broker.
    pub services: Services,
    /// The UI snapshot that `ui()` serves.
    pub ui: Option<Value>,
    /// The run's store.
    pub store: LaunchStore,
    /// The run's models, where they are not the Host's.
    pub models: Option<ModelAccess>,
    /// The Host's grip on the run. Keep a clone to cancel or stop it.
    pub control: RunControl,
    /// Keeps the run's record. A record that can no longer be kept ends the run.
    pub recorder: Option<Arc<dyn Recorder>>,
}

impl Launch {
    /// A run without arguments, input, services and UI snapshot, with a fresh store and the Host's models.
    #[must_use]
    pub fn new(source: impl Into<Vec<u8>>, name: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            name: name.into(),
            args: String::new(),
            input: None,
            services: Services::new(),
            ui: None,
            store: LaunchStore::default(),
            models: None,
            control: RunControl::new(),
            recorder: None,
        }
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("name", &self.name)
            .field("args", &self.args)
            .field("input", &self.input)
            .field("store", &self.store)
            .field("models", &self.models)
            .field("recorded", &self.recorder.is_some())
            .finish_non_exhaustive()
    }
}
