//! `json.encode` and `json.encode_lines`.

use mlua::{Lua, LuaString, Value};

use super::budget::Budget;
use super::convert::{interrupted, out_of_memory, type_name};
use super::sink::TextSink;
use super::walk::{Mode, Stop, Walk};
use crate::failure::Failure;
use crate::lazy;
use crate::order::SortKey;
use crate::raw::{self, Reader, Shared, Slot};

/// What paths call the encoded value.
const ROOT: &str = "value";

pub(super) fn encode(lua: &Lua, value: &Value, options: &Value) -> mlua::Result<LuaString> {
    let call = Call::new(lua, "json.encode", options)?;
    let written = raw::read(lua, value, |reader, slot| {
        let mut walk = call.walk(reader);
        walk.value(slot).map(|()| walk.into_sink().out)
    })?;
    lua.create_string(written.map_err(|stop| call.error(stop))?)
}

pub(super) fn encode_lines(lua: &Lua, list: &Value, options: &Value) -> mlua::Result<LuaString> {
    let call = Call::new(lua, "json.encode_lines", options)?;
    if !list.is_table() {
        let found = type_name(list);
        return Err(call.refusal(&format!(" expects a list, got {found}")));
    }
    let written = raw::read(lua, list, |reader, slot| call.write_lines(reader, slot))?;
    match written.map_err(|stop| call.error(stop))? {
        Ok(text) => lua.create_string(text),
        Err(key) => Err(call.refusal(&format!(" expects a list, got a table with a {key} key"))),
    }
}

/// One call of one of the two functions.
struct Call {
    function: &'static str,
    mode: Mode,
    memory_bytes: usize,
    budget: Budget,
}

impl Call {
    fn new(lua: &Lua, function: &'static str, options: &Value) -> mlua::Result<Self> {
        let shared = Shared::of(lua);
        let mut call = Self {
            function,
            mode: Mode::Strict,
            memory_bytes: shared.memory_bytes,
            budget: Budget::new(shared.memory_bytes, shared.cancel.clone()),
        };
        if call.read_options(options)? {
            call.mode = Mode::Debug;
            lazy::materialize_all(lua)?;
        }
        Ok(call)
    }

    /// Whether the options ask for a dump.
    fn read_options(&self, options: &Value) -> mlua::Result<bool> {
        let table = match options {
            Value::Nil => return Ok(false),
            Value::Table(table) => table,
            other => {
                let found = type_name(other);
                return Err(self.refusal(&format!(": options must be a table, got {found}")));
            }
        };
        let mut unknown = Vec::new();
        let mut debug = Value::Nil;
        for pair in table.pairs::<Value, Value>() {
            match pair? {
                (Value::String(key), value) if key == "debug" => debug = value,
                (key, _) => unknown.push(key),
            }
        }
        if let Some(key) = first_in_order(&unknown) {
            return Err(self.refusal(&format!(": unknown option {key}")));
        }
        match debug {
            Value::Nil => Ok(false),
            Value::Boolean(debug) => Ok(debug),
            other => {
                let found = type_name(&other);
                Err(self.refusal(&format!(": option debug must be a boolean, got {found}")))
            }
        }
    }

    fn walk<'a>(&self, reader: &'a Reader<'a>) -> Walk<'a, TextSink> {
        let sink = TextSink::new(self.memory_bytes.saturating_mul(2));
        Walk::new(reader, ROOT, self.mode, self.budget.clone(), sink)
    }

    fn write_lines(&self, reader: &Reader<'_>, list: Slot) -> Result<Result<Vec<u8>, &'static str>, Stop> {
        let mut walk = self.walk(reader);
        let written = walk.items(list, |sink| sink.out.push(b'\n'))?;
        Ok(written.map(|()| walk.into_sink().out))
    }

    fn refusal(&self, rest: &str) -> mlua::Error {
        Failure::lua(format!("{}{rest}", self.function)).into()
    }

    fn error(&self, stop: Stop) -> mlua::Error {
        match stop {
            Stop::NotJson(problem) => self.refusal(&format!(": {problem}")),
            Stop::TooLarge => self.refusal(": value is too large to encode"),
            Stop::OutOfMemory => out_of_memory(),
            Stop::Interrupted => interrupted(),
        }
    }
}

/// The first of the keys in the fixed order, as messages name it: a string or an integer as itself, any other by
/// its type.
fn first_in_order(keys: &[Value]) -> Option<String> {
    let texts: Vec<Vec<u8>> = keys.iter().map(key_text).collect();
    let ordered = keys.iter().zip(&texts).map(|(key, text)| match key {
        Value::Boolean(value) => SortKey::boolean(*value, 0),
        Value::Integer(value) => SortKey::integer(*value, 0),
        Value::Number(value) => SortKey::float(*value, false, 0),
        Value::String(_) => SortKey::text(text, false, 0),
        _ => SortKey::other(0),
    });
    let first = ordered.zip(&texts).min()?;
    Some(String::from_utf8_lossy(first.1).into_owned())
}

fn key_text(key: &Value) -> Vec<u8> {
    match key {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Integer(number) => number.to_string().into_bytes(),
        other => type_name(other).as_bytes().to_vec(),
    }
}
