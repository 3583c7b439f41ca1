//! The Pack trait, and why a Pack cannot serve.

use std::sync::Arc;

use async_trait::async_trait;

use crate::name::PackId;
use crate::service::ServiceName;
use crate::tool::Tool;

/// A unit that supplies tools to runs. One object is shared by every run of a Host.
#[async_trait]
pub trait Pack: Send + Sync {
    /// One sentence for a human reader.
    fn description(&self) -> &str;

    /// Lua source that defines globals for prompts that declare the Pack (book: Pack preludes).
    ///
    /// It gets the Pack id as `...`, only defines functions and values, and must not call tools while it loads.
    fn prelude(&self) -> Option<&str> {
        None
    }

    /// The services without which the Pack cannot serve a run.
    fn needs(&self) -> Vec<ServiceName> {
        Vec::new()
    }

    /// The Pack's tools. A run reads the list once, after the Pack is ready.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Ends once the Pack can serve. It is awaited before each run that holds the Pack.
    ///
    /// # Errors
    /// The Pack cannot serve that run, for the error's reason.
    async fn ready(&self) -> Result<(), PackError> {
        Ok(())
    }
}

/// Why a Pack cannot serve. Its `Display` is the reason that a model and the requirements notice read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The Host configured a Pack that has nothing to configure.
    #[error("{pack} takes no configuration")]
    TakesNoConfiguration {
        /// The Pack's id.
        pack: PackId,
    },
    /// The Host lacks a service without which the Pack cannot be built.
    #[error("{pack} needs {service}, and this host provides none")]
    MissingService {
        /// The Pack's id.
        pack: PackId,
        /// The service's id.
        service: ServiceName,
    },
    /// A reason of the Pack's own.
    #[error("{0}")]
    Reason(String),
}

impl PackError {
    /// A reason of the Pack's own, written for the model.
    pub fn reason(text: impl Into<String>) -> Self {
        Self::Reason(text.into())
    }
}
