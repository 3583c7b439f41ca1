//! Lua values as JSON data, where a record view may stand for its record (book: Using a view as a record).

use runvil_lua::{
    Nulls, Problem, ToJsonError, from_json,
    mlua::{self, Lua, Table, Value},
};

use super::messages::RecordView;

/// How deep a table is searched for views: past the levels that JSON data may have.
const MAX_LEVELS: usize = 1_001;

/// The JSON form of a value, or why it has none. `root` is what a reason calls the value.
pub(crate) fn to_json(lua: &Lua, value: &Value, root: &str) -> Result<serde_json::Value, String> {
    convert(lua, value, root).map_err(reason)
}

/// The JSON form of a value. `root` is what an error calls the value.
pub(crate) fn convert(lua: &Lua, value: &Value, root: &str) -> Result<serde_json::Value, ToJsonError> {
    if let Some(view) = as_view(value) {
        return Ok(view);
    }
    match runvil_lua::to_json(lua, value, root) {
        Err(ToJsonError::NotJson(fault)) if fault.problem == Problem::Type("userdata") => {
            runvil_lua::to_json(lua, &without_views(lua, value, 0)?, root)
        }
        converted => converted,
    }
}

/// A table as its reader sees it: one without entries of its own may be a guarded one, which stands for its data.
pub(crate) fn unguarded(lua: &Lua, table: &Table) -> Table {
    if !table.is_empty() {
        return table.clone();
    }
    let data = runvil_lua::to_json(lua, &Value::Table(table.clone()), "table");
    match data.map(|data| from_json(lua, &data, Nulls::Kept)) {
        Ok(Ok(Value::Table(data))) => data,
        _ => table.clone(),
    }
}

fn reason(error: ToJsonError) -> String {
    match error {
        ToJsonError::NotJson(fault) => match fault.problem {
            Problem::Type(kind) => format!("unsupported value type `{kind}`"),
            _ => fault.to_string(),
        },
        error => error.to_string(),
    }
}

/// The record of a view, `None` for any other value.
fn as_view(value: &Value) -> Option<serde_json::Value> {
    let view = value.as_userdata()?.borrow::<RecordView>().ok()?;
    Some(view.0.to_json())
}

/// A value with each view inside it replaced by a table of its record. Nothing else changes: tables that hold no
/// entries of their own, such as guarded ones, stay themselves.
fn without_views(lua: &Lua, value: &Value, level: usize) -> mlua::Result<Value> {
    if let Some(record) = as_view(value) {
        return from_json(lua, &record, Nulls::Kept);
    }
    match value {
        Value::Table(table) if level < MAX_LEVELS && !table.is_empty() => {
            Ok(Value::Table(table_without_views(lua, table, level)?))
        }
        other => Ok(other.clone()),
    }
}

fn table_without_views(lua: &Lua, table: &Table, level: usize) -> mlua::Result<Table> {
    let copy = lua.create_table()?;
    for entry in table.pairs::<Value, Value>() {
        let (key, value) = entry?;
        copy.raw_set(key, without_views(lua, &value, level + 1)?)?;
    }
    copy.set_metatable(table.metatable())?;
    Ok(copy)
}
