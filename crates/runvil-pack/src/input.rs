//! The input broker, which delivers a run's questions to its operator (book: The input broker).

use std::error::Error;
use std::fmt;

use async_trait::async_trait;

use crate::error::{Cause, ToolError};
use crate::service::ServiceKey;

/// The per-run service `runvil/input-broker`.
pub const INPUT_BROKER: ServiceKey<dyn InputBroker> = ServiceKey::new("runvil/input-broker");

/// The way to the operator of one run. The Host ties it to whoever launched the run.
#[async_trait]
pub trait InputBroker: Send + Sync {
    /// Waits for the operator's next message and returns its text, byte for byte.
    ///
    /// Dropping the future takes the question back, and with it any prompt that it opened for the operator.
    async fn ask(&self) -> Result<String, InputError>;
}

/// Why the operator could not be asked: a message that the prompt reads, and a hidden cause.
#[derive(Debug)]
pub struct InputError {
    message: String,
    cause: Option<Cause>,
}

impl InputError {
    /// A failure with a message that a model may read.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
        }
    }

    /// Keeps `cause` for the Host's log.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into());
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for InputError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl From<InputError> for ToolError {
    fn from(error: InputError) -> Self {
        let failure = Self::other(error.message);
        match error.cause {
            Some(cause) => failure.with_cause(cause),
            None => failure,
        }
    }
}
