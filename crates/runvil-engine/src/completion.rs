//! How a model round fails (book: Model request limits and failures).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Usage;

/// What went wrong with a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompletionErrorKind {
    /// A failed connection, a broken stream, or an error reply whose body cannot be read.
    Transport,
    /// The headers or the next chunk missed the receive timeout.
    Timeout,
    /// A reply that cannot be understood, an oversized one included.
    MalformedResponse,
    /// Status 429.
    RateLimited,
    /// Status 429 whose body names a quota, billing or credit.
    QuotaExhausted,
    /// Status 503 or 529, or a 5xx whose body names `overloaded`.
    Overloaded,
    /// Any other 5xx status.
    ServerError,
    /// Status 400 whose body names a content policy term.
    Refused,
    /// Status 400 or 413 whose body names a context limit.
    ContextOverflow,
    /// Model access is off or not configured, or status 401 or 403.
    Unavailable,
    /// Any other status that is not a success.
    Rejected,
    /// A reply without tool calls and without text other than white space.
    EmptyReply,
}

impl CompletionErrorKind {
    /// Whether the same call may succeed when made again.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Transport
                | Self::Timeout
                | Self::MalformedResponse
                | Self::RateLimited
                | Self::Overloaded
                | Self::ServerError
        )
    }
}

/// A failed model round. It never holds any of the backend's reply body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionError {
    /// What went wrong.
    pub kind: CompletionErrorKind,
    /// What was wrong with a malformed reply, or what an empty reply held; `None` where the phrase says it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The backend's HTTP status, where it answered with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The finish reason of an empty reply, where the provider gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Token counts of an empty reply, as far as the provider reported them: an empty round is a served one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl CompletionError {
    /// A failure without a status.
    #[must_use]
    pub fn new(kind: CompletionErrorKind) -> Self {
        Self {
            kind,
            detail: None,
            status: None,
            finish_reason: None,
            usage: None,
        }
    }

    /// A failure that an HTTP status tells.
    #[must_use]
    pub fn with_status(kind: CompletionErrorKind, status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::new(kind)
        }
    }

    /// A reply that could not be understood, and why.
    #[must_use]
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..Self::new(CompletionErrorKind::MalformedResponse)
        }
    }

    fn phrase(&self) -> &'static str {
        use CompletionErrorKind as K;
        match self.kind {
            K::Transport => "the connection to the model backend failed",
            K::Timeout => "the model backend did not answer in time",
            K::MalformedResponse => "the model backend sent a reply that could not be understood",
            K::RateLimited => "the model backend is limiting the request rate",
            K::QuotaExhausted => "the model backend says the usage quota is spent",
            K::Overloaded => "the model backend is overloaded",
            K::ServerError => "the model backend reported a fault of its own",
            K::Refused => "the model backend refused the request on content policy grounds",
            K::ContextOverflow => "the request is larger than the model's context window",
            K::Unavailable if self.status.is_some() => "the model backend did not accept the credentials",
            K::Unavailable => "model access is turned off or not configured",
            K::Rejected => "the model backend rejected the request",
            K::EmptyReply => "the model replied with no text and no tool calls",
        }
    }
}

impl fmt::Display for CompletionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.phrase())?;
        if let Some(status) = self.status {
            write!(f, " (status {status})")?;
        }
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CompletionError {}
