//! The scalar return rule (book: How each scalar becomes text).

use runvil_lua::mlua::Value;

/// The text of a block's first returned value, `None` for nil.
///
/// # Errors
/// The value's Lua type name, when it cannot be a result.
pub(crate) fn result_text(value: &Value) -> Result<Option<String>, &'static str> {
    Ok(Some(match value {
        Value::Nil => return Ok(None),
        Value::String(text) => text.to_string_lossy(),
        Value::Integer(integer) => integer.to_string(),
        Value::Number(float) => float.to_string(),
        Value::Boolean(boolean) => boolean.to_string(),
        Value::LightUserData(_) | Value::UserData(_) => return Err("userdata"),
        other => return Err(other.type_name()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_plain_form() {
        let text = |value| result_text(&value).expect("a scalar").expect("a result");
        assert_eq!(text(Value::Number(1e20)), "100000000000000000000");
        assert_eq!(text(Value::Number(3.0)), "3");
        assert_eq!(text(Value::Number(1.5)), "1.5");
        assert_eq!(text(Value::Number(f64::NAN)), "NaN");
        assert_eq!(text(Value::Number(f64::NEG_INFINITY)), "-inf");
        assert_eq!(text(Value::Integer(-7)), "-7");
        assert_eq!(text(Value::Boolean(true)), "true");
    }

    #[test]
    fn nil_is_no_result() {
        assert_eq!(result_text(&Value::Nil), Ok(None));
    }
}
