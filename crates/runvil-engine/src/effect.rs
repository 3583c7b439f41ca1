//! What a run asks of the Harness, and what it is answered (book: Effects and Harness work).

use runvil_vfs::{Identity, StoreFailure, StoreOp, StoreReply};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{ChainId, CompletionError, EffectId, ModelId, RoundId, wire::ChatRequest};

/// The version of the effect, answer and event data. A change that old data cannot be read under raises it.
pub const FORMAT_VERSION: u32 = 1;

/// One piece of Harness work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The id that its answer names.
    pub id: EffectId,
    /// The task on whose behalf it is made.
    pub task: ChainId,
    /// The section that asks for it.
    pub section: String,
    /// The work itself.
    pub kind: EffectKind,
}

/// The four kinds of Harness work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum EffectKind {
    /// One request to a model.
    ModelRound(ModelRound),
    /// One call of a Pack's tool.
    ToolCall(ToolCall),
    /// One store operation.
    Store(StoreCall),
    /// A sleep, after which the timer is answered.
    Timer {
        /// The duration in milliseconds.
        millis: u64,
    },
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRound {
    /// The round's id.
    pub round: RoundId,
    /// The full id of the model to ask.
    pub model: ModelId,
    /// Whether its text may appear in live output as it is written: a loop round's does, an infer round's never.
    pub live: bool,
    /// The request as it leaves the machine.
    pub request: ChatRequest,
    /// Whether the answer carries the raw bodies.
    pub debug: bool,
}

/// One call of a Pack's tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The canonical tool id, such as `web/fetch`.
    pub tool: String,
    /// A JSON object.
    pub arguments: Value,
    /// Whether the call keeps waiting through a stop.
    pub survives_stop: bool,
    /// The call's own identity, forked from its chain's, for the tool's file access. `None` in a run without a store.
    pub identity: Option<Identity>,
}

/// One store operation under a chain's identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreCall {
    /// Who asks, for the table of claims.
    pub identity: Identity,
    /// What is asked.
    pub op: StoreOp,
}

/// The answer to an effect. Its kind must be the effect's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// A model round's reply or failure.
    Model(Box<Outcome<ModelReply, CompletionError>>),
    /// A tool call's output or failure.
    Tool(Outcome<ToolOutput, ToolFailure>),
    /// A store operation's reply or failure.
    Store(Outcome<StoreReply, StoreFailure>),
    /// The timer fired.
    Timer,
    /// The work was given up: because the run dropped it, or because the Host stopped it.
    Dropped,
}

/// A result that reads well as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome<T, E> {
    /// It worked.
    Ok(T),
    /// It failed.
    Err(E),
}

impl<T, E> From<Result<T, E>> for Outcome<T, E> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(value) => Self::Ok(value),
            Err(error) => Self::Err(error),
        }
    }
}

impl<T, E> From<Outcome<T, E>> for Result<T, E> {
    fn from(outcome: Outcome<T, E>) -> Self {
        match outcome {
            Outcome::Ok(value) => Ok(value),
            Outcome::Err(error) => Err(error),
        }
    }
}

/// A served model round, as the backend decoded it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelReply {
    /// The reply text; empty when the model only called tools.
    pub text: String,
    /// The calls, in the model's order.
    pub tool_calls: Vec<ReplyCall>,
    /// The provider's finish reason, as sent.
    pub finish_reason: Option<String>,
    /// Reasoning text, never part of the reply.
    pub reasoning: Option<String>,
    /// Token counts, as far as the provider reported them.
    pub usage: Option<Usage>,
    /// Whatever metrics the provider reported, unchanged.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metrics: Option<Value>,
    /// One message for each problem in the reply's metadata.
    pub metadata_problems: Vec<String>,
    /// The name of the model that the request was really sent to, where the Host substituted one.
    pub sent_to: Option<String>,
    /// The raw bodies, in debug mode.
    pub raw: Option<RawExchange>,
}

/// One tool call of a reply, not yet judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyCall {
    /// The call id that the model assigned.
    pub id: String,
    /// The wire name.
    pub name: String,
    /// The argument text as sent.
    pub arguments: String,
}

/// Token counts of one round. What a server did not report is unknown, not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the request.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the reply, reasoning included.
    pub completion_tokens: Option<u64>,
    /// The part of the reply's tokens that was reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// The raw bodies of one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawExchange {
    /// The request body.
    pub request: Value,
    /// The response body.
    pub response: Value,
}

/// What a tool returned: plain text, or the JSON text of a structured tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The text.
    pub text: String,
    /// Whether it may reach a model without the untrusted envelope.
    pub trusted: bool,
}

/// A tool's own failure, written so that a model may read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFailure {
    /// The model-safe message. A deeper cause stays with the Host.
    pub message: String,
}

/// Reads a value that is there, so that a JSON null stays one: without this, it would read back as no value.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
