//! The arguments of a chain: the exact string, and what it parses to (book: Arguments at a glance).

use runvil_syntax::Args;
use serde_json::{Value, json};

/// A chain's argument string and the frozen `argv` that goes with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    /// The string, never parsed or trimmed.
    pub(crate) text: String,
    /// What Lua reads as `argv`; `None` is nil.
    pub(crate) argv: Option<Value>,
}

impl Arguments {
    /// Parses an argument string under the prompt's declaration.
    pub(crate) fn derive(declared: &Args, text: String) -> Self {
        let argv = if declared.structured {
            serde_json::from_str(&text)
                .ok()
                .filter(|value: &Value| !value.is_null())
        } else {
            Some(json!({ "prose": text }))
        };
        Self { text, argv }
    }
}

/// What a spawn gives the first section that a task enters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seeds {
    /// The `item` global.
    pub(crate) item: Option<Value>,
    /// The field `sys.index`.
    pub(crate) index: Option<i64>,
}
