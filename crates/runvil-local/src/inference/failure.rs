//! How an embedded model fails, and what a run is told of it.

use std::{
    io,
    path::{Path, PathBuf},
};

use runvil_engine::{CompletionError, CompletionErrorKind as Kind};
use runvil_model::{Malformed, classify_status};

use crate::{GgufError, InvalidName, LibraryError, LocalName, ModelFileError};

/// Why a round has no reply.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error("no model named `{0}` is installed; `runvil model list` shows those that are")]
    NotInstalled(LocalName),
    #[error(transparent)]
    Library(LibraryError),
    #[error("{}: {error}; remove the model and add a sound file: runvil model remove {name}", .path.display())]
    File {
        name: LocalName,
        path: PathBuf,
        error: ModelFileError,
    },
    #[error("{error}; remove the model and add a sound file: runvil model remove {name}")]
    Altered { name: LocalName, error: LibraryError },
    #[error("{}: the file cannot be read: {error}", .path.display())]
    Disk { path: PathBuf, error: io::Error },
    #[error(
        "local/{name} needs {} MiB of memory and {} MiB are free; close other programs, or use a smaller model",
        mebibytes(*.needed),
        .free >> 20
    )]
    Memory { name: LocalName, needed: u64, free: u64 },
    #[error(
        "local/{name} needs {} MiB of memory and this machine has {} MiB; use a smaller model",
        mebibytes(*.needed),
        .all >> 20
    )]
    Machine { name: LocalName, needed: u64, all: u64 },
    #[error("the chat template of the model refuses the conversation: {0}")]
    Template(String),
    #[error("an embedded model takes text only, and the conversation holds an image")]
    Image,
    #[error(
        "local/{0} cannot call tools: its chat template has no place for them; offer none, or use a model that knows \
         tools, such as Qwen2.5-Instruct"
    )]
    NoTools(LocalName),
    #[error("the request has {tokens} tokens; the context window of the model has {context}")]
    Overflow { tokens: usize, context: usize },
    #[error("{0}")]
    ReplyTooLong(Malformed),
    /// Nobody waits for the reply any more.
    #[error("the generation was cancelled")]
    Cancelled,
    #[error("the threads that compute cannot be started: {0}")]
    Threads(String),
    #[error("the model cannot be computed: {0}")]
    Computation(String),
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

impl Failure {
    /// What is wrong with the file of an installed model.
    pub(super) fn of_file(name: &LocalName, path: &Path, error: ModelFileError) -> Self {
        match error {
            ModelFileError::Gguf(GgufError::Io(error)) => Self::Disk {
                path: path.to_owned(),
                error,
            },
            error => Self::File {
                name: name.clone(),
                path: path.to_owned(),
                error,
            },
        }
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Unknown(name) => Self::NotInstalled(name),
            LibraryError::Altered { ref name, .. } => Self::Altered {
                name: name.clone(),
                error,
            },
            LibraryError::Io { path, error } => Self::Disk { path, error },
            LibraryError::Interrupted => Self::Cancelled,
            error => Self::Library(error),
        }
    }
}

impl From<candle_core::Error> for Failure {
    fn from(error: candle_core::Error) -> Self {
        Self::Computation(error.to_string())
    }
}

impl From<Failure> for CompletionError {
    /// Only what may pass by itself is of a kind that a run may try again: a file that is damaged now is damaged then.
    fn from(failure: Failure) -> Self {
        let detail = failure.to_string();
        let kind = match failure {
            // The phrase of an overflow says it all, and what the numbers are is in the log.
            Failure::Overflow { .. } => {
                tracing::debug!("{detail}");
                return classify_overflow(&detail);
            }
            Failure::ReplyTooLong(malformed) => return malformed.into(),
            Failure::Name(_) | Failure::NotInstalled(_) => Kind::Unavailable,
            Failure::Library(_)
            | Failure::File { .. }
            | Failure::Altered { .. }
            | Failure::Machine { .. }
            | Failure::Template(_)
            | Failure::Image
            | Failure::NoTools(_)
            | Failure::Computation(_) => Kind::Rejected,
            Failure::Disk { error, .. } if error.kind() == io::ErrorKind::NotFound => Kind::Unavailable,
            Failure::Disk { .. } | Failure::Cancelled => Kind::Transport,
            Failure::Memory { .. } | Failure::Threads(_) => Kind::Overloaded,
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
    use crate::Unsupported;

    #[test]
    fn a_request_that_is_too_long_is_a_context_overflow() {
        let error = CompletionError::from(Failure::Overflow {
            tokens: 130,
            context: 128,
        });
        assert_eq!(error, CompletionError::new(Kind::ContextOverflow));
    }

    fn tiny() -> LocalName {
        "tiny".parse().expect("a name")
    }

    fn told(failure: Failure) -> (Kind, bool, String) {
        let error = CompletionError::from(failure);
        (error.kind, error.kind.is_retryable(), error.to_string())
    }

    #[test]
    fn a_lack_of_memory_may_pass_and_says_what_to_do() {
        let (kind, again, text) = told(Failure::Memory {
            name: tiny(),
            needed: 300 << 20,
            free: 200 << 20,
        });
        assert!(kind == Kind::Overloaded && again);
        assert!(
            text.ends_with(
                "local/tiny needs 300 MiB of memory and 200 MiB are free; close other programs, or use a smaller model"
            ),
            "{text}"
        );
        let (kind, again, text) = told(Failure::Machine {
            name: tiny(),
            needed: 300 << 20,
            all: 200 << 20,
        });
        assert!(kind == Kind::Rejected && !again);
        assert!(
            text.ends_with("and this machine has 200 MiB; use a smaller model"),
            "{text}"
        );
    }

    #[test]
    fn a_file_that_stays_bad_is_not_tried_again() {
        let path = Path::new("models/tiny/model.gguf");
        let file = |error| told(Failure::of_file(&tiny(), path, error));
        for error in [
            ModelFileError::from(GgufError::NotGguf),
            GgufError::Truncated { len: 1, needed: 2 }.into(),
            Unsupported::Experts.into(),
        ] {
            let (kind, again, text) = file(error);
            assert!(kind == Kind::Rejected && !again, "{text}");
            assert!(text.contains("model.gguf: "), "{text}");
            assert!(text.ends_with("add a sound file: runvil model remove tiny"), "{text}");
        }
        let (kind, again, _) = file(GgufError::Io(io::ErrorKind::NotFound.into()).into());
        assert!(kind == Kind::Unavailable && !again);
        let (kind, again, text) = file(GgufError::Io(io::ErrorKind::PermissionDenied.into()).into());
        assert!(kind == Kind::Transport && again, "{text}");
    }

    #[test]
    fn what_the_model_cannot_do_is_not_tried_again() {
        for failure in [
            Failure::NoTools(tiny()),
            Failure::Image,
            Failure::Template("no".to_owned()),
            Failure::Computation("no".to_owned()),
        ] {
            let (kind, again, _) = told(failure);
            assert!(kind == Kind::Rejected && !again);
        }
        assert_eq!(told(Failure::NotInstalled(tiny())).0, Kind::Unavailable);
    }
}
