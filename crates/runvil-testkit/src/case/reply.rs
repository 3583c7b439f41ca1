//! The model's scripted replies.

use serde::Deserialize;
use serde_json::Value;

use super::decode::only_true;

/// One entry of `host.replies`: what answers one model round.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplySpec {
    /// The round that the entry is for; without it, the next one in request order.
    pub when: Option<When>,
    /// The reply text.
    pub text: Option<String>,
    /// The calls that the model makes.
    pub tool_calls: Vec<ReplyCallSpec>,
    /// The finish reason; `stop` for text and `tool_calls` for calls when left out.
    pub finish_reason: Option<String>,
    /// Reasoning text.
    pub reasoning: Option<String>,
    /// The model name that the reply carries.
    pub model: Option<String>,
    /// The name of the model that the Host really sent the request to.
    pub sent_to: Option<String>,
    /// The reported token counts.
    pub usage: Option<UsageSpec>,
    /// An HTTP status that the backend answers with instead.
    pub status: Option<u16>,
    /// The body of that answer.
    pub body: Option<String>,
    /// A failure instead of an answer.
    pub fails: Option<ReplyFailure>,
    /// The stream's bytes as the backend sends them, in place of all of the above.
    pub raw: Option<String>,
    /// The backend never answers.
    #[serde(deserialize_with = "only_true")]
    pub hangs: bool,
    /// The backend answers only once nothing else but a timer can be answered.
    #[serde(deserialize_with = "only_true")]
    pub late: bool,
}

/// Which round an entry is for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// A text that some message of the request contains.
    pub contains: String,
}

/// One call of a scripted reply.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyCallSpec {
    /// The call id.
    pub id: String,
    /// The name as the model calls it.
    pub name: String,
    /// What the call passes.
    #[serde(default)]
    pub arguments: Arguments,
}

/// The arguments of a scripted call: JSON, or a string that holds the raw argument text.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Arguments(Value);

impl Default for Arguments {
    fn default() -> Self {
        Self(Value::Object(serde_json::Map::new()))
    }
}

impl Arguments {
    /// The argument text as the model sends it.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.0 {
            Value::String(raw) => raw.clone(),
            other => other.to_string(),
        }
    }
}

/// The token counts of a scripted reply.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UsageSpec {
    /// Tokens of the request.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the reply.
    pub completion_tokens: Option<u64>,
    /// The part of the reply's tokens that was reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// How a scripted round fails below HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyFailure {
    /// The connection fails.
    Transport,
    /// The receive timeout passes.
    Timeout,
    /// The reply cannot be understood.
    Malformed,
}

impl ReplySpec {
    /// Checks that the entry answers in exactly one way.
    ///
    /// # Errors
    /// Says which keys are missing or exclude each other.
    pub fn validate(&self) -> Result<(), String> {
        let reply = self.text.is_some()
            || !self.tool_calls.is_empty()
            || self.reasoning.is_some()
            || self.finish_reason.is_some();
        let ways = [
            reply,
            self.status.is_some(),
            self.fails.is_some(),
            self.raw.is_some(),
            self.hangs,
        ];
        match ways.into_iter().filter(|way| *way).count() {
            1 => {}
            0 => {
                return Err("a reply has none of `text`, `tool_calls`, `status`, `fails`, \
                            `raw`, `hangs`"
                    .to_owned());
            }
            _ => {
                return Err("a reply answers in two ways: `text` or `tool_calls`, `status`, \
                            `fails`, `raw`, `hangs` exclude each other"
                    .to_owned());
            }
        }
        if self.body.is_some() && self.status.is_none() {
            return Err("a reply has a `body` without a `status`".to_owned());
        }
        if !reply && (self.usage.is_some() || self.model.is_some()) {
            return Err("`usage` and `model` belong to a reply with `text` or `tool_calls`".to_owned());
        }
        Ok(())
    }
}
