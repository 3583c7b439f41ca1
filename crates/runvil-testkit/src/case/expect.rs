//! What must come out of a case.

use std::collections::BTreeMap;

use regex::Regex;
use runvil_engine::{RunErrorKind, wire::Role};
use runvil_syntax::{FenceRule, ParseErrorKind};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::decode::{TextOrMap, text_or_map, written};
use crate::event_kinds;

/// The `expect` map of a case. Only the keys that are written are checked; the outcome always is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    outcome: Option<OutcomeWant>,
    /// The exact run result.
    pub result: Option<String>,
    /// Texts in the run result.
    pub result_contains: Vec<String>,
    /// A regular expression for the whole run result.
    pub result_matches: Option<String>,
    /// What parsing gives.
    pub parse: Option<ParseWant>,
    /// The run error.
    pub error: Option<ErrorWant>,
    /// Files after the run: exact text, or `None` for no such file.
    pub store: BTreeMap<String, Option<String>>,
    /// The declared output file's text as the run's report carries it.
    #[serde(deserialize_with = "written")]
    pub output: Option<Option<String>>,
    /// The model requests in order.
    pub requests: Option<Vec<RequestWant>>,
    /// How many model requests were sent.
    pub request_count: Option<usize>,
    /// The Pack tool calls that were performed, in order.
    pub tool_calls: Option<Vec<ToolCallWant>>,
    /// How many pieces of Harness work the run issued.
    pub effects: Option<usize>,
    /// Every log checkpoint in order, as section and message.
    pub logs: Option<Vec<(String, String)>>,
    /// The whole event sequence.
    pub events: Option<Vec<EventWant>>,
    /// An ordered subsequence of the events.
    pub events_include: Vec<EventWant>,
    /// Event kinds that must not occur.
    pub events_exclude: Vec<String>,
    /// How often event kinds occur.
    pub event_counts: BTreeMap<String, usize>,
    /// How the frontmatter reads back, each key as JSON.
    pub frontmatter: Map<String, Value>,
}

/// The three run outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeWant {
    /// The run completes.
    Completed,
    /// The run fails.
    Failed,
    /// The run is cancelled.
    Cancelled,
}

impl OutcomeWant {
    /// The outcome's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Expect {
    /// The outcome that the run must have, or `None` where only the parse is looked at.
    #[must_use]
    pub fn outcome(&self) -> Option<OutcomeWant> {
        let implied = match (&self.parse, &self.error) {
            (Some(ParseWant::Succeeds), _) => None,
            (Some(ParseWant::Fails(_)), _) | (_, Some(_)) => Some(OutcomeWant::Failed),
            _ => Some(OutcomeWant::Completed),
        };
        self.outcome.or(implied)
    }

    /// Whether the parse itself is looked at, beside the run.
    #[must_use]
    pub fn looks_at_the_parse(&self) -> bool {
        self.parse.is_some() || !self.frontmatter.is_empty()
    }

    /// Checks what serde cannot: that the expectation can be met at all.
    ///
    /// # Errors
    /// Names the key that cannot be meant.
    pub fn validate(&self) -> Result<(), String> {
        self.result_regex()?;
        let kinds = self.events_exclude.iter().chain(self.event_counts.keys());
        let wants = self.events.iter().flatten().chain(&self.events_include);
        for kind in kinds.map(String::as_str).chain(wants.filter_map(EventWant::kind)) {
            event_kinds::check(kind)?;
        }
        Ok(())
    }

    /// The pattern for the whole result.
    ///
    /// # Errors
    /// The pattern is no regular expression.
    pub fn result_regex(&self) -> Result<Option<Regex>, String> {
        let whole = |pattern: &String| {
            Regex::new(&format!(r"\A(?:{pattern})\z"))
                .map_err(|error| format!("`result_matches` is no regular expression: {error}"))
        };
        self.result_matches.as_ref().map(whole).transpose()
    }
}

/// What parsing must give.
#[derive(Debug, Clone)]
pub enum ParseWant {
    /// The file parses; the run is not looked at.
    Succeeds,
    /// The file fails to parse.
    Fails(Box<ParseProblemWant>),
}

impl<'de> TextOrMap<'de> for ParseWant {
    type Map = ParseProblemWant;
    const EXPECTED: &'static str = "`ok` or a parse error";

    fn from_text(text: &str) -> Option<Self> {
        (text == "ok").then_some(Self::Succeeds)
    }

    fn from_map(map: ParseProblemWant) -> Result<Self, String> {
        Ok(Self::Fails(Box::new(map)))
    }
}

impl<'de> Deserialize<'de> for ParseWant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_map(deserializer)
    }
}

