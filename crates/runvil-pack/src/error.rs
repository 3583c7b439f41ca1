//! How a tool call fails (book: Tool errors).

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::files::FileError;

/// A failure's underlying cause. It goes to the Host's log and never to a model or to Lua.
pub type Cause = Box<dyn Error + Send + Sync>;

/// What went wrong in a tool call, for the Host's log. Lua sees every one as error kind `tool`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The call's arguments were refused.
    InvalidArguments,
    /// A request could not be sent, or its answer not be read.
    Transport,
    /// A backend failed, or answered with something malformed.
    Backend,
    /// Anything else.
    Other,
}

/// A tool call's failure: its kind, a message that a model may read, and a hidden cause.
#[derive(Debug)]
pub struct ToolError {
    kind: ToolErrorKind,
    message: String,
    cause: Option<Cause>,
}

impl ToolError {
    /// A failure of `kind`. `message` is short and holds nothing that a model must not see.
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            cause: None,
        }
    }

    /// A refusal of the call's arguments.
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::InvalidArguments, message)
    }

    /// A failure of no particular kind.
    pub fn other(message: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::Other, message)
    }

    /// Keeps `cause` for the Host's log.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ToolErrorKind {
        self.kind
    }

    /// The model-safe message, without the cause.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        Self::other(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_stays_behind_the_message() {
        let error = ToolError::new(ToolErrorKind::Transport, "request failed").with_cause("socket reset");
        assert_eq!(error.to_string(), "request failed");
        assert_eq!(error.source().expect("a cause").to_string(), "socket reset");
    }
}
