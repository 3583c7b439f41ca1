//! Scripted Hosts, Packs, models and observers.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::panic, reason = "a panic is how a test fails")]

pub(crate) mod recorded;

use std::{
    collections::VecDeque,
    future::pending,
    sync::{Arc, Mutex},
};

use runvil_engine::{
    Answer, CompletionError, CompletionErrorKind, Effect, EffectId, EffectKind, Event, EventKind, ModelId, ModelInfo,
    ModelReply, ModelRound, ReplyCall, RunErrorKind, RunOutcome, ThinkingMode,
};
use runvil_harness::{
    Host, HostBuilder, Launch, LiveText, ModelAccess, Observer, Origin, Preparation, Prepared, RunReport, Seed, prepare,
};
use runvil_model::{Catalog, ModelBackend, OnText, RoundLimits};
use runvil_pack::{
    Arguments, Pack, PackError, PackName, PackRegistry, Plugin, RegistryError, ServiceName, Tool, ToolContext,
    ToolDefinition, ToolError, ToolOutput, async_trait,
};

/// A prompt with this frontmatter beside its fixed keys, and this body below its title.
pub(crate) fn prompt(frontmatter: &str, body: &str) -> String {
    let frontmatter = if frontmatter.is_empty() {
        String::new()
    } else {
        format!("{frontmatter}\n")
    };
    format!("---\nname: t\ndescription: d\nrunvil: 0\n{frontmatter}---\n# T\n{body}\n")
}

/// A prompt whose one section runs this Lua.
pub(crate) fn script(frontmatter: &str, lua: &str) -> String {
    prompt(frontmatter, &section("A", lua))
}

/// A section that runs this Lua.
pub(crate) fn section(name: &str, lua: &str) -> String {
    format!("## {name}\n```lua\n{lua}\n```\n")
}

pub(crate) fn launch(source: impl Into<Vec<u8>>) -> Launch {
    Launch::new(source, "session-1")
}

/// A Host without models whose seed and clock are fixed.
pub(crate) fn builder() -> HostBuilder {
    Host::builder().origin(Arc::new(Fixed))
}

pub(crate) fn host() -> Host {
    builder().build().expect("a Host")
}

pub(crate) struct Fixed;

impl Origin for Fixed {
    fn seed(&self) -> Seed {
        [7; 32]
    }

    fn now(&self) -> i64 {
        1_700_000_000_000
    }
}

pub(crate) fn model(context: u32, thinking: ThinkingMode) -> ModelInfo {
    ModelInfo {
        id: ModelId::new("gateway", "m").expect("a model id"),
        context,
        thinking,
        description: String::new(),
        provider: None,
    }
}

/// A current model with a server behind it.
pub(crate) fn models(backend: impl ModelBackend + 'static) -> ModelAccess {
    ModelAccess {
        backend: Some(Arc::new(backend)),
        current: Some(model(32_000, ThinkingMode::Switchable)),
    }
}

pub(crate) async fn prepared(host: &Host, launch: Launch) -> Prepared {
    match prepare(host, launch).await {
        Preparation::Ready(prepared) => *prepared,
        Preparation::Ended(report) => panic!("ended early: {:?}", report.outcome),
    }
}

pub(crate) async fn ended_early(host: &Host, launch: Launch) -> RunReport {
    match prepare(host, launch).await {
        Preparation::Ready(_) => panic!("the run was built"),
        Preparation::Ended(report) => *report,
    }
}

pub(crate) async fn run(host: &Host, launch: Launch) -> RunReport {
    host.run(launch, &mut ()).await
}

/// The text of a completed run.
pub(crate) fn result(report: &RunReport) -> &str {
    match &report.outcome {
        RunOutcome::Completed { text } => text,
        other => panic!("not completed: {other:?}"),
    }
}

