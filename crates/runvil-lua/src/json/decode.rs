//! `json.decode` and `json.decode_lines`.

use mlua::{Lua, Value};
use serde::de::DeserializeSeed;
use serde_json::Deserializer;

use super::convert::{Nulls, type_name};
use super::tape::{Document, Node, Onto, Tape};
use crate::failure::Failure;
use crate::raw;

/// The longest text that is parsed, in bytes.
const MAX_BYTES: usize = 8_388_608;

pub(super) fn decode(lua: &Lua, text: &Value) -> mlua::Result<Value> {
    build(lua, "json.decode", text, |text| {
        let mut tape = Tape::default();
        let mut parser = Deserializer::from_slice(text);
        Onto(&mut tape).deserialize(&mut parser)?;
        parser.end()?;
        Ok(tape)
    })
}

pub(super) fn decode_lines(lua: &Lua, text: &Value) -> mlua::Result<Value> {
    build(lua, "json.decode_lines", text, |text| {
        let mut tape = Tape::default();
        tape.nodes.push(Node::List(0));
        let mut count = 0;
        for document in Deserializer::from_slice(text).into_iter() {
            let Document(value) = document?;
            tape.append(&value);
            count += 1;
        }
        tape.nodes[0] = Node::List(count);
        Ok(tape)
    })
}

fn build(
    lua: &Lua,
    function: &str,
    text: &Value,
    parse: impl FnOnce(&[u8]) -> serde_json::Result<Tape>,
) -> mlua::Result<Value> {
    let Value::String(text) = text else {
        let found = type_name(text);
        return Err(Failure::lua(format!("{function} expects a string, got {found}")).into());
    };
    let text = text.as_bytes();
    if text.len() > MAX_BYTES {
        return Err(Failure::lua(format!("{function}: input exceeds the {MAX_BYTES}-byte limit")).into());
    }
    let tape = parse(&text).map_err(|error| Failure::lua(format!("{function}: {error}")))?;
    raw::build(lua, &tape, Nulls::Kept)
}
