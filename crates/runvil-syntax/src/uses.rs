//! The entries of `uses:` (book: Declaring Packs under `uses:`).

use runvil_pack::{NameError, UsesEntry};

/// Reads an entry.
///
/// # Errors
/// `text` is neither a Pack id nor `vendor/name`.
pub(crate) fn parse(text: &str) -> Result<UsesEntry, UsesEntryError> {
    text.parse().map_err(|reason| UsesEntryError {
        text: text.to_owned(),
        reason,
    })
}

/// A text that is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid uses entry `{text}`: {reason}")]
pub(crate) struct UsesEntryError {
    /// The entry as written.
    text: String,
    /// The rule that it breaks.
    reason: NameError,
}
