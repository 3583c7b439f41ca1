//! Argument checks that every Engine function shares (book: Argument errors).

use runvil_lua::mlua::Value;

use crate::Failure;

/// The type name that argument errors use: a Lua integer is `integer`, and `json.null` is `lightuserdata`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    runvil_lua::type_name(value)
}

/// The type name that the tasks functions and the check of a compactor use: a Lua integer is `integer`, every other
/// value goes by Lua's `type`.
pub(crate) fn plain_type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "integer",
        other => lua_type(other),
    }
}

/// What Lua's `type` says of a value.
pub(crate) fn lua_type(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "number",
        Value::LightUserData(_) => "userdata",
        other => other.type_name(),
    }
}

/// Whether a value is JSON data by its own type: `json.null` is the one userdata that is. What a table holds is not
/// looked at.
pub(crate) fn is_data(value: &Value) -> bool {
    match value {
        Value::LightUserData(_) => value.is_null(),
        Value::Boolean(_) | Value::Integer(_) | Value::Number(_) | Value::String(_) | Value::Table(_) => true,
        _ => false,
    }
}

/// A required string argument.
pub(crate) fn string(name: &str, value: Option<&Value>) -> Result<String, Failure> {
    match value {
        Some(Value::String(text)) => match text.to_str() {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Failure::lua(format!("{name} must be a valid UTF-8 string"))),
        },
        other => Err(Failure::lua(format!(
            "{name} must be a string, got {}",
            other.map_or("nil", type_name)
        ))),
    }
}

/// An optional string argument: a string, nil, or nothing.
pub(crate) fn optional_string(name: &str, value: Option<&Value>) -> Result<Option<String>, Failure> {
    match value {
        None | Some(Value::Nil) => Ok(None),
        given => string(name, given).map(Some),
    }
}

/// A whole number: an integer, or a float without a fraction that fits one.
pub(crate) fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(integer) => Some(*integer),
        #[expect(clippy::cast_possible_truncation, reason = "the float is whole and in range")]
        Value::Number(float) if float.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(float) => Some(*float as i64),
        _ => None,
    }
}

/// One past the largest integer, as a float.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
