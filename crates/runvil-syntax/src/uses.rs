//! The entries of `uses:` (book: Declaring Packs under `uses:`).

use runvil_pack::NameError;
use serde::{Deserialize, Serialize};

/// One required Pack, as the prompt names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsesEntry {
    /// The vendor of a `vendor/name` entry; `None` for a bare Pack id, which means the runvil Pack of that id.
    pub vendor: Option<String>,
    /// The Pack id: the last segment.
    pub id: String,
}

impl UsesEntry {
    /// Reads an entry.
    ///
    /// # Errors
    /// `text` is neither a Pack id nor `vendor/name`.
    pub fn parse(text: &str) -> Result<Self, UsesEntryError> {
        let entry: runvil_pack::UsesEntry = text.parse().map_err(|reason| UsesEntryError {
            text: text.to_owned(),
            reason,
        })?;
        Ok(match entry {
            runvil_pack::UsesEntry::Bare(id) => UsesEntry {
                vendor: None,
                id: id.into(),
            },
            runvil_pack::UsesEntry::Qualified(name) => UsesEntry {
                vendor: Some(name.vendor().to_owned()),
                id: name.id().into(),
            },
        })
    }
}

/// A text that is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid uses entry `{text}`: {reason}")]
pub struct UsesEntryError {
    /// The entry as written.
    pub text: String,
    /// The rule that it breaks.
    pub reason: NameError,
}
