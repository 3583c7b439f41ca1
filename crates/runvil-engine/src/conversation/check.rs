//! The rules that one record keeps by itself, in the order in which they are checked (book: The order of the record
//! checks; Record error messages).

use serde_json::{Map, Value};

use super::{
    At,
    record::{META_LIMIT, Record, RoundCall},
};
use crate::wire::{Content, ContentPart, ImageUrl, Role};

/// The rule that a record breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordFault {
    #[error("must be a JSON-representable message table: {0}")]
    NotJson(String),
    #[error("{field} must be JSON-representable: {reason}")]
    FieldNotJson { field: &'static str, reason: String },
    #[error("must be a message table")]
    NotATable,
    #[error("role must be a string, one of: system, user, assistant, tool")]
    NoRole,
    #[error("role {0:?} is unknown; known roles: system, user, assistant, tool")]
    UnknownRole(String),
    #[error("content must be a string or a non-empty array of content parts")]
    Content,
    #[error("content part {place} {fault}")]
    Part { place: usize, fault: PartFault },
    #[error("tool_call_id must be a string")]
    ToolCallIdType,
    #[error("is a tool message and must set a string tool_call_id")]
    NoToolCallId,
    #[error("sets a tool_call_id but is not a tool message")]
    StrayToolCallId,
    #[error("tool_calls must be an array")]
    Calls,
    #[error("tool_calls[{place}] {fault}")]
    Call { place: usize, fault: CallFault },
    #[error("meta is {0} bytes as JSON; the limit is {META_LIMIT} bytes")]
    MetaSize(usize),
    #[error(
        "is a system message after a non-system message; system messages lead the list, and only a compactor can change the leading block"
    )]
    LateSystem,
}

/// What is wrong with a content part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PartFault {
    #[error("must be a table with a string type field")]
    NoType,
    #[error("has unknown type {0:?}; known types: text, image_url")]
    UnknownType(String),
    #[error("is a text part and must set a string text field")]
    NoText,
    #[error("is an image_url part and must set an image_url table with a string url field")]
    NoUrl,
}

/// What is wrong with a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallFault {
    #[error("must be a table")]
    NotATable,
    #[error("must set a string id")]
    NoId,
    #[error("must set a string name")]
    NoName,
    #[error("arguments must be a table")]
    Arguments,
}

/// Why a list refuses a record, and where.
pub(crate) type RecordError = At<RecordFault>;

impl Record {
    /// Makes a record of a table's JSON form, keeping the five fields.
    pub(crate) fn check(table: Value) -> Result<Self, RecordFault> {
        let mut fields = match table {
            Value::Object(fields) => fields,
            // A Lua sequence is a table without any of the fields.
            Value::Array(_) => Map::new(),
            _ => return Err(RecordFault::NotATable),
        };
        let role = role(fields.remove("role"))?;
        let content = content(fields.remove("content"))?;
        let tool_call_id = tool_call_id(role, fields.remove("tool_call_id"))?;
        let calls = calls(fields.remove("tool_calls"))?;
        let meta = meta(fields.remove("meta"))?;
        Ok(Self {
            role,
            content,
            calls,
            tool_call_id,
            meta,
        })
    }
}

fn role(value: Option<Value>) -> Result<Role, RecordFault> {
    let Some(Value::String(name)) = value else {
        return Err(RecordFault::NoRole);
    };
    Role::ALL
        .into_iter()
        .find(|role| role.as_str() == name)
        .ok_or(RecordFault::UnknownRole(name))
}

fn content(value: Option<Value>) -> Result<Content, RecordFault> {
    match value {
        Some(Value::String(text)) => Ok(Content::Text(text)),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            let part = |(index, value)| {
                part(value).map_err(|fault| RecordFault::Part {
                    place: index + 1,
                    fault,
                })
            };
            let parts: Result<_, _> = parts.into_iter().enumerate().map(part).collect();
            parts.map(Content::Parts)
        }
        _ => Err(RecordFault::Content),
    }
}

fn part(value: Value) -> Result<ContentPart, PartFault> {
    let Value::Object(mut fields) = value else {
        return Err(PartFault::NoType);
    };
    let Some(Value::String(kind)) = fields.remove("type") else {
        return Err(PartFault::NoType);
    };
    match kind.as_str() {
        "text" => match fields.remove("text") {
            Some(Value::String(text)) => Ok(ContentPart::Text { text }),
            _ => Err(PartFault::NoText),
        },
        "image_url" => {
            let Some(Value::Object(mut image)) = fields.remove("image_url") else {
                return Err(PartFault::NoUrl);
            };
            match image.remove("url") {
                Some(Value::String(url)) => Ok(ContentPart::ImageUrl {
                    image_url: ImageUrl { url },
                }),
                _ => Err(PartFault::NoUrl),
            }
        }
        _ => Err(PartFault::UnknownType(kind)),
    }
}

