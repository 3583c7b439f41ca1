//! What an answer may hold, field by field: serde alone passes over a field that it does not know.

use std::fmt;

use runvil_vfs::StoreFailure;
use serde_json::{Map, Value, json};

/// What a value may be. Null is let through: whether it may stand there is for the answer itself to say.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Anything at all, or what the answer itself judges.
    Any,
    Text,
    /// A whole number from 0 on.
    Count,
    /// True or false.
    Flag,
    List(&'static Shape),
    /// An object with no fields but these.
    Object(&'static [(&'static str, Shape)]),
}

use Shape::{Any, Count, Flag, List, Object, Text};

const USAGE: Shape = Object(&[
    ("prompt_tokens", Count),
    ("completion_tokens", Count),
    ("reasoning_tokens", Count),
]);

const CALL: Shape = Object(&[("id", Text), ("name", Text), ("arguments", Text)]);

const REPLY: Shape = Object(&[
    ("text", Text),
    ("tool_calls", List(&CALL)),
    ("finish_reason", Text),
    ("reasoning", Text),
    ("usage", USAGE),
    ("metrics", Any),
    ("metadata_problems", List(&Text)),
    ("sent_to", Text),
    ("raw", Object(&[("request", Any), ("response", Any)])),
]);

const ROUND_FAILURE: Shape = Object(&[
    ("kind", Text),
    ("detail", Text),
    ("status", Count),
    ("finish_reason", Text),
    ("usage", USAGE),
]);

const MODEL: Shape = Object(&[("answer", Text), ("ok", REPLY), ("err", ROUND_FAILURE)]);

const TOOL: Shape = Object(&[
    ("answer", Text),
    ("ok", Object(&[("text", Text), ("trusted", Flag)])),
    ("err", Object(&[("message", Text)])),
]);

const STORE: Shape = Object(&[
    ("answer", Text),
    ("ok", Object(&[("reply", Text), ("value", Any)])),
    // Each reason has fields of its own.
    ("err", Any),
]);

const BARE: Shape = Object(&[("answer", Text)]);

/// The shape of the answer that a value says to be; `None` where it says nothing of the kind.
pub(super) fn of(value: &Value) -> Option<Shape> {
    match value.get("answer")?.as_str()? {
        "model" => Some(MODEL),
        "tool" => Some(TOOL),
        "store" => Some(STORE),
        "timer" | "dropped" => Some(BARE),
        _ => None,
    }
}

/// Where a value has not its shape.
#[derive(Debug, PartialEq)]
pub(super) enum Misfit {
    /// A field that the object has not.
    Unknown { path: String, known: Vec<String> },
    /// A value of another type.
    Type { path: String, wanted: &'static str },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { path, known } => {
                write!(f, "there is no field `{path}`; known there: {}", known.join(", "))
            }
            Self::Type { path, wanted } => write!(f, "`{path}` has to be {wanted}"),
        }
    }
}

impl Shape {
    /// Checks an answer; the first part that does not fit is told.
    pub(super) fn check(self, answer: &Value) -> Result<(), Misfit> {
        self.check_at("", answer)
    }

    fn check_at(self, path: &str, value: &Value) -> Result<(), Misfit> {
        match (self, value) {
            (Any, _) | (_, Value::Null) | (Text, Value::String(_)) | (Flag, Value::Bool(_)) => Ok(()),
            (Count, value) if value.is_u64() => Ok(()),
            (List(shape), Value::Array(items)) => {
                let mut items = items.iter().enumerate();
                items.try_for_each(|(at, item)| shape.check_at(&format!("{path}[{at}]"), item))
            }
            (Object(fields), Value::Object(written)) => written.iter().try_for_each(|(name, value)| {
                let inner = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                match fields.iter().find(|(known, _)| known == name) {
                    Some((_, shape)) => shape.check_at(&inner, value),
                    None => Err(Misfit::Unknown {
                        path: inner,
                        known: fields.iter().map(|(known, _)| (*known).to_owned()).collect(),
                    }),
                }
            }),
            _ => Err(Misfit::Type {
                path: path.to_owned(),
                wanted: self.article(),
            }),
        }
    }

    fn article(self) -> &'static str {
        match self {
            Any => "anything",
            Text => "a text",
            Count => "a whole number from 0 on",
            Flag => "true or false",
            List(_) => "a list",
            Object(_) => "an object",
        }
    }
}

