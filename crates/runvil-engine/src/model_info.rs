//! What the Host says of a model (book: The model catalog and the current model).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A model's stable name, written `server/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelId {
    server: String,
    name: String,
}

/// Why a part of a model id is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ModelIdReason {
    /// A part holds no character.
    #[error("must not be empty")]
    Empty,
    /// A part holds a control character.
    #[error("must not contain a control character")]
    Control,
}

/// A text that is not a model id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid model id: {part} {reason}")]
pub struct InvalidModelId {
    /// `server` or `name`.
    pub part: &'static str,
    /// The rule that the part breaks.
    pub reason: ModelIdReason,
}

impl ModelId {
    /// The id of a model served under a namespace.
    ///
    /// # Errors
    /// A part is empty or holds a control character.
    pub fn new(server: impl Into<String>, name: impl Into<String>) -> Result<Self, InvalidModelId> {
        let (server, name) = (server.into(), name.into());
        check_part("server", &server)?;
        check_part("name", &name)?;
        Ok(Self { server, name })
    }

    /// The server namespace, such as `gateway`.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The name that requests carry. It may itself hold `/`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn check_part(part: &'static str, text: &str) -> Result<(), InvalidModelId> {
    let reason = if text.is_empty() {
        ModelIdReason::Empty
    } else if text.chars().any(char::is_control) {
        ModelIdReason::Control
    } else {
        return Ok(());
    };
    Err(InvalidModelId { part, reason })
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.server, self.name)
    }
}

impl From<ModelId> for String {
    fn from(id: ModelId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ModelId {
    type Error = InvalidModelId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (server, name) = text.split_once('/').unwrap_or((&text, ""));
        Self::new(server, name)
    }
}

/// Whether a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingMode {
    /// It never thinks.
    Never,
    /// Each request can turn thinking on or off.
    Switchable,
    /// It always thinks.
    Always,
}

/// The context window that a handle for a raw model id reports, in tokens.
pub const RAW_MODEL_CONTEXT: u32 = 8192;

/// One entry of the Host's model catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its id.
    pub id: ModelId,
    /// The context window in tokens, at least 1.
    pub context: u32,
    /// Whether it thinks.
    pub thinking: ThinkingMode,
    /// Prose about the model; may be empty.
    pub description: String,
    /// The provider that the catalog names, if any.
    pub provider: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_slashes_and_letters_of_any_script() {
        let id = ModelId::try_from("gateway/qwen/café-模型".to_owned()).expect("a valid id");
        assert_eq!((id.server(), id.name()), ("gateway", "qwen/café-模型"));
    }

    #[test]
    fn a_part_without_a_character_or_with_a_control_character_is_refused() {
        let message = |name: &str| ModelId::new("gateway", name).expect_err("refused").to_string();
        assert_eq!(message(""), "invalid model id: name must not be empty");
        for control in ["a\nb", "\0", "\u{1e}", "\u{7f}", "\u{85}"] {
            assert_eq!(
                message(control),
                "invalid model id: name must not contain a control character"
            );
        }
    }
}
