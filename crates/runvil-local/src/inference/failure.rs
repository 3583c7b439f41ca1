//! How an embedded model fails, and what a run is told of it.

use std::path::PathBuf;

use runvil_engine::{CompletionError, CompletionErrorKind as Kind};
use runvil_model::{Malformed, classify_status};

use crate::{InvalidName, LibraryError, LocalName, ModelFileError};

/// Why a round has no reply.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error("{}: {error}", .path.display())]
    File { path: PathBuf, error: ModelFileError },
    #[error(
        "local/{name} needs {} MiB of memory and {} MiB are free; close other programs, or use a smaller model",
        .needed.div_ceil(1 << 20),
        .free >> 20
    )]
    Memory { name: LocalName, needed: u64, free: u64 },
    #[error("the chat template of the model refuses the conversation: {0}")]
    Template(String),
    #[error("an embedded model takes text only, and the conversation holds an image")]
    Image,
    #[error("the request has {tokens} tokens; the context window of the model has {context}")]
    Overflow { tokens: usize, context: usize },
    #[error("{0}")]
    ReplyTooLong(Malformed),
    /// Nobody waits for the reply any more.
    #[error("the generation was cancelled")]
    Cancelled,
    #[error("the model cannot be computed: {0}")]
    Computation(String),
}

impl From<candle_core::Error> for Failure {
    fn from(error: candle_core::Error) -> Self {
        Self::Computation(error.to_string())
    }
}

impl From<Failure> for CompletionError {
    fn from(failure: Failure) -> Self {
        let detail = failure.to_string();
        let kind = match failure {
            // The phrase of an overflow says it all, and what the numbers are is in the log.
            Failure::Overflow { .. } => {
                tracing::debug!("{detail}");
                return classify_overflow(&detail);
            }
            Failure::ReplyTooLong(malformed) => return malformed.into(),
            Failure::Name(_) | Failure::Library(_) | Failure::File { .. } => Kind::Unavailable,
            Failure::Template(_) | Failure::Image => Kind::Rejected,
            Failure::Memory { .. } | Failure::Computation(_) => Kind::ServerError,
            Failure::Cancelled => Kind::Transport,
        };
        Self {
            detail: Some(detail),
            ..Self::new(kind)
        }
    }
}

/// The failure of a request that is too long, by the same phrases as a server's. There is no status to report.
fn classify_overflow(detail: &str) -> CompletionError {
    CompletionError {
        status: None,
        ..classify_status(400, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_too_long_is_a_context_overflow() {
        let error = CompletionError::from(Failure::Overflow {
            tokens: 130,
            context: 128,
        });
        assert_eq!(error, CompletionError::new(Kind::ContextOverflow));
    }

    #[test]
    fn a_lack_of_memory_may_pass_and_says_what_to_do() {
        let error = CompletionError::from(Failure::Memory {
            name: "tiny".parse().expect("a name"),
            needed: 300 << 20,
            free: 200 << 20,
        });
        assert!(error.kind.is_retryable());
        assert!(
            error.to_string().ends_with(
                "local/tiny needs 300 MiB of memory and 200 MiB are free; close other programs, or use a smaller model"
            ),
            "{error}"
        );
    }
}
