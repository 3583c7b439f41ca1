//! `compactors` and `models.compact` (book: Compactors and context exhaustion).

use std::sync::Arc;

use runvil_lua::mlua::{self, Function, Lua, MultiValue, Table, UserDataRef, Value};

use super::{
    check::{plain_type_name, string},
    models::native,
};
use crate::{Failure, conversation::RoundCalls, section::SectionContext};

/// Why a compaction is refused at its call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CompactFault {
    #[error("models.compact takes (compactor, reason)")]
    Count,
    #[error("compactor must be a function, got {0}")]
    Compactor(&'static str),
    #[error("models.compact cannot start while a loop or a compactor is running in this section")]
    Busy,
    #[error(
        "compactors.clear works only inside a compactor; empty messages with models.compact(compactors.clear, reason)"
    )]
    NoCompactor,
}

impl From<CompactFault> for Failure {
    fn from(fault: CompactFault) -> Self {
        Self::lua(fault.to_string())
    }
}

/// `open_compaction`, `begin`, `settle`, `record`, `fail` and `clear`.
pub(super) fn natives(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<[Function; 6]> {
    Ok([
        native(lua, context, |_, context, arguments| Ok(open(context, &arguments)?))?,
        native(lua, context, |_, context, ()| {
            context.state().conversation.begin_compaction();
            Ok(())
        })?,
        native(lua, context, |_, context, returned| {
            Ok(context.state().conversation.end_compaction(returned)?)
        })?,
        native(lua, context, |_, context, (round, results)| {
            record(context, &round, &results)
        })?,
        lua.create_function(|_, reason: Value| Ok(fail(&reason)?))?,
        native(lua, context, |_, context, _: MultiValue| Ok(clear(context)?))?,
    ])
}

/// Checks `models.compact(compactor, reason)`.
fn open(context: &SectionContext, arguments: &MultiValue) -> Result<(), Failure> {
    if arguments.len() > 2 {
        return Err(CompactFault::Count.into());
    }
    require_function(arguments.front())?;
    string("reason", arguments.get(1))?;
    if context.state().conversation.is_busy() {
        return Err(CompactFault::Busy.into());
    }
    Ok(())
}

/// A compactor is a function.
pub(super) fn require_function(compactor: Option<&Value>) -> Result<(), CompactFault> {
    match compactor {
        Some(Value::Function(_)) => Ok(()),
        other => Err(CompactFault::Compactor(other.map_or("nil", plain_type_name))),
    }
}

/// `compactors.fail`: never compacts.
fn fail(reason: &Value) -> Result<(), Failure> {
    let reason = string("reason", Some(reason))?;
    Err(Failure::ContextExhausted { reason })
}

/// `compactors.clear`: empties the list.
fn clear(context: &SectionContext) -> Result<(), Failure> {
    let conversation = &mut context.state().conversation;
    if !conversation.is_compacting() {
        return Err(CompactFault::NoCompactor.into());
    }
    conversation.clear();
    Ok(())
}

/// Appends a tool round whose calls were all answered.
fn record(context: &SectionContext, round: &UserDataRef<RoundCalls>, results: &Table) -> mlua::Result<()> {
    let results = results.sequence_values::<String>().collect::<mlua::Result<Vec<_>>>()?;
    let cap = context.run.round_cap();
    let conversation = &mut context.state().conversation;
    Ok(conversation.record_calls(round, results, cap)?)
}
