//! The judgement of a decoded reply: whether it is one that a run may use.

use std::collections::BTreeSet;

use runvil_engine::{CompletionError, CompletionErrorKind, ModelReply, ReplyCall};
use serde_json::{Map, Value};

use crate::Malformed;

/// Passes on a reply that has text or a sound batch of tool calls (book: Empty replies and finish reasons, Replies
/// cut short for length, The arguments the model sends).
///
/// Whether the round offered any tool is the Engine's to ask; here a batch is judged alone.
///
/// # Errors
/// [`CompletionErrorKind::EmptyReply`] for a reply with neither calls nor text other than white space, and
/// [`CompletionErrorKind::MalformedResponse`] for a batch that was cut off or holds an unusable call. One unusable
/// call condemns the batch, so that none of its calls runs.
pub fn judge(reply: ModelReply) -> Result<ModelReply, CompletionError> {
    if !reply.tool_calls.is_empty() {
        judge_batch(&reply)?;
    } else if reply.text.trim().is_empty() {
        return Err(empty(reply));
    }
    Ok(reply)
}

fn empty(reply: ModelReply) -> CompletionError {
    let reasoned = reply.reasoning.is_some_and(|reasoning| !reasoning.trim().is_empty());
    CompletionError {
        detail: reasoned.then(|| "reasoning content was present but ignored".to_owned()),
        finish_reason: reply.finish_reason,
        usage: reply.usage,
        ..CompletionError::new(CompletionErrorKind::EmptyReply)
    }
}

fn judge_batch(reply: &ModelReply) -> Result<(), Malformed> {
    if let Some(reason @ ("length" | "content_filter")) = reply.finish_reason.as_deref() {
        return Err(Malformed::TruncatedCalls {
            finish_reason: reason.to_owned(),
        });
    }
    let mut ids = BTreeSet::new();
    reply.tool_calls.iter().try_for_each(|call| judge_call(call, &mut ids))
}

fn judge_call<'a>(call: &'a ReplyCall, ids: &mut BTreeSet<&'a str>) -> Result<(), Malformed> {
    if call.id.trim().is_empty() {
        return Err(Malformed::BlankId);
    }
    if call.name.trim().is_empty() {
        return Err(Malformed::BlankName);
    }
    if !ids.insert(&call.id) {
        return Err(Malformed::RepeatedId);
    }
    // The whole value is built, as the run will build it, so that what passes here decodes there.
    match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(_) => Ok(()),
        Err(_) => Err(Malformed::Arguments),
    }
}

#[cfg(test)]
mod tests {
    use runvil_engine::Usage;

    use super::*;

    fn call(id: &str, name: &str, arguments: &str) -> ReplyCall {
        ReplyCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    fn batch(calls: &[ReplyCall], finish_reason: Option<&str>) -> ModelReply {
        ModelReply {
            tool_calls: calls.to_vec(),
            finish_reason: finish_reason.map(str::to_owned),
            ..ModelReply::default()
        }
    }

    fn refusal(reply: ModelReply) -> String {
        judge(reply).expect_err("refused").to_string()
    }

    const PHRASE: &str = "the model backend sent a reply that could not be understood";

    #[test]
    fn a_sound_batch_passes_under_any_reason_but_a_cut() {
        let calls = [call("a", "x", "{}"), call("b", "x", " {\"n\":1} ")];
        for reason in [None, Some("stop"), Some("tool_calls"), Some("weird")] {
            assert!(judge(batch(&calls, reason)).is_ok());
        }
        for reason in ["length", "content_filter"] {
            assert_eq!(
                refusal(batch(&calls, Some(reason))),
                format!(
                    "{PHRASE}: tool-call batch truncated by finish_reason \"{reason}\": partial arguments must not execute"
                )
            );
        }
    }

    #[test]
    fn one_unusable_call_condemns_the_batch() {
        let good = call("a", "x", "{}");
        let cases = [
            (call(" \t", "x", "{}"), "tool call id was blank"),
            (call("b", "", "{}"), "tool call name was blank"),
            (call("a", "y", "{}"), "tool call id was repeated within the reply"),
        ];
        for (bad, detail) in cases {
            assert_eq!(
                refusal(batch(&[good.clone(), bad], None)),
                format!("{PHRASE}: {detail}")
            );
        }
    }

    #[test]
    fn arguments_are_a_json_object_or_refused() {
        for arguments in [
            "",
            " ",
            "null",
            "[1, 2, 3]",
            "\"{}\"",
            "5",
            "{\"a\":",
            "{} {}",
            "{\"a\":1e999}",
            "{'a':1}",
        ] {
            let reply = batch(&[call("a", "x", arguments)], Some("tool_calls"));
            assert_eq!(
                refusal(reply),
                format!("{PHRASE}: tool call arguments were not a JSON object"),
                "{arguments}"
            );
        }
    }

    #[test]
    fn white_space_is_no_text_and_the_finish_reason_and_usage_stay() {
        let usage = Usage {
            prompt_tokens: Some(3),
            ..Usage::default()
        };
        for text in ["", " \n\t ", "\u{a0}\u{2003}"] {
            let error = judge(ModelReply {
                text: text.to_owned(),
                finish_reason: Some("stop".to_owned()),
                usage: Some(usage),
                ..ModelReply::default()
            })
            .expect_err("empty");
            assert_eq!(error.kind, CompletionErrorKind::EmptyReply);
            assert_eq!(error.to_string(), "the model replied with no text and no tool calls");
            assert_eq!(
                (error.finish_reason.as_deref(), error.usage),
                (Some("stop"), Some(usage))
            );
        }
    }

    #[test]
    fn ignored_reasoning_is_named_in_the_empty_reply() {
        let reply = |reasoning: &str| ModelReply {
            reasoning: Some(reasoning.to_owned()),
            ..ModelReply::default()
        };
        assert_eq!(
            refusal(reply("hm")),
            "the model replied with no text and no tool calls: reasoning content was present but ignored"
        );
        assert_eq!(refusal(reply("  ")), "the model replied with no text and no tool calls");
    }

    #[test]
    fn a_text_cut_for_length_passes() {
        let reply = ModelReply {
            text: "partial".to_owned(),
            finish_reason: Some("length".to_owned()),
            ..ModelReply::default()
        };
        assert_eq!(judge(reply.clone()), Ok(reply));
    }
}
