//! What a chain is resumed with.

use runvil_lua::mlua::{self, IntoLua, IntoLuaMulti, Lua, MultiValue};
use serde_json::Value;

use crate::Failure;

/// What wakes a chain.
pub(crate) enum Resume {
    /// Its first entry.
    Begin,
    /// The answer that its running block waits for.
    Lua(Reply),
}

/// The answer to a request that a block made.
///
/// It is built without the VM: the values come to life in the chain that is resumed.
pub(crate) enum Reply {
    /// The block starts.
    Start,
    /// The call returns nothing.
    Nothing,
    /// The call returns one text.
    Text(String),
    /// The call returns one value converted from JSON, its nulls as `json.null`.
    Json(Value),
    /// The call returns what this builds in the chain's VM.
    Build(Box<dyn FnOnce(&Lua) -> mlua::Result<MultiValue> + Send>),
    /// The call raises.
    Raise(Failure),
}

impl Reply {
    /// Values built in the VM of the chain that is resumed.
    pub(crate) fn build(
        values: impl FnOnce(&Lua) -> mlua::Result<MultiValue> + Send + 'static,
    ) -> Self {
        Self::Build(Box::new(values))
    }

    /// What the VM of the resumed chain is given.
    pub(crate) fn into_lua(self, lua: &Lua) -> runvil_lua::Resume {
        let values = match self {
            Self::Start => return runvil_lua::Resume::Start,
            Self::Raise(failure) => return runvil_lua::Resume::Raise(failure.into()),
            Self::Nothing => Ok(MultiValue::new()),
            Self::Text(text) => text.into_lua_multi(lua),
            Self::Json(value) => from_json(lua, &value).and_then(|value| value.into_lua_multi(lua)),
            Self::Build(build) => build(lua),
        };
        match values {
            Ok(values) => runvil_lua::Resume::Values(values),
            Err(error) => runvil_lua::Resume::Raise(Failure::lua(error.to_string()).into()),
        }
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self::Raise(failure)
    }
}

/// A JSON value in Lua.
fn from_json(lua: &Lua, value: &Value) -> mlua::Result<mlua::Value> {
    Ok(match value {
        Value::Null => mlua::Value::NULL,
        Value::Bool(boolean) => mlua::Value::Boolean(*boolean),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => mlua::Value::Integer(integer),
            None => mlua::Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => text.as_str().into_lua(lua)?,
        Value::Array(items) => {
            let table = lua.create_table()?;
            for (place, item) in items.iter().enumerate() {
                table.raw_set(place + 1, from_json(lua, item)?)?;
            }
            mlua::Value::Table(table)
        }
        Value::Object(fields) => {
            let table = lua.create_table()?;
            for (name, field) in fields {
                table.raw_set(name.as_str(), from_json(lua, field)?)?;
            }
            mlua::Value::Table(table)
        }
    })
}