/// The parse error that must come. A `null` position or name means that the error reports none.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParseProblemWant {
    /// The parse error kind.
    pub kind: ParseErrorKind,
    /// The fence rule that is broken.
    #[serde(default)]
    pub fence_rule: Option<FenceRule>,
    /// The exact message.
    #[serde(default)]
    pub message: Option<String>,
    /// Texts in the message.
    #[serde(default)]
    pub contains: Vec<String>,
    /// Texts not in the message.
    #[serde(default, deserialize_with = "one_or_many")]
    pub not_contains: Vec<String>,
    /// The line in the file.
    #[serde(default, deserialize_with = "written")]
    pub line: Option<Option<u32>>,
    /// The column.
    #[serde(default, deserialize_with = "written")]
    pub column: Option<Option<u32>>,
    /// The prompt's name.
    #[serde(default, deserialize_with = "written")]
    pub name: Option<Option<String>>,
    /// The byte span in the body, as start and end.
    #[serde(default, deserialize_with = "written")]
    pub span: Option<Option<(usize, usize)>>,
}

/// The run error that must come.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorWant {
    /// The run error kind.
    #[serde(default)]
    pub kind: Option<RunErrorKind>,
    /// The exact message.
    #[serde(default)]
    pub message: Option<String>,
    /// Texts in the message.
    #[serde(default)]
    pub contains: Vec<String>,
    /// Texts not in the message.
    #[serde(default, deserialize_with = "one_or_many")]
    pub not_contains: Vec<String>,
    /// The retryable flag.
    #[serde(default)]
    pub retryable: Option<bool>,
    /// The place; `null` for none.
    #[serde(default, deserialize_with = "written")]
    pub location: Option<Option<LocationWant>>,
}

/// The place that a run error must point at.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocationWant {
    /// The prompt's name or `<prompt>`.
    #[serde(default)]
    pub path: Option<String>,
    /// The line in the file.
    #[serde(default, deserialize_with = "written")]
    pub line: Option<Option<u32>>,
    /// The column.
    #[serde(default, deserialize_with = "written")]
    pub column: Option<Option<u32>>,
    /// The byte span in the body.
    #[serde(default, deserialize_with = "written")]
    pub span: Option<Option<(usize, usize)>>,
}

/// One model request that must have been sent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RequestWant {
    /// The model name.
    pub model: Option<String>,
    /// The exact messages.
    pub messages: Option<Value>,
    /// Texts, each in some message.
    pub contains: Vec<String>,
    /// Texts in no message.
    #[serde(deserialize_with = "one_or_many")]
    pub not_contains: Vec<String>,
    /// The wire names of the tools, in order.
    pub tools: Option<Vec<String>>,
    /// The tools as sent: each map's keys are compared with the tool's function.
    pub tool_schemas: Option<Vec<Map<String, Value>>>,
    /// The roles of the messages, in order.
    pub roles: Option<Vec<Role>>,
    /// The temperature; `null` for not sent.
    #[serde(deserialize_with = "written")]
    pub temperature: Option<Option<f64>>,
    /// The token limit; `null` for not sent.
    #[serde(deserialize_with = "written")]
    pub max_tokens: Option<Option<u32>>,
    /// The thinking switch; `null` for not sent.
    #[serde(deserialize_with = "written")]
    pub thinking: Option<Option<bool>>,
}

/// One Pack tool call that must have been performed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCallWant {
    /// The tool id.
    pub tool: String,
    /// The arguments; not compared if left out.
    #[serde(default)]
    pub arguments: Option<Value>,
}

/// One event: `[kind, section]`, or a map of event fields.
#[derive(Debug, Clone)]
pub enum EventWant {
    /// Kind and section.
    Named(String, String),
    /// Fields by name.
    Fields(Map<String, Value>),
}

impl EventWant {
    /// The kind, if it is stated.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        match self {
            Self::Named(kind, _) => Some(kind),
            Self::Fields(fields) => fields.get("kind").and_then(Value::as_str),
        }
    }
}

impl<'de> Deserialize<'de> for EventWant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        match Value::deserialize(deserializer)? {
            Value::Object(fields) => Ok(Self::Fields(fields)),
            Value::Array(pair) => match <[Value; 2]>::try_from(pair) {
                Ok([Value::String(kind), Value::String(section)]) => Ok(Self::Named(kind, section)),
                _ => Err(D::Error::custom("an event list is `[kind, section]`")),
            },
            _ => Err(D::Error::custom(
                "an event is `[kind, section]` or a map of event fields",
            )),
        }
    }
}

/// A list of texts, or one text alone.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }

    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    })
}
