//! What a case's run did, as far as an expectation can look at it.

use std::collections::BTreeMap;

use runvil_engine::{Event, EventKind, RunOutcome, wire::ChatRequest};
use runvil_syntax::ParseError;
use serde_json::{Map, Value};

/// Everything that came out of one run.
#[derive(Debug)]
pub(crate) struct Observed {
    /// Why the file does not parse.
    pub(crate) parse_error: Option<ParseError>,
    /// The frontmatter as data; empty where the file does not parse.
    pub(crate) frontmatter: Map<String, Value>,
    /// How the run ended.
    pub(crate) outcome: RunOutcome,
    /// Every event, the parse events first.
    pub(crate) events: Vec<Event>,
    /// The model requests, in order.
    pub(crate) requests: Vec<ChatRequest>,
    /// The Pack tool calls as tool id and arguments, in order.
    pub(crate) tool_calls: Vec<(String, Value)>,
    /// How many pieces of Harness work the run issued.
    pub(crate) effects: usize,
    /// The files of the store after the run; what is no UTF-8 shows replacement characters. Empty where there is no store.
    pub(crate) files: BTreeMap<String, String>,
    /// The declared output file's text as the run's report carries it.
    pub(crate) output: Option<String>,
}

impl Observed {
    /// The log checkpoints in order, each as section and message.
    pub(crate) fn logs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Lua { message } => Some((event.section.as_str(), message.as_str())),
            _ => None,
        })
    }
}
