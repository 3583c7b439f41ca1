//! What a run holds of a tool: plain data, never its code (book: Tools and Packs).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::name::ToolId;

/// How calling Lua receives a tool's output. A model always receives text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// The text itself, as a Lua string.
    #[default]
    Plain,
    /// One JSON value, as Lua data. It works with trusted output only, since the untrusted envelope is no JSON.
    Structured,
}

/// A tool's entry in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The tool's stable identity. A run drops a tool whose id does not start with its Pack's id.
    pub id: ToolId,
    /// One sentence, which the model reads when the tool is offered to it.
    pub description: String,
    /// The JSON Schema of the arguments. A tool whose schema is no JSON object is never offered to a model.
    pub parameters: Value,
    /// How calling Lua receives the output.
    pub output: OutputKind,
    /// Whether a call in flight stays open when the Host stops the run's pending calls.
    pub survives_stop: bool,
    /// Whether a call may be performed again when nobody knows if it took effect, as on resuming a run after a crash.
    /// It is true only of a tool that changes nothing, or whose second call changes nothing more.
    pub repeat_safe: bool,
}

impl ToolDefinition {
    /// A tool without arguments and with plain output, which neither survives a stop nor is safe to repeat.
    pub fn new(id: ToolId, description: impl Into<String>) -> Self {
        Self {
            id,
            description: description.into(),
            parameters: json!({ "type": "object", "properties": {} }),
            output: OutputKind::Plain,
            survives_stop: false,
            repeat_safe: false,
        }
    }

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = schema;
        self
    }

    /// Marks the output as one JSON value.
    #[must_use]
    pub fn structured(mut self) -> Self {
        self.output = OutputKind::Structured;
        self
    }

    /// Keeps a call in flight open through a stop.
    #[must_use]
    pub fn survives_stop(mut self) -> Self {
        self.survives_stop = true;
        self
    }

    /// Allows a call to be performed again when it is unknown whether it took effect.
    #[must_use]
    pub fn repeat_safe(mut self) -> Self {
        self.repeat_safe = true;
        self
    }
}
