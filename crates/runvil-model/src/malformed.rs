//! What makes a reply impossible to understand (book: Connection, timeout, and malformed-reply failures).

use runvil_engine::CompletionError;

/// Why a reply is refused as malformed. Each message stands behind the fixed phrase of a malformed reply, so none
/// of them repeats a byte of the reply, except for a finish reason that the book names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A successful reply larger than the response cap.
    #[error("response stream exceeds the {max_bytes}-byte limit")]
    StreamTooLong {
        /// The response cap.
        max_bytes: u64,
    },
    /// An error reply larger than the response cap.
    #[error("response body exceeds the {cap}-byte limit")]
    BodyTooLong {
        /// The response cap.
        cap: u64,
    },
    /// An error reply that announces a length over the response cap.
    #[error("response body of {len} bytes exceeds the {cap}-byte limit")]
    AnnouncedTooLong {
        /// The announced length.
        len: u64,
        /// The response cap.
        cap: u64,
    },
    /// The stream ended before its terminal signal, so it was cut off.
    #[error("completion stream ended without the [DONE] sentinel")]
    NoSentinel,
    /// A stream event that is not a JSON object.
    #[error("completion stream chunk was not a JSON object")]
    Chunk,
    /// A whole reply that is not a JSON object.
    #[error("completion response was not a JSON object")]
    Document,
    /// A reply in which no choice was found.
    #[error("completion response held no choices")]
    NoChoices,
    /// A batch of tool calls that the provider cut off.
    #[error("tool-call batch truncated by finish_reason {finish_reason:?}: partial arguments must not execute")]
    TruncatedCalls {
        /// `length` or `content_filter`.
        finish_reason: String,
    },
    /// A tool call whose id is missing, empty or white space.
    #[error("tool call id was blank")]
    BlankId,
    /// A tool call whose name is missing, empty or white space.
    #[error("tool call name was blank")]
    BlankName,
    /// Two tool calls of one reply with the same id.
    #[error("tool call id was repeated within the reply")]
    RepeatedId,
    /// A tool call whose arguments are missing, cut off, or any JSON but an object.
    #[error("tool call arguments were not a JSON object")]
    Arguments,
    /// A model list that is not a list of models.
    #[error("model list was not a JSON list of models")]
    ModelList,
}

impl From<Malformed> for CompletionError {
    fn from(malformed: Malformed) -> Self {
        Self::malformed(malformed.to_string())
    }
}
