//! The entries of `uses:` (book: Declaring Packs under `uses:`).

use serde::{Deserialize, Serialize};

/// One required Pack, as the prompt names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsesEntry {
    /// The vendor of a `vendor/name` entry; `None` for a bare Pack id, which means the runvil Pack of that id.
    pub vendor: Option<String>,
    /// The Pack id: the last segment.
    pub id: String,
}
