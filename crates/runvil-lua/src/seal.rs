//! Tables that can be read and not written.

use mlua::{Function, Lua, Table, Value};

use crate::json::Tape;
use crate::raw;

/// How a sealed table shows itself. The table itself is empty, so that `#`, `pairs` and `next` find nothing; its
/// metatable is protected; each write raises a runtime error.
#[derive(Clone, Copy, Debug)]
pub struct Seal<'a> {
    /// What `getmetatable` gives, such as `sys is sealed`.
    pub protection: &'a str,
    /// What a write raises, up to the field's name: a string in single quotes, an integer as itself, any other key
    /// by its type.
    pub refusal: &'a str,
    /// Whether integers and type names stand in quotes too.
    pub quotes_every_field: bool,
}

impl Seal<'_> {
    /// Seals the top level of a table: reads go to `data` as it is at the moment.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn table(&self, lua: &Lua, data: &Table) -> mlua::Result<Table> {
        self.front(lua, &Value::Table(data.clone()))
    }

    /// Seals a table of named fields: reading one that `fields` does not hold raises `{unknown} '{name}'`, and reading
    /// by a key that is no string raises `no_name` (book: Reading a field `sys` does not have).
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn fields(&self, lua: &Lua, fields: &Table, unknown: &str, no_name: &str) -> mlua::Result<Table> {
        let index = raw::strict_fields(lua, fields, unknown, no_name)?;
        self.front(lua, &Value::Function(index))
    }

    /// Builds a JSON value whose tables are sealed at every depth (book: Freeze errors and guard mechanics).
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn value(&self, lua: &Lua, value: &serde_json::Value) -> mlua::Result<Value> {
        let mut tape = Tape::default();
        tape.push_value(value);
        raw::build_frozen(lua, &tape, &self.newindex(lua)?, self.protection)
    }

    fn newindex(&self, lua: &Lua) -> mlua::Result<Function> {
        raw::refuse_fields(lua, self.refusal, self.quotes_every_field)
    }

    fn front(&self, lua: &Lua, index: &Value) -> mlua::Result<Table> {
        let metatable = lua.create_table_with_capacity(0, 3)?;
        metatable.raw_set("__index", index)?;
        metatable.raw_set("__newindex", self.newindex(lua)?)?;
        metatable.raw_set("__metatable", self.protection)?;
        raw::table_behind(lua, &metatable)
    }
}
