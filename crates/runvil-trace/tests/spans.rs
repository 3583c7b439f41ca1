//! The spans that a run leaves.

mod common;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use common::{SECRET, call, run, text, usage};
use runvil_engine::{CompletionError, CompletionErrorKind, ModelReply, RunOutcome};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::set_default,
};
use tracing_subscriber::{Layer, Registry, layer::Context, layer::SubscriberExt as _, registry::LookupSpan};

/// One span: its parent's place in the list, and its fields.
#[derive(Debug, Clone, Default)]
struct Seen {
    parent: Option<usize>,
    fields: BTreeMap<&'static str, String>,
    closed: bool,
}

/// Keeps every span, in the order in which they open.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Vec<Seen>>>);

/// The place of a span in the list.
struct At(usize);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Keeper {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let at = |id: &Id| {
            context
                .span(id)
                .and_then(|span| span.extensions().get::<At>().map(|at| at.0))
        };
        let mut seen = Seen {
            parent: attributes.parent().and_then(at),
            ..Seen::default()
        };
        attributes.record(&mut seen);
        let mut spans = self.0.lock().expect("no panic");
        context
            .span(id)
            .expect("the span")
            .extensions_mut()
            .insert(At(spans.len()));
        spans.push(seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let at = context
            .span(id)
            .expect("the span")
            .extensions()
            .get::<At>()
            .expect("kept")
            .0;
        values.record(&mut self.0.lock().expect("no panic")[at]);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let at = context
            .span(&id)
            .expect("the span")
            .extensions()
            .get::<At>()
            .expect("kept")
            .0;
        self.0.lock().expect("no panic")[at].closed = true;
    }
}

impl Visit for Seen {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

impl Seen {
    fn get(&self, field: &str) -> Option<&str> {
        self.fields.get(field).map(String::as_str)
    }

    fn name(&self) -> &str {
        self.get("otel.name").expect("a name")
    }
}

type Reply = Result<ModelReply, CompletionError>;

/// Runs a prompt and gives its outcome and spans.
fn traced(body: &str, replies: impl IntoIterator<Item = Reply>) -> (RunOutcome, Vec<Seen>) {
    let keeper = Keeper::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = {
        let _guard = set_default(Registry::default().with(keeper.clone()));
        runtime.expect("a runtime").block_on(run(body, replies))
    };
    let spans = keeper.0.lock().expect("no panic").clone();
    (outcome, spans)
}

/// The spans as a tree: one line for each, indented below its parent.
fn tree(spans: &[Seen]) -> Vec<String> {
    let depth = |span: &Seen| std::iter::successors(span.parent, |at| spans[*at].parent).count();
    let line = |span: &Seen| format!("{}{}", "  ".repeat(depth(span)), span.name());
    spans.iter().map(line).collect()
}

fn only<'a>(spans: &'a [Seen], name: &str) -> &'a Seen {
    let mut found = spans.iter().filter(|span| span.name() == name);
    let span = found.next().unwrap_or_else(|| panic_without(spans, name));
    assert!(found.next().is_none(), "{name} is there twice");
    span
}

fn panic_without(spans: &[Seen], name: &str) -> ! {
    unreachable!("no span {name} in {:#?}", tree(spans))
}

fn lua(section: &str, lua: &str) -> String {
    format!("## {section}\n{SECRET}\n```lua\n{lua}\n```\n")
}

const LOOP: &str = "models.use('w', { temperature = 0.5, max_tokens = 64 })\ntools.offer('probe/look')\n\
                    messages:user(args)\nmodels.loop()\nstore.write('a.md', args)\nreturn messages[#messages].content";

#[test]
fn rounds_tools_and_store_operations_are_spans_of_their_section() {
    let (outcome, spans) = traced(&lua("Main", LOOP), [Ok(call()), Ok(text(Some(usage(120, 7))))]);
    assert!(matches!(outcome, RunOutcome::Completed { .. }), "{outcome:?}");
    assert_eq!(
        tree(&spans),
        [
            "invoke_workflow traced",
            "  section Main",
            "    chat m1",
            "    execute_tool probe/look",
            "    chat m1",
            "    store write",
        ]
    );
    assert!(spans.iter().all(|span| span.closed), "{spans:#?}");
}

