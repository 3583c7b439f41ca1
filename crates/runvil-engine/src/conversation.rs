//! Conversations: the message list, its rules, the composition of a request, and the rounds (book: Conversations).

use runvil_lua::mlua::UserData;
use serde_json::{Map, Value};

use crate::{ChainId, CompletionError, ModelReply, request::Asked, run::Run};

/// A section's conversation.
#[derive(Default)]
pub(crate) struct Conversation {}

/// The tool calls of one loop round, as the Lua that runs them hands them on.
pub(crate) struct RoundCalls {
    /// The round's number, which the events of its calls carry.
    pub(crate) turn: u32,
    /// The calls in the model's order. Each name is one that the round advertised.
    pub(crate) calls: Vec<RoundCall>,
}

/// One tool call of a loop round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoundCall {
    /// The call id that the model assigned, unique within the round.
    pub(crate) id: String,
    /// The name that the model called.
    pub(crate) name: String,
    /// The decoded arguments.
    pub(crate) arguments: Map<String, Value>,
}

/// Natives of the tools module borrow it from Lua.
impl UserData for RoundCalls {}

/// A model round that a block asks for.
pub(crate) enum RoundRequest {}

/// A model round that is out.
pub(crate) struct PendingRound {}

impl Run {
    pub(crate) fn start_round(&mut self, _id: &ChainId, request: RoundRequest) -> Asked {
        match request {}
    }

    /// A round was answered, or dropped where there is no reply.
    pub(crate) fn round_answered(
        &mut self,
        _id: &ChainId,
        _round: PendingRound,
        _reply: Option<Result<ModelReply, CompletionError>>,
    ) {
    }
}
