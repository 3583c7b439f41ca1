//! What a recorded run asked for, effect by effect, with what it was answered.

use runvil_engine::{Answer, EffectKind, ModelReply, Outcome};
use runvil_record::RecordedEffect;
use runvil_vfs::{StoreOp, StoreReply};
use serde_json::{Value, json};

use crate::{timeline, when};

/// An effect as data. `answer` is what `runvil fork --answer` reads.
pub(crate) fn to_json(recorded: &RecordedEffect) -> Value {
    let RecordedEffect {
        effect,
        step,
        at,
        answer,
        answered_at,
        dropped,
        ..
    } = recorded;
    let mut asked = json!(effect.kind);
    let kind = asked.as_object_mut().and_then(|asked| asked.remove("effect"));
    json!({
        "effect": effect.id,
        "kind": kind,
        "task": effect.task,
        "section": effect.section,
        "step": step,
        "asked": asked,
        "asked_at": when::utc(*at),
        "answered_at": answered_at.and_then(when::utc),
        "took_us": answered_at.map(|answered| answered.saturating_sub(*at)),
        "state": timeline::state(recorded),
        "dropped": dropped,
        "answer": answer,
    })
}

/// What was asked, in a few words.
pub(crate) fn question(kind: &EffectKind) -> String {
    match kind {
        EffectKind::ModelRound(round) => {
            let last = round.request.messages.last();
            let text = last.and_then(|message| json!(message.content).as_str().map(str::to_owned));
            format!("{}: {}", round.model.name(), text.unwrap_or_default())
        }
        EffectKind::ToolCall(call) => format!("{} {}", call.tool, call.arguments),
        EffectKind::Store(call) => {
            let (op, path) = (call.op.name().as_str(), call.op.path());
            match &call.op {
                StoreOp::Write { contents, .. } | StoreOp::Append { contents, .. } => {
                    format!("{op} {path}: {contents}")
                }
                StoreOp::StrReplace { old, new, .. } => format!("{op} {path}: {old} -> {new}"),
                _ => format!("{op} {path}"),
            }
        }
        EffectKind::Timer { millis } => format!("{millis}ms"),
    }
}

/// The word for a kind of effect.
pub(crate) fn kind(kind: &EffectKind) -> &'static str {
    match kind {
        EffectKind::ModelRound(_) => "chat",
        EffectKind::ToolCall(_) => "tool",
        EffectKind::Store(_) => "store",
        EffectKind::Timer { .. } => "sleep",
    }
}

/// What was answered, in a few words.
pub(crate) fn reply(recorded: &RecordedEffect) -> String {
    let failed = |error: &dyn std::fmt::Display| format!("failed: {error}");
    match &recorded.answer {
        _ if recorded.dropped => "given up".to_owned(),
        None => "not answered".to_owned(),
        Some(Answer::Dropped) => "given up".to_owned(),
        Some(Answer::Timer) => "done".to_owned(),
        Some(Answer::Model(outcome)) => match &**outcome {
            Outcome::Ok(reply) => model_reply(reply),
            Outcome::Err(error) => failed(error),
        },
        Some(Answer::Tool(Outcome::Ok(output))) => output.text.clone(),
        Some(Answer::Tool(Outcome::Err(failure))) => failed(&failure.message),
        Some(Answer::Store(Outcome::Ok(reply))) => store_reply(reply),
        Some(Answer::Store(Outcome::Err(failure))) => failed(failure),
    }
}

fn model_reply(reply: &ModelReply) -> String {
    let calls = reply
        .tool_calls
        .iter()
        .map(|call| format!("calls {} {}", call.name, call.arguments));
    let text = Some(reply.text.clone()).filter(|text| !text.is_empty());
    text.into_iter().chain(calls).collect::<Vec<_>>().join("; ")
}

fn store_reply(reply: &StoreReply) -> String {
    match reply {
        StoreReply::Done => "done".to_owned(),
        StoreReply::Text(text) => text.clone(),
        StoreReply::Exists(there) => if *there { "yes" } else { "no" }.to_owned(),
        StoreReply::Paths(paths) => paths.join(", "),
    }
}
