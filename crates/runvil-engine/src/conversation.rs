//! Conversations: the message list, its rules, the composition of a request, and the rounds (book: Conversations).

use crate::{ChainId, CompletionError, ModelReply, request::Asked, run::Run};

/// A section's conversation.
#[derive(Default)]
pub(crate) struct Conversation {}

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
