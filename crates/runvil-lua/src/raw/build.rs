//! Building Lua values from a tape.

use std::ffi::c_int;

use mlua::ffi::{self, lua_Integer, lua_State};
use mlua::{Function, Lua, Table, Value};

use super::reader::push_list_marker;
use super::state::assign;
use crate::json::{Node, Nulls, Tape};

/// Slots of a builder's stack: the list marker, then what every wrapper's metatable holds.
const MARKER: c_int = 1;
const NEWINDEX: c_int = 2;
const PROTECTION: c_int = 3;
/// In a state: the metatable of the table that the value goes into, nil for none, and its key there.
const PARENT: c_int = 4;
const KEY: c_int = 5;

/// Builds the tape's first value: lists marked, nulls as `nulls` says.
pub(crate) fn build(lua: &Lua, tape: &Tape, nulls: Nulls) -> mlua::Result<Value> {
    let (nodes, text) = (tape.nodes.as_slice(), tape.text.as_bytes());
    // SAFETY: the closure owns nothing; it leaves one value.
    unsafe {
        lua.exec_raw((), move |state| {
            push_list_marker(state);
            Builder::new(state, nodes, text, nulls, Wrap::Nothing).value(0, 0);
            ffi::lua_replace(state, MARKER);
        })
    }
}

/// Builds the tape's first value with each table behind an empty one that reads through to it, refuses writes by
/// `newindex`, and whose metatable shows as `protection`.
pub(crate) fn build_frozen(lua: &Lua, tape: &Tape, newindex: &Function, protection: &str) -> mlua::Result<Value> {
    let (nodes, text) = (tape.nodes.as_slice(), tape.text.as_bytes());
    // SAFETY: the closure owns nothing; it leaves one value.
    unsafe {
        lua.exec_raw((newindex, protection), move |state| {
            push_list_marker(state);
            ffi::lua_insert(state, MARKER);
            Builder::new(state, nodes, text, Nulls::Kept, Wrap::Frozen).value(0, 0);
            ffi::lua_replace(state, MARKER);
            ffi::lua_settop(state, MARKER);
        })
    }
}

/// Builds the tape's first value as part of a state: each table behind a guard that knows its place, which is `key`
/// in the table whose guard has the metatable `parent`.
pub(crate) fn build_state(
    lua: &Lua,
    tape: &Tape,
    protection: &Value,
    parent: Option<&Table>,
    key: &Value,
) -> mlua::Result<Value> {
    let (nodes, text) = (tape.nodes.as_slice(), tape.text.as_bytes());
    // SAFETY: the closure owns nothing; it leaves one value.
    unsafe {
        lua.exec_raw((protection, parent, key), move |state| {
            push_list_marker(state);
            ffi::lua_pushcfunction(state, assign);
            ffi::lua_rotate(state, 1, 2);
            Builder::new(state, nodes, text, Nulls::Kept, Wrap::State).value(PARENT, KEY);
            ffi::lua_replace(state, MARKER);
            ffi::lua_settop(state, MARKER);
        })
    }
}

/// Marks a table as a list; says whether it could.
pub(crate) fn mark_list(lua: &Lua, table: &Table) -> mlua::Result<bool> {
    // SAFETY: the closure gets the table at index 1 and leaves one boolean.
    unsafe {
        lua.exec_raw(table, |state| {
            push_list_marker(state);
            let marked = if ffi::lua_getmetatable(state, 1) == 0 {
                ffi::lua_setmetatable(state, 1);
                true
            } else {
                ffi::lua_rawequal(state, -1, -2) != 0
            };
            ffi::lua_settop(state, 0);
            ffi::lua_pushboolean(state, c_int::from(marked));
        })
    }
}

/// What stands in front of each table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrap {
    Nothing,
    Frozen,
    State,
}

/// Reads nodes and pushes values.
struct Builder<'t> {
    state: *mut lua_State,
    nodes: std::slice::Iter<'t, Node>,
    text: &'t [u8],
    nulls: Nulls,
    wrap: Wrap,
}

