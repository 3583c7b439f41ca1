//! Argument checks that every Engine function shares (book: Argument errors).

use runvil_lua::mlua::Value;

use crate::Failure;

/// The type name that argument errors use: a Lua integer is `integer`, every other value goes by Lua's `type`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "number",
        other => other.type_name(),
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
pub(crate) fn optional_string(
    name: &str,
    value: Option<&Value>,
) -> Result<Option<String>, Failure> {
    match value {
        None | Some(Value::Nil) => Ok(None),
        given => string(name, given).map(Some),
    }
}
