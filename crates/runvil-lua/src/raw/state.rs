//! The guard of a state's tables (book: Keeping state in `var`).
//!
//! A table of a state is empty. Its metatable reads through to the hidden data, and knows its place: the metatable of
//! the table that it lies in, and its key there. At the root the key is the state's name.

use std::ffi::c_int;

use mlua::ffi::{self, lua_Integer, lua_State};
use mlua::{Function, Lua, Table};

use super::{Key, string_bytes};

/// Where a guard's metatable keeps its place.
pub(crate) const PARENT: lua_Integer = 1;
pub(crate) const KEY: lua_Integer = 2;

/// Registry slot of the function that stores what is no plain scalar under a plain key, or refuses it.
static STORE: Key = Key::new();

/// Sets the function `store(metatable, key, value)` that [`assign`] leaves the harder cases to.
pub(crate) fn set_state_store(lua: &Lua, store: &Function) -> mlua::Result<()> {
    // SAFETY: the closure gets one value and consumes it.
    unsafe {
        lua.exec_raw(store, |state| {
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, STORE.address());
        })
    }
}

/// `__newindex` of a state's tables.
pub(super) unsafe extern "C-unwind" fn assign(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua for a table of a state; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::lua_settop(state, 3);
        if ffi::lua_getmetatable(state, 1) == 0 {
            return 0;
        }
        if is_plain_key(state) && is_plain_value(state) {
            ffi::lua_getfield(state, 4, c"__index".as_ptr());
            ffi::lua_insert(state, 2);
            ffi::lua_settop(state, 4);
            ffi::lua_rawset(state, 2);
        } else {
            ffi::lua_replace(state, 1);
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, STORE.address());
            ffi::lua_insert(state, 1);
            ffi::lua_call(state, 3, 0);
        }
        0
    }
}

/// # Safety
///
/// As [`assign`], with its arguments on the stack.
unsafe fn is_plain_key(state: *mut lua_State) -> bool {
    // SAFETY: reads only.
    unsafe {
        match ffi::lua_type(state, 2) {
            ffi::LUA_TSTRING => std::str::from_utf8(string_bytes(state, 2)).is_ok(),
            ffi::LUA_TNUMBER => ffi::lua_isinteger(state, 2) != 0,
            _ => false,
        }
    }
}

/// Whether the value is a scalar that JSON has, or nil.
///
/// # Safety
///
/// As [`assign`], with its arguments on the stack.
unsafe fn is_plain_value(state: *mut lua_State) -> bool {
    // SAFETY: reads only.
    unsafe {
        match ffi::lua_type(state, 3) {
            ffi::LUA_TNIL | ffi::LUA_TBOOLEAN => true,
            ffi::LUA_TSTRING => std::str::from_utf8(string_bytes(state, 3)).is_ok(),
            ffi::LUA_TNUMBER => ffi::lua_tonumber(state, 3).is_finite(),
            ffi::LUA_TLIGHTUSERDATA => ffi::lua_touserdata(state, 3).is_null(),
            _ => false,
        }
    }
}

/// Registry slot of the function that refuses a write to a view.
static REFUSE: Key = Key::new();

/// Sets the function `refuse(metatable, key)` that raises for a write to a view of the table whose guard has that
/// metatable.
pub(crate) fn set_state_refusal(lua: &Lua, refuse: &Function) -> mlua::Result<()> {
    // SAFETY: the closure gets one value and consumes it.
    unsafe {
        lua.exec_raw(refuse, |state| {
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, REFUSE.address());
        })
    }
}

/// A read-only view of a state's table, at every depth, whose metatables show as `protection`.
pub(crate) fn state_view(lua: &Lua, guard: &Table, protection: &str) -> mlua::Result<Table> {
    // SAFETY: the closure gets the guard and the text and leaves one table.
    unsafe {
        lua.exec_raw((guard, protection), |state| {
            push_view(state, 1, 2);
            ffi::lua_replace(state, 1);
            ffi::lua_settop(state, 1);
        })
    }
}

/// Pushes a view of the guarded table in slot `guard`.
///
/// # Safety
///
/// Protected mode or a function that Lua called, with six free stack slots; both slots are absolute, and the first
/// holds a table of a state.
unsafe fn push_view(state: *mut lua_State, guard: c_int, protection: c_int) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        ffi::lua_createtable(state, 0, 0);
        ffi::lua_createtable(state, 0, 3);
        let metatable = ffi::lua_gettop(state);
        ffi::lua_getmetatable(state, guard);
        ffi::lua_getfield(state, -1, c"__index".as_ptr());
        ffi::lua_pushvalue(state, protection);
        ffi::lua_pushcclosure(state, view_index, 2);
        ffi::lua_setfield(state, metatable, c"__index".as_ptr());
        ffi::lua_pushcclosure(state, view_newindex, 1);
        ffi::lua_setfield(state, metatable, c"__newindex".as_ptr());
        ffi::lua_pushvalue(state, protection);
        ffi::lua_setfield(state, metatable, c"__metatable".as_ptr());
        ffi::lua_setmetatable(state, -2);
    }
}

/// Reads the hidden data; a table in it is a guard, of which a view is given.
unsafe extern "C-unwind" fn view_index(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with the data and the protection as upvalues; every table in the data is a guard.
    unsafe {
        ffi::lua_settop(state, 2);
        if ffi::lua_rawget(state, ffi::lua_upvalueindex(1)) == ffi::LUA_TTABLE {
            ffi::lua_pushvalue(state, ffi::lua_upvalueindex(2));
            push_view(state, 2, 3);
        }
        1
    }
}

unsafe extern "C-unwind" fn view_newindex(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with the guard's metatable as upvalue.
    unsafe {
        ffi::lua_settop(state, 2);
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, REFUSE.address());
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_pushvalue(state, 2);
        ffi::lua_call(state, 2, 0);
        0
    }
}

/// A new empty table with that metatable, whatever its protection.
pub(crate) fn table_behind(lua: &Lua, metatable: &Table) -> mlua::Result<Table> {
    // SAFETY: the closure gets the metatable and leaves one table.
    unsafe {
        lua.exec_raw(metatable, |state| {
            ffi::lua_createtable(state, 0, 0);
            ffi::lua_insert(state, 1);
            ffi::lua_setmetatable(state, 1);
        })
    }
}