impl<'t> Builder<'t> {
    fn new(state: *mut lua_State, nodes: &'t [Node], text: &'t [u8], nulls: Nulls, wrap: Wrap) -> Self {
        Self {
            state,
            nodes: nodes.iter(),
            text,
            nulls,
            wrap,
        }
    }

    /// Pushes the next value, whose place is the key in slot `key` of the table whose guard's metatable is in slot
    /// `parent`.
    ///
    /// # Safety
    ///
    /// Protected mode; no frame up to it owns anything; the slots are filled where the wrapping uses them.
    unsafe fn value(&mut self, parent: c_int, key: c_int) {
        let state = self.state;
        // SAFETY: one value more on the stack than before; texts lie within the tape's text.
        unsafe {
            ffi::luaL_checkstack(state, 8, std::ptr::null());
            match self.nodes.next().copied().unwrap_or(Node::Null) {
                Node::Null => match self.nulls {
                    Nulls::Kept => ffi::lua_pushlightuserdata(state, std::ptr::null_mut()),
                    Nulls::Dropped => ffi::lua_pushnil(state),
                },
                Node::Boolean(value) => ffi::lua_pushboolean(state, c_int::from(value)),
                Node::Integer(value) => ffi::lua_pushinteger(state, value),
                Node::Float(value) => ffi::lua_pushnumber(state, value),
                Node::Text { start, length } => {
                    let text = self.text.get(start..start + length).unwrap_or_default();
                    ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
                }
                Node::List(count) => self.table(count, true, parent, key),
                Node::Object(count) => self.table(count, false, parent, key),
            }
        }
    }

    /// # Safety
    ///
    /// As [`Builder::value`].
    unsafe fn table(&mut self, count: usize, is_list: bool, parent: c_int, key: c_int) {
        let state = self.state;
        let size = c_int::try_from(count).unwrap_or(c_int::MAX);
        // SAFETY: one value more on the stack than before.
        unsafe {
            let (items, members) = if is_list { (size, 0) } else { (0, size) };
            ffi::lua_createtable(state, items, members);
            let data = ffi::lua_gettop(state);
            if self.wrap != Wrap::Nothing {
                self.push_metatable(data, parent, key);
            }
            for (index, _) in (1..).zip(0..count) {
                if is_list {
                    ffi::lua_pushinteger(state, index as lua_Integer);
                } else {
                    self.value(0, 0);
                }
                self.value(data + 1, ffi::lua_gettop(state));
                ffi::lua_rawset(state, data);
            }
            if is_list {
                ffi::lua_pushvalue(state, MARKER);
                ffi::lua_setmetatable(state, data);
            }
            if self.wrap != Wrap::Nothing {
                ffi::lua_createtable(state, 0, 0);
                ffi::lua_insert(state, -2);
                ffi::lua_setmetatable(state, -2);
                ffi::lua_replace(state, data);
            }
        }
    }

    /// Pushes the metatable of the table in front of the one in slot `data`.
    ///
    /// # Safety
    ///
    /// As [`Builder::value`].
    unsafe fn push_metatable(&self, data: c_int, parent: c_int, key: c_int) {
        let state = self.state;
        // SAFETY: one value more on the stack than before.
        unsafe {
            let place = c_int::from(self.wrap == Wrap::State) * 2;
            ffi::lua_createtable(state, place, 3);
            for (slot, field) in [
                (data, c"__index"),
                (NEWINDEX, c"__newindex"),
                (PROTECTION, c"__metatable"),
            ] {
                ffi::lua_pushvalue(state, slot);
                ffi::lua_setfield(state, -2, field.as_ptr());
            }
            if self.wrap == Wrap::State {
                for (slot, index) in [(parent, super::state::PARENT), (key, super::state::KEY)] {
                    ffi::lua_pushvalue(state, slot);
                    ffi::lua_rawseti(state, -2, index);
                }
            }
        }
    }
}
