//! Text on its way into Lua.

use mlua::{IntoLua, Lua, Value};

/// A text that becomes a Lua string on the Lua heap, where the memory ceiling counts it.
///
/// A Rust `String` does not: it would stay Rust memory that Lua neither counts nor hurries to collect, so that a loop
/// could pile it up. Functions that authors call return this instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<T: AsRef<[u8]>> IntoLua for Text<T> {
    fn into_lua(self, lua: &Lua) -> mlua::Result<Value> {
        lua.create_string(self.0).map(Value::String)
    }
}