fn tool_call_id(role: Role, value: Option<Value>) -> Result<Option<String>, RecordFault> {
    match (value, role == Role::Tool) {
        (Some(Value::String(id)), true) => Ok(Some(id)),
        (Some(Value::String(_)), false) => Err(RecordFault::StrayToolCallId),
        (Some(_), _) => Err(RecordFault::ToolCallIdType),
        (None, true) => Err(RecordFault::NoToolCallId),
        (None, false) => Ok(None),
    }
}

fn calls(value: Option<Value>) -> Result<Vec<RoundCall>, RecordFault> {
    let calls = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(RecordFault::Calls),
    };
    let call = |(index, value)| {
        call(value).map_err(|fault| RecordFault::Call {
            place: index + 1,
            fault,
        })
    };
    calls.into_iter().enumerate().map(call).collect()
}

fn call(value: Value) -> Result<RoundCall, CallFault> {
    let mut fields = match value {
        Value::Object(fields) => fields,
        // As for a whole record.
        Value::Array(_) => Map::new(),
        _ => return Err(CallFault::NotATable),
    };
    let Some(Value::String(id)) = fields.remove("id") else {
        return Err(CallFault::NoId);
    };
    let Some(Value::String(name)) = fields.remove("name") else {
        return Err(CallFault::NoName);
    };
    let arguments = match fields.remove("arguments") {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(CallFault::Arguments),
    };
    Ok(RoundCall { id, name, arguments })
}

fn meta(value: Option<Value>) -> Result<Option<Value>, RecordFault> {
    let Some(meta) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let size = super::estimate::serialized_len(&meta);
    if size > META_LIMIT {
        return Err(RecordFault::MetaSize(size));
    }
    Ok(Some(meta))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(record: Value) -> String {
        Record::check(record).expect_err("refused").to_string()
    }

    #[test]
    fn the_first_broken_rule_in_the_fixed_order_is_reported() {
        let mut record = json!({
            "role": 5, "content": [], "tool_call_id": 7, "tool_calls": [{}], "meta": "m".repeat(9000),
        });
        let mut mend = |field: &str, value: Value, next: &str| {
            record[field] = value;
            assert_eq!(fault(record.clone()), next);
        };
        mend(
            "role",
            json!("nobody"),
            "role \"nobody\" is unknown; known roles: system, user, assistant, tool",
        );
        mend(
            "role",
            json!("user"),
            "content must be a string or a non-empty array of content parts",
        );
        mend(
            "content",
            json!([{ "type": "text", "text": "x" }, "y"]),
            "content part 2 must be a table with a string type field",
        );
        mend("content", json!(""), "tool_call_id must be a string");
        mend(
            "tool_call_id",
            json!("c"),
            "sets a tool_call_id but is not a tool message",
        );
        mend("role", json!("tool"), "tool_calls[1] must set a string id");
        mend(
            "tool_calls",
            json!([{ "id": "c" }]),
            "tool_calls[1] must set a string name",
        );
        mend(
            "tool_calls",
            json!([{ "id": "c", "name": "n", "arguments": ["x"] }]),
            "tool_calls[1] arguments must be a table",
        );
        mend(
            "tool_calls",
            json!([]),
            "meta is 9002 bytes as JSON; the limit is 8192 bytes",
        );
    }

    #[test]
    fn a_null_is_no_metadata_but_no_call_id_and_no_list_of_calls_either() {
        let with = |field: &str, role: &str| {
            let mut record = json!({ "role": role, "content": "x" });
            record[field] = Value::Null;
            Record::check(record)
        };
        assert_eq!(with("meta", "user").expect("a record").meta, None);
        assert_eq!(with("tool_call_id", "tool"), Err(RecordFault::ToolCallIdType));
        assert_eq!(with("tool_calls", "assistant"), Err(RecordFault::Calls));
        assert_eq!(with("content", "user"), Err(RecordFault::Content));
    }

    #[test]
    fn only_the_payload_of_parts_and_calls_is_kept() {
        let record = Record::check(json!({
            "role": "assistant",
            "content": [{ "type": "image_url", "image_url": { "url": "u", "detail": "low" }, "extra": 1 }],
            "tool_calls": [{ "id": "c", "name": "n", "type": "function" }],
            "name": "bob",
        }))
        .expect("a record");
        assert_eq!(
            record.to_json(),
            json!({
                "role": "assistant",
                "content": [{ "type": "image_url", "image_url": { "url": "u" } }],
                "tool_calls": [{ "id": "c", "name": "n", "arguments": {} }],
            })
        );
    }
}