/// Checks the failure of a store operation: each reason has fields of its own, which are those that it was read with.
pub(super) fn check_failure(written: &Value, failure: &StoreFailure) -> Result<(), Misfit> {
    let Value::Object(known) = json!(failure) else {
        return Ok(());
    };
    let written = written.as_object().into_iter().flat_map(Map::keys);
    match written.into_iter().find(|name| !known.contains_key(*name)) {
        Some(name) => Err(Misfit::Unknown {
            path: format!("err.{name}"),
            known: known.into_iter().map(|(name, _)| name).collect(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runvil_engine::{
        Answer, CompletionError, CompletionErrorKind, ModelReply, Outcome, RawExchange, ReplyCall, ToolFailure,
        ToolOutput, Usage,
    };

    fn usage() -> Usage {
        Usage {
            prompt_tokens: Some(1),
            completion_tokens: Some(2),
            reasoning_tokens: Some(3),
        }
    }

    /// The names of an object's fields, those of inner objects with them.
    fn names(value: &Value, path: &str, names: &mut Vec<String>) {
        if let Value::Object(fields) = value {
            for (name, value) in fields {
                names.push(format!("{path}{name}"));
                self::names(value, &format!("{path}{name}."), names);
            }
        }
        if let Value::Array(items) = value {
            for item in items {
                self::names(item, path, names);
            }
        }
    }

    fn known(shape: Shape, path: &str, names: &mut Vec<String>) {
        match shape {
            Object(fields) => {
                for (name, shape) in fields {
                    names.push(format!("{path}{name}"));
                    known(*shape, &format!("{path}{name}."), names);
                }
            }
            List(shape) => known(*shape, path, names),
            Any | Text | Count | Flag => {}
        }
    }

    #[test]
    fn every_field_that_an_answer_has_is_known_and_no_other() {
        let reply = ModelReply {
            text: "t".to_owned(),
            tool_calls: vec![ReplyCall {
                id: "i".to_owned(),
                name: "n".to_owned(),
                arguments: "{}".to_owned(),
            }],
            finish_reason: Some("stop".to_owned()),
            reasoning: Some("r".to_owned()),
            usage: Some(usage()),
            metrics: Some(json!(1)),
            metadata_problems: vec!["p".to_owned()],
            sent_to: Some("m".to_owned()),
            raw: Some(RawExchange {
                request: json!(1),
                response: json!(2),
            }),
        };
        let failure = CompletionError {
            kind: CompletionErrorKind::Timeout,
            detail: Some("d".to_owned()),
            status: Some(500),
            finish_reason: Some("stop".to_owned()),
            usage: Some(usage()),
        };
        let output = ToolOutput {
            text: "t".to_owned(),
            trusted: true,
        };
        let message = "m".to_owned();
        for (shape, answers) in [
            (
                MODEL,
                [
                    Answer::Model(Box::new(Outcome::Ok(reply))),
                    Answer::Model(Box::new(Outcome::Err(failure))),
                ],
            ),
            (
                TOOL,
                [
                    Answer::Tool(Outcome::Ok(output)),
                    Answer::Tool(Outcome::Err(ToolFailure { message })),
                ],
            ),
        ] {
            let (mut has, mut knows) = (Vec::new(), Vec::new());
            for answer in answers {
                let value = json!(answer);
                assert_eq!(shape.check(&value), Ok(()));
                names(&value, "", &mut has);
            }
            known(shape, "", &mut knows);
            has.sort();
            has.dedup();
            knows.sort();
            assert_eq!(has, knows);
        }
    }

    #[test]
    fn what_does_not_fit_is_told_by_its_path() {
        let told = |answer: Value| {
            of(&answer)
                .expect("an answer")
                .check(&answer)
                .map_err(|misfit| misfit.to_string())
        };
        assert_eq!(
            told(json!({ "answer": "tool", "ok": { "txt": "a" } })),
            Err("there is no field `ok.txt`; known there: text, trusted".to_owned())
        );
        assert_eq!(
            told(json!({ "answer": "model", "ok": { "tool_calls": [{ "name": 1 }] } })),
            Err("`ok.tool_calls[0].name` has to be a text".to_owned())
        );
        assert_eq!(told(json!({ "answer": "timer" })), Ok(()));
        assert!(of(&json!({ "answer": "other" })).is_none() && of(&json!([])).is_none());
    }
}
