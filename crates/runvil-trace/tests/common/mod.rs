//! A run to trace: a scripted model, and a Pack with one tool.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use runvil_engine::{
    CompletionError, CompletionErrorKind, ModelId, ModelInfo, ModelReply, ModelRound, ReplyCall, RunOutcome,
    ThinkingMode, Usage,
};
use runvil_harness::{Host, Launch, ModelAccess};
use runvil_model::{Catalog, ModelBackend, OnText, RoundLimits};
use runvil_pack::{
    Arguments, Pack, PackRegistry, Plugin, RegistryError, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput,
};
use runvil_trace::RunSpans;

/// A word that stands in every prose, argument and reply of a test's run, and that no span may hold.
pub(crate) const SECRET: &str = "xyzzy";

/// A model that gives these answers, one after the other.
pub(crate) struct Script(Mutex<VecDeque<Result<ModelReply, CompletionError>>>);

#[async_trait]
impl ModelBackend for Script {
    async fn complete(&self, _: &ModelRound, _: RoundLimits, _: OnText<'_>) -> Result<ModelReply, CompletionError> {
        self.0.lock().expect("no panic").pop_front().expect("a reply is left")
    }

    async fn models(&self, _: RoundLimits) -> Result<Catalog, CompletionError> {
        Err(CompletionError::new(CompletionErrorKind::Unavailable))
    }
}

/// A reply of which the server counted the tokens.
pub(crate) fn text(usage: Option<Usage>) -> ModelReply {
    ModelReply {
        text: SECRET.to_owned(),
        finish_reason: Some("stop".to_owned()),
        usage,
        ..ModelReply::default()
    }
}

/// A reply that calls the tool.
pub(crate) fn call() -> ModelReply {
    ModelReply {
        tool_calls: vec![ReplyCall {
            id: "c1".to_owned(),
            name: "probe_look".to_owned(),
            arguments: format!("{{\"at\":\"{SECRET}\"}}"),
        }],
        finish_reason: Some("tool_calls".to_owned()),
        ..ModelReply::default()
    }
}

pub(crate) fn usage(input: u64, output: u64) -> Usage {
    Usage {
        prompt_tokens: Some(input),
        completion_tokens: Some(output),
        reasoning_tokens: None,
    }
}

/// The Pack `probe`, whose tool `look` fails.
#[derive(Clone)]
struct Probe(ToolDefinition);

impl Plugin for Probe {
    fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError> {
        let pack = self.clone();
        registry.add("runvil/probe".parse().expect("a Pack name"), move |_| {
            Ok(Arc::new(pack))
        })
    }
}

#[async_trait]
impl Pack for Probe {
    fn description(&self) -> &str {
        "A scripted Pack."
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![Arc::new(self.clone())]
    }
}

#[async_trait]
impl Tool for Probe {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::other(format!("nothing at {SECRET}")))
    }
}

/// A prompt with the Pack, a role and this body.
pub(crate) fn prompt(body: &str) -> String {
    format!("---\nname: traced\ndescription: d\nrunvil: 0\nuses: [probe]\nmodels: {{ w: {{}} }}\n---\n# T\n{body}\n")
}

/// Runs a prompt with a model that gives these answers, and traces it.
pub(crate) async fn run(
    body: &str,
    replies: impl IntoIterator<Item = Result<ModelReply, CompletionError>>,
) -> RunOutcome {
    let definition = ToolDefinition::new("probe/look".parse().expect("a tool id"), "Looks.");
    let models = ModelAccess {
        backend: Some(Arc::new(Script(Mutex::new(replies.into_iter().collect())))),
        current: Some(ModelInfo {
            id: ModelId::new("gateway", "m1").expect("an id"),
            context: 32_000,
            thinking: ThinkingMode::Switchable,
            description: String::new(),
            provider: None,
        }),
    };
    let host = Host::builder()
        .plugin(&Probe(definition))
        .models(models)
        .build()
        .expect("a Host");
    let mut launch = Launch::new(prompt(body), "session-1");
    launch.args = SECRET.to_owned();
    let mut spans = RunSpans::start("traced", "session-1");
    let report = host.run(launch, &mut spans.beside(&mut ())).await;
    spans.end(&report.outcome);
    report.outcome
}