#[test]
fn a_round_carries_the_attributes_of_the_conventions() {
    let (_, spans) = traced(&lua("Main", LOOP), [Ok(call()), Ok(text(Some(usage(120, 7))))]);
    let chats: Vec<&Seen> = spans.iter().filter(|span| span.name() == "chat m1").collect();
    for (attribute, value) in [
        ("otel.kind", "client"),
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "gateway"),
        ("gen_ai.request.model", "m1"),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.request.max_tokens", "64"),
        ("gen_ai.response.finish_reasons", "[\"stop\"]"),
        ("gen_ai.usage.input_tokens", "120"),
        ("gen_ai.usage.output_tokens", "7"),
        ("runvil.round.live", "true"),
    ] {
        assert_eq!(chats[1].get(attribute), Some(value), "{attribute}");
    }
    assert_eq!(chats[1].get("error.type"), None);
    // The server of the first reply counted nothing, and nothing is not zero.
    assert_eq!(chats[0].get("gen_ai.usage.input_tokens"), None);
    assert_eq!(chats[0].get("gen_ai.response.finish_reasons"), Some("[\"tool_calls\"]"));
}

#[test]
fn a_tool_that_fails_is_marked() {
    let (_, spans) = traced(&lua("Main", LOOP), [Ok(call()), Ok(text(None))]);
    let tool = only(&spans, "execute_tool probe/look");
    for (attribute, value) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "probe/look"),
        ("gen_ai.tool.type", "function"),
        ("error.type", "tool_error"),
        ("otel.status_code", "ERROR"),
    ] {
        assert_eq!(tool.get(attribute), Some(value), "{attribute}");
    }
}

#[test]
fn a_failed_round_and_the_run_that_it_fails_tell_the_kind() {
    let error = CompletionError::with_status(CompletionErrorKind::Overloaded, 503);
    let (_, spans) = traced(
        &lua("Main", "models.use('w')\nreturn models.infer(prose)"),
        [Err(error)],
    );
    let chat = only(&spans, "chat m1");
    assert_eq!(chat.get("error.type"), Some("Overloaded"));
    assert_eq!(chat.get("http.response.status_code"), Some("503"));
    assert_eq!(chat.get("runvil.round.live"), Some("false"));
    assert_eq!(only(&spans, "section Main").get("error.type"), Some("failed"));
    let workflow = only(&spans, "invoke_workflow traced");
    assert_eq!(workflow.get("error.type"), Some("Completion"));
    assert_eq!(workflow.get("gen_ai.operation.name"), Some("invoke_workflow"));
    assert_eq!(workflow.get("gen_ai.agent.name"), Some("traced"));
    assert_eq!(workflow.get("runvil.run.name"), Some("session-1"));
    assert!(spans.iter().all(|span| span.closed));
}

#[test]
fn each_arm_of_a_fanout_is_a_task_below_the_section_that_started_it() {
    let body = lua(
        "Main",
        "tasks.fanout('### Worker', { 1, 2 })\nreturn call('### Worker')",
    ) + "### Worker\n```lua\nreturn 'w'\n```\n";
    let (_, spans) = traced(&body, []);
    assert_eq!(
        tree(&spans),
        [
            "invoke_workflow traced",
            "  section Main",
            "    task Worker",
            "      section Worker",
            "    task Worker",
            "      section Worker",
            "    section Worker",
        ]
    );
    assert_eq!(spans[2].get("runvil.task.origin"), Some("author"));
    assert_ne!(spans[2].get("runvil.task.id"), spans[4].get("runvil.task.id"));
    assert!(spans.iter().all(|span| span.get("error.type").is_none()), "{spans:#?}");
}

#[test]
fn a_called_section_that_fails_ends_there_and_what_follows_is_not_in_it() {
    let body = lua(
        "Main",
        "pcall(call, '### Bad')\nstore.exists('a.md')\nreturn call('### Good')",
    ) + "### Bad\n```lua\nerror('no')\n```\n### Good\n```lua\nreturn 'g'\n```\n";
    let (outcome, spans) = traced(&body, []);
    assert!(matches!(outcome, RunOutcome::Completed { .. }), "{outcome:?}");
    assert_eq!(
        tree(&spans),
        [
            "invoke_workflow traced",
            "  section Main",
            "    section Bad",
            "    store exists",
            "    section Good",
        ]
    );
    assert_eq!(only(&spans, "section Bad").get("error.type"), Some("failed"));
    assert_eq!(only(&spans, "section Good").get("error.type"), None);
}

#[test]
fn no_span_holds_anything_of_prose_arguments_replies_or_files() {
    let (_, spans) = traced(&lua("Main", LOOP), [Ok(call()), Ok(text(Some(usage(1, 1))))]);
    let fields = spans.iter().flat_map(|span| span.fields.values());
    for value in fields {
        assert!(!value.contains(SECRET), "{value}");
    }
}
