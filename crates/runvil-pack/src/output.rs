//! What a tool call that succeeds answers with (book: What a tool returns).

use serde::{Deserialize, Serialize};

/// Whether text comes from trusted first-party code or holds data that an attacker could influence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The text reaches Lua and the model word for word.
    Trusted,
    /// The run wraps the text in the untrusted envelope first.
    Untrusted,
}

/// A tool's output: its text and the trust level, set when the result is built and never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    text: String,
    trust: Trust,
}

impl ToolOutput {
    /// Output of trusted first-party code.
    pub fn trusted(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            trust: Trust::Trusted,
        }
    }

    /// Output that holds external data.
    pub fn untrusted(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            trust: Trust::Untrusted,
        }
    }

    /// The text, without any envelope. For a structured tool it is one JSON value.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The trust level.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// The text, taken out.
    pub fn into_text(self) -> String {
        self.text
    }
}
