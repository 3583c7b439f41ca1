//! A model backend that answers from the case.
//!
//! A scripted reply is written as the bytes that a server would stream and read by the real decoder, so that a case
//! tests what a run sees of a real reply.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use runvil_engine::{
    CompletionError, CompletionErrorKind, ModelReply, ModelRound, RawExchange, RoundId, wire::ChatRequest,
};
use runvil_model::{Catalog, Malformed, ModelBackend, OnText, ReplyDecoder, RoundLimits, classify_status, judge};
use runvil_pack::async_trait;
use serde_json::{Value, json};

use crate::{
    case::{ReplyFailure, ReplySpec},
    check::mentions,
};

/// The case's replies, and which round each went to.
pub(crate) struct ScriptedModel(Mutex<Script>);

struct Script {
    left: VecDeque<ReplySpec>,
    assigned: BTreeMap<RoundId, ReplySpec>,
}

/// When an assigned reply comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyTime {
    /// In the round's turn.
    InTurn,
    /// Once nothing else but a timer can be answered.
    Late,
    /// Never.
    Never,
}

impl ScriptedModel {
    pub(crate) fn new(replies: &[ReplySpec]) -> Self {
        Self(Mutex::new(Script {
            left: replies.iter().cloned().collect(),
            assigned: BTreeMap::new(),
        }))
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns a reply to a round: the first one that is for it by name, otherwise the first that is for any round.
    /// `None` when no reply is left for it.
    pub(crate) fn assign(&self, round: &ModelRound) -> Option<ReplyTime> {
        let mut script = self.script();
        let reply = script.take(&round.request)?;
        let time = match &reply {
            ReplySpec { hangs: true, .. } => ReplyTime::Never,
            ReplySpec { late: true, .. } => ReplyTime::Late,
            _ => ReplyTime::InTurn,
        };
        script.assigned.insert(round.round.clone(), reply);
        Some(time)
    }
}

impl Script {
    fn take(&mut self, request: &ChatRequest) -> Option<ReplySpec> {
        let is_for_it = |reply: &ReplySpec| {
            reply
                .when
                .as_ref()
                .is_some_and(|when| mentions(request, &when.contains))
        };
        let named = self.left.iter().position(is_for_it);
        let index = named.or_else(|| self.left.iter().position(|reply| reply.when.is_none()))?;
        self.left.remove(index)
    }
}

#[async_trait]
impl ModelBackend for ScriptedModel {
    async fn complete(
        &self,
        round: &ModelRound,
        limits: RoundLimits,
        on_text: OnText<'_>,
    ) -> Result<ModelReply, CompletionError> {
        let reply = self.script().assigned.remove(&round.round);
        // The driver assigns a reply before it performs the round.
        let reply = reply.ok_or_else(|| CompletionError::new(CompletionErrorKind::Transport))?;
        answer(&reply, round, limits.max_response_bytes, on_text)
    }

    async fn models(&self, _: RoundLimits) -> Result<Catalog, CompletionError> {
        Ok(Catalog::default())
    }
}

fn answer(reply: &ReplySpec, round: &ModelRound, cap: u64, on_text: OnText<'_>) -> Result<ModelReply, CompletionError> {
    if let Some(failure) = reply.fails {
        return Err(failed(failure));
    }
    if let Some(status) = reply.status {
        return Err(refused(status, reply.body.as_deref().unwrap_or_default(), cap));
    }
    if reply_bytes(reply) > cap {
        return Err(Malformed::StreamTooLong { max_bytes: cap }.into());
    }
    let body = reply.raw.clone().unwrap_or_else(|| stream(reply));
    let mut decoder = ReplyDecoder::new();
    decoder.push(body.as_bytes(), on_text)?;
    let mut decoded = judge(decoder.finish(on_text)?)?;
    decoded.sent_to.clone_from(&reply.sent_to);
    if round.debug {
        decoded.raw = Some(RawExchange {
            request: json!(round.request),
            response: body.into(),
        });
    }
    Ok(decoded)
}

fn failed(failure: ReplyFailure) -> CompletionError {
    match failure {
        ReplyFailure::Transport => CompletionError::new(CompletionErrorKind::Transport),
        ReplyFailure::Timeout => CompletionError::new(CompletionErrorKind::Timeout),
        ReplyFailure::Malformed => Malformed::Chunk.into(),
    }
}

fn refused(status: u16, body: &str, cap: u64) -> CompletionError {
    if body.len() as u64 > cap {
        return Malformed::BodyTooLong { cap }.into();
    }
    classify_status(status, body)
}

/// What a scripted reply weighs against the response cap: what the model wrote, without the stream's own wrapping,
/// so that a case need not count it.
fn reply_bytes(reply: &ReplySpec) -> u64 {
    let own = [&reply.text, &reply.reasoning, &reply.raw];
    let own: usize = own.into_iter().flatten().map(String::len).sum();
    let calls: usize = reply.tool_calls.iter().map(|call| call.arguments.text().len()).sum();
    (own + calls) as u64
}

/// The reply as a server streams it.
fn stream(reply: &ReplySpec) -> String {
    let mut delta = json!({ "role": "assistant" });
    if let Some(text) = &reply.text {
        delta["content"] = text.as_str().into();
    }
    if let Some(reasoning) = &reply.reasoning {
        delta["reasoning_content"] = reasoning.as_str().into();
    }
    if !reply.tool_calls.is_empty() {
        delta["tool_calls"] = reply.tool_calls.iter().enumerate().map(call_delta).collect();
    }
    let by_default = if reply.tool_calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    let finish_reason = reply.finish_reason.as_deref().unwrap_or(by_default);
    let mut chunk = json!({
        "object": "chat.completion.chunk",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
    });
    if let Some(model) = &reply.model {
        chunk["model"] = model.as_str().into();
    }
    if let Some(usage) = &reply.usage {
        chunk["usage"] = usage_json(usage);
    }
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

fn call_delta((index, call): (usize, &crate::case::ReplyCallSpec)) -> Value {
    json!({
        "index": index,
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments.text() },
    })
}

fn usage_json(usage: &crate::case::UsageSpec) -> Value {
    let mut counts = serde_json::Map::new();
    for (name, tokens) in [
        ("prompt_tokens", usage.prompt_tokens),
        ("completion_tokens", usage.completion_tokens),
    ] {
        if let Some(tokens) = tokens {
            counts.insert(name.to_owned(), tokens.into());
        }
    }
    if let Some(tokens) = usage.reasoning_tokens {
        let details = json!({ "reasoning_tokens": tokens });
        counts.insert("completion_tokens_details".to_owned(), details);
    }
    Value::Object(counts)
}