/// The kind and message of a failed run.
pub(crate) fn failure(report: &RunReport) -> (RunErrorKind, &str) {
    match &report.outcome {
        RunOutcome::Failed(error) => (error.kind, &error.message),
        other => panic!("not failed: {other:?}"),
    }
}

pub(crate) fn kinds(events: &[Event]) -> Vec<String> {
    let kind = |event: &Event| serde_json::to_value(&event.kind).expect("plain data")["kind"].clone();
    events
        .iter()
        .map(|event| kind(event).as_str().expect("a kind").to_owned())
        .collect()
}

/// One scripted answer of the model.
pub(crate) enum Say {
    /// A text, in these fragments.
    Text(Vec<&'static str>),
    /// One call of a tool by its wire name, without arguments.
    Call(&'static str),
    /// A failure.
    Fail(CompletionError),
    /// Nothing, ever; after these fragments.
    Hang(Vec<&'static str>),
}

/// A model that answers its rounds in the order in which they are performed.
pub(crate) struct Script(Mutex<VecDeque<Say>>);

impl Script {
    pub(crate) fn new(replies: impl IntoIterator<Item = Say>) -> Self {
        Self(Mutex::new(replies.into_iter().collect()))
    }
}

#[async_trait]
impl ModelBackend for Script {
    async fn complete(
        &self,
        _: &ModelRound,
        _: RoundLimits,
        on_text: OnText<'_>,
    ) -> Result<ModelReply, CompletionError> {
        let say = self.0.lock().expect("no panic").pop_front().expect("a reply is left");
        match say {
            Say::Text(fragments) => {
                fragments.iter().for_each(|fragment| on_text(fragment));
                let text = fragments.concat();
                Ok(ModelReply {
                    text,
                    finish_reason: Some("stop".to_owned()),
                    ..ModelReply::default()
                })
            }
            Say::Call(name) => {
                let call = ReplyCall {
                    id: "c1".to_owned(),
                    name: name.to_owned(),
                    arguments: "{}".to_owned(),
                };
                Ok(ModelReply {
                    tool_calls: vec![call],
                    ..ModelReply::default()
                })
            }
            Say::Fail(error) => Err(error),
            Say::Hang(fragments) => {
                fragments.iter().for_each(|fragment| on_text(fragment));
                pending().await
            }
        }
    }

    async fn models(&self, _: RoundLimits) -> Result<Catalog, CompletionError> {
        Err(CompletionError::new(CompletionErrorKind::Unavailable))
    }
}

type Call = Arc<
    dyn Fn(Arguments, ToolContext) -> futures_util::future::BoxFuture<'static, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;
type Ready = Arc<dyn Fn() -> futures_util::future::BoxFuture<'static, Result<(), PackError>> + Send + Sync>;

/// A Plugin with one scripted Pack.
#[derive(Clone)]
pub(crate) struct Scripted {
    name: PackName,
    broken: Option<String>,
    needs: Vec<ServiceName>,
    prelude: Option<String>,
    ready: Ready,
    tools: Vec<(ToolDefinition, Call)>,
}

pub(crate) fn pack(name: &str) -> Scripted {
    Scripted {
        name: name.parse().expect("a Pack name"),
        broken: None,
        needs: Vec::new(),
        prelude: None,
        ready: Arc::new(|| Box::pin(async { Ok(()) })),
        tools: Vec::new(),
    }
}

impl Scripted {
    /// It cannot be built.
    pub(crate) fn broken(mut self, reason: &str) -> Self {
        self.broken = Some(reason.to_owned());
        self
    }

    pub(crate) fn needs(mut self, service: &'static str) -> Self {
        self.needs.push(ServiceName::new(service));
        self
    }

    pub(crate) fn prelude(mut self, lua: &str) -> Self {
        self.prelude = Some(lua.to_owned());
        self
    }

    pub(crate) fn ready<F: Future<Output = Result<(), PackError>> + Send + 'static>(
        mut self,
        ready: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        self.ready = Arc::new(move || Box::pin(ready()));
        self
    }

    /// A tool of this id, which a definition may be shaped further.
    pub(crate) fn tool<F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static>(
        self,
        id: &str,
        call: impl Fn(Arguments, ToolContext) -> F + Send + Sync + 'static,
    ) -> Self {
        self.shaped_tool(id, |definition| definition, call)
    }

    pub(crate) fn shaped_tool<F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static>(
        mut self,
        id: &str,
        shape: impl Fn(ToolDefinition) -> ToolDefinition,
        call: impl Fn(Arguments, ToolContext) -> F + Send + Sync + 'static,
    ) -> Self {
        let definition = ToolDefinition::new(id.parse().expect("a tool id"), "Does its part.");
        let call: Call = Arc::new(move |arguments, context| Box::pin(call(arguments, context)));
        self.tools.push((shape(definition), call));
        self
    }
}

impl Plugin for Scripted {
    fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError> {
        let pack = self.clone();
        registry.add(self.name.clone(), move |_| match pack.broken {
            Some(reason) => Err(PackError::reason(reason)),
            None => Ok(Arc::new(pack)),
        })
    }
}

#[async_trait]
impl Pack for Scripted {
    fn description(&self) -> &str {
        "A scripted Pack."
    }

    fn prelude(&self) -> Option<&str> {
        self.prelude.as_deref()
    }

    fn needs(&self) -> Vec<ServiceName> {
        self.needs.clone()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |(definition, call): &(ToolDefinition, Call)| -> Arc<dyn Tool> {
            Arc::new(ScriptedTool {
                definition: definition.clone(),
                call: Arc::clone(call),
            })
        };
        self.tools.iter().map(tool).collect()
    }

    async fn ready(&self) -> Result<(), PackError> {
        (self.ready)().await
    }
}

struct ScriptedTool {
    definition: ToolDefinition,
    call: Call,
}

#[async_trait]
impl Tool for ScriptedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, context: ToolContext) -> Result<ToolOutput, ToolError> {
        (self.call)(arguments, context).await
    }
}

