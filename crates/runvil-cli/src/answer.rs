//! Another answer for a recorded effect, as `runvil fork --answer` reads it.

mod shape;

use std::{fmt::Display, path::Path};

use runvil_engine::{Answer, Effect, EffectKind, ModelReply, Outcome};
use runvil_vfs::{OpName, StoreReply};
use serde_json::Value;

use crate::{
    exit::Fault,
    files::{self, MAX_INPUT_BYTES},
};

/// Reads the answer that a file has for an effect.
///
/// # Errors
/// The file cannot be read, or holds no answer of the effect's own kind, and that in full: a field that no answer has may
/// be a misspelt one.
pub(crate) fn read(path: &Path, effect: &Effect) -> Result<Answer, Fault> {
    let bytes = files::read(path, MAX_INPUT_BYTES)?;
    parse(&bytes, &effect.kind).map_err(|problem| {
        Fault::usage(format_args!("--answer {}: {problem}", path.display())).with_help(format_args!(
            "effect {} wants an answer such as {}",
            effect.id,
            example(&effect.kind)
        ))
    })
}

fn parse(bytes: &[u8], kind: &EffectKind) -> Result<Answer, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("this is no JSON: {error}"))?;
    let of_its_kind = "the answer is of another kind than the effect";
    let no_answer = |problem: &dyn Display| format!("this is no answer: {problem}");
    let shape = shape::of(&value).ok_or_else(|| {
        no_answer(&"it is an object whose field `answer` is `model`, `tool`, `store`, `timer` or `dropped`")
    })?;
    if !fits(&value["answer"], kind) {
        return Err(of_its_kind.to_owned());
    }
    shape.check(&value).map_err(|problem| no_answer(&problem))?;
    let mut answer: Answer = serde_json::from_value(value.clone()).map_err(|error| match kind {
        EffectKind::Store(_) => no_answer(&"no store operation is answered so"),
        _ => no_answer(&error),
    })?;
    match (&mut answer, kind) {
        (Answer::Model(outcome), _) => {
            if let Outcome::Ok(reply) = &mut **outcome {
                fill_in(reply, &value["ok"]);
            }
        }
        (Answer::Store(Outcome::Ok(reply)), EffectKind::Store(call)) if !is_reply_of(reply, call.op.name()) => {
            return Err(format!("a {} of the store is not answered so", call.op.name().as_str()));
        }
        (Answer::Store(Outcome::Err(failure)), _) => {
            shape::check_failure(&value["err"], failure).map_err(|problem| no_answer(&problem))?;
        }
        _ => {}
    }
    Ok(answer)
}

/// Whether an answer that calls itself so can be one to the effect.
fn fits(answer: &Value, kind: &EffectKind) -> bool {
    let own = match kind {
        EffectKind::ModelRound(_) => "model",
        EffectKind::ToolCall(_) => "tool",
        EffectKind::Store(_) => "store",
        EffectKind::Timer { .. } => "timer",
    };
    answer == own || answer == "dropped"
}

/// Gives what a written reply leaves out its usual value. What it says to be null stays unknown.
fn fill_in(reply: &mut ModelReply, written: &Value) {
    if written.get("finish_reason").is_none() {
        let usual = if reply.tool_calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        reply.finish_reason = Some(usual.to_owned());
    }
}

fn is_reply_of(reply: &StoreReply, operation: OpName) -> bool {
    match operation {
        OpName::Write | OpName::Append | OpName::StrReplace | OpName::Delete => matches!(reply, StoreReply::Done),
        OpName::Read | OpName::ReadNumbered => matches!(reply, StoreReply::Text(_)),
        OpName::Glob => matches!(reply, StoreReply::Paths(_)),
        OpName::Exists => matches!(reply, StoreReply::Exists(_)),
    }
}

/// A short answer of the kind that an effect has.
fn example(kind: &EffectKind) -> &'static str {
    match kind {
        EffectKind::ModelRound(_) => r#"{"answer":"model","ok":{"text":"Hello"}}"#,
        EffectKind::ToolCall(_) => r#"{"answer":"tool","ok":{"text":"found","trusted":false}}"#,
        EffectKind::Store(call) => match call.op.name() {
            OpName::Write | OpName::Append | OpName::StrReplace | OpName::Delete => {
                r#"{"answer":"store","ok":{"reply":"done"}}"#
            }
            OpName::Read | OpName::ReadNumbered => r#"{"answer":"store","ok":{"reply":"text","value":"what is read"}}"#,
            OpName::Glob => r#"{"answer":"store","ok":{"reply":"paths","value":["notes/a.md"]}}"#,
            OpName::Exists => r#"{"answer":"store","ok":{"reply":"exists","value":true}}"#,
        },
        EffectKind::Timer { .. } => r#"{"answer":"timer"}"#,
    }
}

#[cfg(test)]
mod tests {
    use runvil_engine::StoreCall;
    use runvil_vfs::Identity;
    use serde_json::json;

    use super::*;

    const PAGE: &str = include_str!("../../../docs/records.md");

    #[test]
    fn the_answers_that_the_documentation_shows_are_answers() {
        let begins_answer = PAGE.match_indices("{\"answer\":").map(|(at, _)| &PAGE[at..]);
        let mut read = 0;
        for text in begins_answer {
            let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let value = stream.next().expect("an answer").expect("JSON");
            let checked = shape::of(&value).expect("an answer").check(&value);
            assert!(
                checked.is_ok() && serde_json::from_value::<Answer>(value).is_ok(),
                "{checked:?}"
            );
            read += 1;
        }
        assert!(read > 6, "{read}");
    }

    fn store(op: Value) -> EffectKind {
        EffectKind::Store(StoreCall {
            identity: Identity::root("r"),
            op: serde_json::from_value(op).expect("a store operation"),
        })
    }

    #[test]
    fn each_example_answers_its_operation_and_no_other_kind_of_reply_does() {
        let timer = EffectKind::Timer { millis: 1 };
        assert_eq!(parse(example(&timer).as_bytes(), &timer), Ok(Answer::Timer));
        let operations = [
            store(json!({ "op": "write", "path": "f", "contents": "x" })),
            store(json!({ "op": "read", "path": "f" })),
            store(json!({ "op": "glob", "pattern": "*" })),
            store(json!({ "op": "exists", "path": "f" })),
        ];
        for (own, kind) in operations.iter().enumerate() {
            for (other, written) in operations.iter().map(example).enumerate() {
                let read = parse(written.as_bytes(), kind);
                assert_eq!(read.is_ok(), own == other, "{read:?}");
            }
        }
    }
}
