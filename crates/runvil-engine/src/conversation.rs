//! Conversations: the message list, its rules, the composition of a request, and the rounds (book: Conversations).

mod anchor;
mod answer;
mod check;
mod compose;
mod estimate;
mod list;
mod record;
mod report;
mod round;
mod rules;
mod running;

use std::fmt;

use runvil_lua::mlua::UserData;

use anchor::{Measured, Snapshot};
pub(crate) use check::RecordFault;
pub(crate) use list::{Conversation, ReplaceFault};
pub(crate) use record::{Field, Record, RoundCall};
pub(crate) use round::{PendingRound, RoundRequest};

/// What is wrong with one record of a list, by its 1-based position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("messages[{position}] {fault}")]
pub(crate) struct At<F: fmt::Display> {
    pub(crate) position: usize,
    pub(crate) fault: F,
}

impl<F: fmt::Display> At<F> {
    pub(crate) fn new(position: usize, fault: F) -> Self {
        Self { position, fault }
    }
}

impl<F: fmt::Display> From<At<F>> for crate::Failure {
    fn from(error: At<F>) -> Self {
        Self::lua(error.to_string())
    }
}

/// The tool calls of one loop round, as the Lua that runs them hands them on.
pub(crate) struct RoundCalls {
    /// The round's number, which the events of its calls carry.
    pub(crate) turn: u32,
    /// The calls in the model's order. Each name is one that the round advertised.
    pub(crate) calls: Vec<RoundCall>,
}

/// Natives of the tools module borrow it from Lua.
impl UserData for RoundCalls {}
