//! Each kind of span, with the attributes that it opens with, and those that it closes with.
//!
//! `otel.name`, `otel.kind` and `otel.status_code` are how `tracing` tells an export what a span of its own has no
//! place for.

use runvil_engine::{
    Answer, CompletionError, EffectKind, ModelReply, ModelRound, Outcome, RunOutcome, TaskOrigin, ToolCall, Usage,
};
use tracing::{Span, debug_span, field::Empty, info_span};

use crate::{Ending, Opening, TARGET};

/// A run. `prompt` is the prompt's name, `run` the run's.
pub(crate) fn run(prompt: &str, run: &str) -> Span {
    info_span!(
        target: TARGET, parent: None, "run",
        otel.name = %format_args!("invoke_workflow {prompt}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_workflow",
        gen_ai.agent.name = prompt,
        runvil.run.name = run,
        error.type = Empty,
    )
}

/// What an event of a run opens.
pub(crate) fn opened(parent: &Span, opening: Opening<'_>) -> Span {
    match opening {
        Opening::Section { name, task } => section(parent, name, &task.to_string()),
        Opening::Task { task, target, origin } => self::task(parent, &task.to_string(), target, origin),
    }
}

fn section(parent: &Span, name: &str, task: &str) -> Span {
    info_span!(
        target: TARGET, parent: parent, "section",
        otel.name = %format_args!("section {name}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        runvil.section.name = name,
        runvil.task.id = task,
        error.type = Empty,
    )
}

fn task(parent: &Span, id: &str, target: &str, origin: TaskOrigin) -> Span {
    info_span!(
        target: TARGET, parent: parent, "task",
        otel.name = %format_args!("task {target}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        runvil.task.id = id,
        runvil.task.target = target,
        runvil.task.origin = origin.as_str(),
        error.type = Empty,
    )
}

/// The work of an effect; a timer has no span.
pub(crate) fn effect(parent: &Span, kind: &EffectKind) -> Option<Span> {
    match kind {
        EffectKind::ModelRound(round) => Some(chat(parent, round)),
        EffectKind::ToolCall(call) => Some(execute_tool(parent, call)),
        EffectKind::Store(call) => Some(store(parent, call.op.name().as_str())),
        EffectKind::Timer { .. } => None,
    }
}

fn chat(parent: &Span, round: &ModelRound) -> Span {
    let model = round.model.name();
    let span = info_span!(
        target: TARGET, parent: parent, "chat",
        otel.name = %format_args!("chat {model}"),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = round.model.server(),
        gen_ai.request.model = model,
        gen_ai.request.stream = true,
        gen_ai.request.temperature = Empty,
        gen_ai.request.max_tokens = Empty,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.reasoning.output_tokens = Empty,
        http.response.status_code = Empty,
        runvil.round.id = round.round.as_str(),
        runvil.round.live = round.live,
        error.type = Empty,
    );
    if let Some(temperature) = round.request.temperature {
        span.record("gen_ai.request.temperature", temperature);
    }
    if let Some(tokens) = round.request.max_tokens {
        span.record("gen_ai.request.max_tokens", i64::from(tokens));
    }
    span
}

fn execute_tool(parent: &Span, call: &ToolCall) -> Span {
    info_span!(
        target: TARGET, parent: parent, "execute_tool",
        otel.name = %format_args!("execute_tool {}", call.tool),
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = call.tool.as_str(),
        gen_ai.tool.type = "function",
        error.type = Empty,
    )
}

fn store(parent: &Span, operation: &str) -> Span {
    debug_span!(
        target: TARGET, parent: parent, "store",
        otel.name = %format_args!("store {operation}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        runvil.store.operation = operation,
        error.type = Empty,
    )
}

/// What an effect came to.
pub(crate) fn answered(span: &Span, answer: &Answer) {
    match answer {
        Answer::Model(outcome) => match &**outcome {
            Outcome::Ok(reply) => replied(span, reply),
            Outcome::Err(error) => round_failed(span, error),
        },
        Answer::Tool(Outcome::Err(_)) => failed(span, "tool_error"),
        Answer::Store(Outcome::Err(failure)) => failed(span, failure.reason().as_str()),
        Answer::Dropped => failed(span, "cancelled"),
        Answer::Tool(Outcome::Ok(_)) | Answer::Store(Outcome::Ok(_)) | Answer::Timer => {}
    }
}

fn replied(span: &Span, reply: &ModelReply) {
    if let Some(model) = &reply.sent_to {
        span.record("gen_ai.response.model", model.as_str());
    }
    finished(span, reply.finish_reason.as_deref());
    used(span, reply.usage);
}

fn round_failed(span: &Span, error: &CompletionError) {
    if let Some(status) = error.status {
        span.record("http.response.status_code", i64::from(status));
    }
    finished(span, error.finish_reason.as_deref());
    used(span, error.usage);
    failed(span, &format!("{:?}", error.kind));
}

/// `tracing` has no lists, so the reasons stand as a JSON list.
fn finished(span: &Span, reason: Option<&str>) {
    if let Some(reason) = reason {
        span.record("gen_ai.response.finish_reasons", format!("[{reason:?}]"));
    }
}

/// Records what the server reported. What it did not is left out, and is not zero.
fn used(span: &Span, usage: Option<Usage>) {
    let usage = usage.unwrap_or_default();
    for (attribute, tokens) in [
        ("gen_ai.usage.input_tokens", usage.prompt_tokens),
        ("gen_ai.usage.output_tokens", usage.completion_tokens),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens),
    ] {
        if let Some(tokens) = tokens.and_then(|tokens| i64::try_from(tokens).ok()) {
            span.record(attribute, tokens);
        }
    }
}

/// How a section or a task ended.
pub(crate) fn closed(span: &Span, ending: Ending) {
    if ending != Ending::Done {
        failed(span, ending.as_str());
    }
}

/// How a run ended.
pub(crate) fn ended(span: &Span, outcome: &RunOutcome) {
    match outcome {
        RunOutcome::Completed { .. } => {}
        RunOutcome::Cancelled => failed(span, "cancelled"),
        RunOutcome::Failed(error) => failed(span, &error.kind.to_string()),
    }
}

/// Marks what a span stands for as failed. `kind` is one of a few words.
pub(crate) fn failed(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}
