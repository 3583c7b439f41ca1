//! The messages of a model request, exactly as they leave the machine (book: What the model receives).
//!
//! The context precheck counts the serialized form of these types, so a model backend sends them unchanged.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A system instruction.
    System,
    /// The user side of the conversation.
    User,
    /// The model's side of the conversation.
    Assistant,
    /// A tool's result.
    Tool,
}

impl Role {
    /// The four roles, in the order in which messages list them.
    pub const ALL: [Self; 4] = [Self::System, Self::User, Self::Assistant, Self::Tool];

    /// The lowercase form that records and requests carry.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A message's visible content: plain text, or parts in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text, possibly empty.
    Text(String),
    /// A non-empty list of parts.
    Parts(Vec<ContentPart>),
}

/// One piece of a multipart content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image, by URL or as a base64 `data:` URL.
    ImageUrl {
        /// Where the image is.
        image_url: ImageUrl,
    },
}

/// The address of an image part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageUrl {
    /// The URL as written.
    pub url: String,
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// The calls that an assistant message makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<FunctionCall>,
    /// The call that a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// A plain message without calls.
    #[must_use]
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            content: Content::Text(text.into()),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }
}

/// A tool call inside an assistant message, in the chat-completions form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The call id that the model assigned.
    pub id: String,
    /// Always `function`.
    pub r#type: FunctionTag,
    /// What is called with what.
    pub function: FunctionPayload,
}

/// The name and arguments of a call; the arguments are JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionPayload {
    /// The wire name.
    pub name: String,
    /// A JSON object as text.
    pub arguments: String,
}

/// The one tag that tools and calls carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FunctionTag {
    /// A function.
    #[default]
    Function,
}

/// A tool that a request offers, in the chat-completions form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// Always `function`.
    pub r#type: FunctionTag,
    /// The offered function.
    pub function: FunctionSchema,
}

impl ToolSchema {
    /// A function tool.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            r#type: FunctionTag::Function,
            function: FunctionSchema {
                name: name.into(),
                description: description.into(),
                parameters,
            },
        }
    }
}

/// What a request says of one offered function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionSchema {
    /// The wire name.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// A JSON Schema object.
    pub parameters: Value,
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The name part of the model id.
    pub model: String,
    /// The composed messages.
    pub messages: Vec<Message>,
    /// The offered tools; none are sent when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSchema>,
    /// The sampling temperature, when the section set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The response token limit, when the section set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The role's thinking switch; `None` leaves the model's own default in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
}