/// Writes down what it hears, one line for each thing, and calls back.
pub(crate) struct Heard<'a> {
    pub(crate) lines: Vec<String>,
    /// Called on each line.
    pub(crate) react: Box<dyn FnMut(&str) + Send + 'a>,
}

impl<'a> Heard<'a> {
    pub(crate) fn new() -> Self {
        Self::reacting(|_| {})
    }

    pub(crate) fn reacting(react: impl FnMut(&str) + Send + 'a) -> Self {
        Self {
            lines: Vec::new(),
            react: Box::new(react),
        }
    }

    fn hear(&mut self, line: String) {
        (self.react)(&line);
        self.lines.push(line);
    }

    /// The lines that start with this word, without it.
    pub(crate) fn of(&self, word: &str) -> Vec<&str> {
        self.lines
            .iter()
            .filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
            .collect()
    }
}

impl Observer for Heard<'_> {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Lua { message } => self.hear(format!("log {message}")),
            _ => self.hear(format!("event {}", kinds(std::slice::from_ref(event))[0])),
        }
    }

    fn live_text(&mut self, piece: LiveText<'_>) {
        self.hear(format!("live {}", piece.text));
    }

    fn effect_started(&mut self, effect: &Effect) {
        let what = match &effect.kind {
            EffectKind::ModelRound(_) => "model".to_owned(),
            EffectKind::ToolCall(call) => call.tool.clone(),
            EffectKind::Store(call) => format!("store {}", call.op.path()),
            EffectKind::Timer { millis } => format!("timer {millis}"),
        };
        self.hear(format!("start {} {what}", effect.id));
    }

    fn effect_answered(&mut self, id: EffectId, answer: &Answer) {
        let what = match answer {
            Answer::Dropped => "dropped",
            _ => "done",
        };
        self.hear(format!("answer {id} {what}"));
    }
}
