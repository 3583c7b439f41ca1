//! Building Lua values from a tape.

use std::ffi::c_int;

use mlua::ffi::{self, lua_Integer, lua_State};
use mlua::{Lua, Table, Value};

use super::reader::push_list_marker;
use crate::json::{Node, Nulls, Tape};

/// Builds the tape's first value: lists marked, nulls as `nulls` says.
pub(crate) fn build(lua: &Lua, tape: &Tape, nulls: Nulls) -> mlua::Result<Value> {
    let (nodes, text) = (tape.nodes.as_slice(), tape.text.as_bytes());
    // SAFETY: the closure owns nothing; it leaves one value.
    unsafe {
        lua.exec_raw((), move |state| {
            push_list_marker(state);
            let mut builder = Builder {
                state,
                nodes: nodes.iter(),
                text,
                nulls,
            };
            builder.value();
            ffi::lua_remove(state, 1);
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

/// Reads nodes and pushes values. The list marker lies at index 1.
struct Builder<'t> {
    state: *mut lua_State,
    nodes: std::slice::Iter<'t, Node>,
    text: &'t [u8],
    nulls: Nulls,
}

impl Builder<'_> {
    /// Pushes the next value.
    ///
    /// # Safety
    ///
    /// Protected mode; no frame up to it owns anything.
    unsafe fn value(&mut self) {
        let state = self.state;
        // SAFETY: one value more on the stack than before; texts lie within the tape's text.
        unsafe {
            ffi::luaL_checkstack(state, 4, std::ptr::null());
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
                Node::List(count) => self.list(count),
                Node::Object(count) => self.object(count),
            }
        }
    }

    /// # Safety
    ///
    /// As [`Builder::value`].
    unsafe fn list(&mut self, count: usize) {
        let state = self.state;
        // SAFETY: one value more on the stack than before.
        unsafe {
            ffi::lua_createtable(state, c_int::try_from(count).unwrap_or(c_int::MAX), 0);
            for (index, _) in (1..).zip(0..count) {
                self.value();
                ffi::lua_rawseti(state, -2, index as lua_Integer);
            }
            ffi::lua_pushvalue(state, 1);
            ffi::lua_setmetatable(state, -2);
        }
    }

    /// # Safety
    ///
    /// As [`Builder::value`].
    unsafe fn object(&mut self, count: usize) {
        let state = self.state;
        // SAFETY: one value more on the stack than before.
        unsafe {
            ffi::lua_createtable(state, 0, c_int::try_from(count).unwrap_or(c_int::MAX));
            for _ in 0..count {
                self.value();
                self.value();
                ffi::lua_rawset(state, -3);
            }
        }
    }
}
