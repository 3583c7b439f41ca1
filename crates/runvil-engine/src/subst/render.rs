//! The text of a resolved value (book: How values render).

use serde_json::Value;

/// A string as it is, everything else as compact JSON with sorted keys.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
