//! Message records: one message of a conversation, checked (book: Message records).

use serde_json::{Map, Value, json};

use crate::wire::{Content, ContentPart, FunctionCall, FunctionPayload, FunctionTag, Role};

/// The most bytes that a record's metadata may take as compact JSON.
pub(super) const META_LIMIT: usize = 8192;

/// One message of a list. It never changes once it is made: an edit puts new records into the list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(super) role: Role,
    pub(super) content: Content,
    /// The calls of an assistant record in the model's order, empty where it makes none.
    pub(super) calls: Vec<RoundCall>,
    /// The call that a tool record answers.
    pub(super) tool_call_id: Option<String>,
    /// The author's own data. The model never sees it.
    pub(super) meta: Option<Value>,
}

/// One tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoundCall {
    /// The call id that the model assigned, unique within its round.
    pub(crate) id: String,
    /// The name that the model called.
    pub(crate) name: String,
    /// The decoded arguments.
    pub(crate) arguments: Map<String, Value>,
}

/// The fields of a record, in the order in which `pairs` visits them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Role,
    Content,
    ToolCalls,
    ToolCallId,
    Meta,
}

impl Field {
    pub(crate) const ALL: [Self; 5] = [Self::Role, Self::Content, Self::ToolCalls, Self::ToolCallId, Self::Meta];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Content => "content",
            Self::ToolCalls => "tool_calls",
            Self::ToolCallId => "tool_call_id",
            Self::Meta => "meta",
        }
    }

    /// The field of exactly this name.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name().as_bytes() == name)
    }
}

impl Record {
    /// A plain text record.
    pub(crate) fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            content: Content::Text(text.into()),
            calls: Vec::new(),
            tool_call_id: None,
            meta: None,
        }
    }

    /// The assistant record of a tool round.
    pub(super) fn of_calls(calls: Vec<RoundCall>) -> Self {
        Self {
            calls,
            ..Self::text(Role::Assistant, "")
        }
    }

    /// The tool record that answers a call.
    pub(super) fn result(call: &RoundCall, text: String) -> Self {
        Self {
            tool_call_id: Some(call.id.clone()),
            ..Self::text(Role::Tool, text)
        }
    }

    /// A field in its JSON form, `None` for one that the record does not hold.
    pub(crate) fn field(&self, field: Field) -> Option<Value> {
        match field {
            Field::Role => Some(self.role.as_str().into()),
            Field::Content => Some(match &self.content {
                Content::Text(text) => text.as_str().into(),
                Content::Parts(parts) => parts.iter().map(part_json).collect(),
            }),
            Field::ToolCalls if self.calls.is_empty() => None,
            Field::ToolCalls => Some(self.calls.iter().map(RoundCall::to_json).collect()),
            Field::ToolCallId => self.tool_call_id.as_deref().map(Value::from),
            Field::Meta => self.meta.clone(),
        }
    }

    /// The record as JSON data.
    pub(crate) fn to_json(&self) -> Value {
        Field::ALL
            .into_iter()
            .filter_map(|field| Some((field.name().to_owned(), self.field(field)?)))
            .collect::<Map<_, _>>()
            .into()
    }
}

impl RoundCall {
    fn to_json(&self) -> Value {
        json!({ "id": self.id, "name": self.name, "arguments": self.arguments })
    }

    /// The call as a request carries it.
    pub(super) fn to_wire(&self) -> FunctionCall {
        FunctionCall {
            id: self.id.clone(),
            r#type: FunctionTag::Function,
            function: FunctionPayload {
                name: self.name.clone(),
                arguments: Value::Object(self.arguments.clone()).to_string(),
            },
        }
    }
}

/// A content part in the form in which an author writes it, which is the wire's too.
fn part_json(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text { text } => json!({ "type": "text", "text": text }),
        ContentPart::ImageUrl { image_url } => {
            json!({ "type": "image_url", "image_url": { "url": image_url.url } })
        }
    }
}
