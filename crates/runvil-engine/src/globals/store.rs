//! The `store` table: eight suspending calls (book: The `store` table).

use runvil_lua::{
    Helper,
    mlua::{self, Lua, MultiValue, Table, Value},
};
use runvil_vfs::{LineBounds, StoreOp};

use super::check::{string, type_name};
use crate::{Failure, request::Request};

/// Checks one call's arguments and makes its operation.
type Check = fn(&MultiValue) -> Result<StoreOp, Failure>;

const CALLS: [(&str, Check); 8] = [
    ("write", |arguments| {
        Ok(StoreOp::Write {
            path: path(arguments)?,
            contents: text("contents", arguments, 1)?,
        })
    }),
    ("append", |arguments| {
        Ok(StoreOp::Append {
            path: path(arguments)?,
            contents: text("contents", arguments, 1)?,
        })
    }),
    ("read", |arguments| {
        Ok(StoreOp::Read {
            path: path(arguments)?,
            lines: bounds(arguments)?,
        })
    }),
    ("read_numbered", |arguments| {
        Ok(StoreOp::ReadNumbered {
            path: path(arguments)?,
            lines: bounds(arguments)?,
        })
    }),
    ("str_replace", |arguments| {
        Ok(StoreOp::StrReplace {
            path: path(arguments)?,
            old: text("old", arguments, 1)?,
            new: text("new", arguments, 2)?,
        })
    }),
    ("delete", |arguments| Ok(StoreOp::Delete { path: path(arguments)? })),
    ("glob", |arguments| {
        Ok(StoreOp::Glob {
            pattern: text("pattern", arguments, 0)?,
        })
    }),
    ("exists", |arguments| Ok(StoreOp::Exists { path: path(arguments)? })),
];

/// The Lua half of the table.
pub(super) static STORE: Helper = Helper::new("runvil/store.lua", include_str!("../lua/store.lua"));

/// The natives that make the requests, by function name.
pub(super) fn natives(lua: &Lua) -> mlua::Result<Table> {
    let natives = lua.create_table_with_capacity(0, CALLS.len())?;
    for (name, check) in CALLS {
        let native = lua.create_function(move |_, arguments| Ok(Request::Store(check(&arguments)?)))?;
        natives.raw_set(name, native)?;
    }
    Ok(natives)
}

fn path(arguments: &MultiValue) -> Result<String, Failure> {
    text("path", arguments, 0)
}

fn text(name: &str, arguments: &MultiValue, place: usize) -> Result<String, Failure> {
    string(name, arguments.get(place))
}

fn bounds(arguments: &MultiValue) -> Result<LineBounds, Failure> {
    Ok(LineBounds {
        start: bound("start", arguments.get(1))?,
        end: bound("end", arguments.get(2))?,
    })
}

/// An integer, a float with a whole value in the 64-bit range, or nil.
fn bound(name: &str, value: Option<&Value>) -> Result<Option<i64>, Failure> {
    match value {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Integer(line)) => Ok(Some(*line)),
        Some(Value::Number(float)) if is_whole_in_range(*float) => Ok(Some(*float as i64)),
        Some(other) => Err(Failure::lua(format!(
            "{name} must be an integer, got {}",
            type_name(other)
        ))),
    }
}

/// Whether a float is an `i64` exactly: -2^63 is, 2^63 is not.
fn is_whole_in_range(float: f64) -> bool {
    float.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_float_counts_as_its_integer() {
        let line = |value| bound("start", Some(&value)).map_err(|failure| failure.to_string());
        assert_eq!(line(Value::Number(2.0)), Ok(Some(2)));
        assert_eq!(line(Value::Number(-9_223_372_036_854_775_808.0)), Ok(Some(i64::MIN)));
        for refused in [9_223_372_036_854_775_808.0, 2.5, f64::INFINITY, f64::NAN] {
            assert_eq!(
                line(Value::Number(refused)),
                Err("start must be an integer, got number".to_owned())
            );
        }
        assert_eq!(line(Value::Nil), Ok(None));
    }
}
