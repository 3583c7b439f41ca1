//! The `json` global.

use mlua::{Lua, MultiValue, Value};

use super::convert::type_name;
use super::decode::{decode, decode_lines};
use super::encode::{encode, encode_lines};
use crate::failure::Failure;
use crate::raw;

/// Makes the library's table.
pub(crate) fn library(lua: &Lua) -> mlua::Result<MultiValue> {
    let json = lua.create_table_with_capacity(0, 6)?;
    json.raw_set("null", Value::NULL)?;
    json.raw_set("array", lua.create_function(|lua, value: Value| array(lua, value))?)?;
    json.raw_set("decode", lua.create_function(|lua, text: Value| decode(lua, &text))?)?;
    json.raw_set(
        "decode_lines",
        lua.create_function(|lua, text: Value| decode_lines(lua, &text))?,
    )?;
    json.raw_set(
        "encode",
        lua.create_function(|lua, (value, options): (Value, Value)| encode(lua, &value, &options))?,
    )?;
    json.raw_set(
        "encode_lines",
        lua.create_function(|lua, (list, options): (Value, Value)| encode_lines(lua, &list, &options))?,
    )?;
    Ok(MultiValue::from_iter([Value::Table(json)]))
}

fn array(lua: &Lua, value: Value) -> mlua::Result<Value> {
    let table = match value {
        Value::Nil => lua.create_table()?,
        Value::Table(table) => table,
        other => {
            let found = type_name(&other);
            return Err(Failure::lua(format!("json.array expects a table or no argument, got {found}")).into());
        }
    };
    if !raw::mark_list(lua, &table)? {
        return Err(Failure::lua("json.array: the table already has a metatable").into());
    }
    Ok(Value::Table(table))
}
