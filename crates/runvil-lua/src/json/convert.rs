//! Lua values from and to JSON trees, for the driver.

use mlua::{Lua, Value};

use super::budget::Budget;
use super::problem::{MAX_DATA_LEVELS, NotJson};
use super::sink::{NoSink, TapeSink, TreeSink};
use super::tape::Tape;
use super::walk::{Mode, Stop, Walk};
use crate::raw::{self, Shared};

/// What a JSON null becomes in Lua.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// `json.null`.
    Kept,
    /// Nil: no field at all.
    Dropped,
}

/// Why a Lua value has no JSON tree.
#[derive(Debug, thiserror::Error)]
pub enum ToJsonError {
    /// It is not JSON data.
    #[error(transparent)]
    NotJson(#[from] NotJson),
    /// The walk over it spent its budget, as one over a table shared at many levels does.
    #[error("too large to convert")]
    TooLarge,
    /// Lua failed: no memory, or the run was cancelled.
    #[error(transparent)]
    Lua(#[from] mlua::Error),
}

/// Builds a Lua value. Lists carry the list marker, objects are plain tables.
///
/// # Errors
///
/// A Lua memory error.
pub fn from_json(lua: &Lua, value: &serde_json::Value, nulls: Nulls) -> mlua::Result<Value> {
    let mut tape = Tape::default();
    tape.push_value(value);
    raw::build(lua, &tape, nulls)
}

/// Reads a Lua value as a JSON tree by the rules of `json.encode`: list markers are honored, sealed views are read
/// through, floats stay floats. `root` is what paths call the value.
///
/// # Errors
///
/// [`ToJsonError`], which names where a value sits that is not JSON data.
pub fn to_json(lua: &Lua, value: &Value, root: &str) -> Result<serde_json::Value, ToJsonError> {
    to_json_within(lua, value, root, MAX_DATA_LEVELS)
}

/// As [`to_json`], with another nesting limit.
pub(crate) fn to_json_within(
    lua: &Lua,
    value: &Value,
    root: &str,
    max_levels: usize,
) -> Result<serde_json::Value, ToJsonError> {
    let budget = budget(lua);
    let walked = raw::read(lua, value, |reader, slot| {
        // A tree takes far more room than the tables that it comes from, so a value that is refused must not have
        // grown one first.
        let mut check = Walk::new(reader, root, Mode::Strict, budget.clone(), NoSink);
        check.set_levels(0, max_levels);
        check.value(slot)?;
        let mut walk = Walk::new(reader, root, Mode::Strict, budget, TreeSink::default());
        walk.set_levels(0, max_levels);
        walk.value(slot).map(|()| walk.into_sink().finish())
    })?;
    walked.map_err(ToJsonError::from)
}

/// Reads a Lua value that goes into a table `level` levels down.
pub(crate) fn to_tape(lua: &Lua, value: &Value, root: &str, level: usize) -> Result<Tape, ToJsonError> {
    let budget = budget(lua);
    let walked = raw::read(lua, value, |reader, slot| {
        let mut walk = Walk::new(reader, root, Mode::Strict, budget, TapeSink::default());
        walk.set_levels(level, MAX_DATA_LEVELS);
        walk.value(slot).map(|()| walk.into_sink().tape)
    })?;
    walked.map_err(ToJsonError::from)
}

fn budget(lua: &Lua) -> Budget {
    let shared = Shared::of(lua);
    Budget::new(shared.memory_bytes, shared.cancel.clone()).without_key_bound()
}

impl From<Stop> for ToJsonError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::NotJson(problem) => Self::NotJson(problem),
            Stop::TooLarge => Self::TooLarge,
            Stop::OutOfMemory => Self::Lua(out_of_memory()),
            Stop::Interrupted => Self::Lua(interrupted()),
        }
    }
}

/// Lua's own error for an allocation that was refused, for what is built outside of its heap.
#[must_use]
pub fn out_of_memory() -> mlua::Error {
    mlua::Error::MemoryError("not enough memory".to_owned())
}

/// Ends a Rust function of a run that was cancelled; nobody reads the text.
pub(super) fn interrupted() -> mlua::Error {
    mlua::Error::runtime("interrupted")
}

/// The name that messages give a value's type: integers read `integer`, floats `number`, and light userdata, such as
/// `json.null`, `lightuserdata` (book: When `json.encode` refuses a value).
#[must_use]
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "integer",
        Value::Number(_) => "number",
        Value::LightUserData(_) => "lightuserdata",
        Value::Error(_) => "userdata",
        other => other.type_name(),
    }
}
