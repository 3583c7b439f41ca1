//! How authors' code enters the functions of a helper.
//!
//! A Lua function that ends in a call of another gives its frame away, and with it the line that an error names. A C
//! function does not take it: so authors are handed C functions, which call the helper's own.

use std::ffi::c_int;

use mlua::ffi::{self, lua_KContext, lua_State};
use mlua::{Lua, MultiValue};

/// Replaces each Lua function among the values, and in the fields of the tables among them, by its entry.
pub(crate) fn entries(lua: &Lua, values: MultiValue) -> mlua::Result<MultiValue> {
    // SAFETY: the closure owns nothing; the values are its stack, and what it leaves there are the results.
    unsafe {
        lua.exec_raw(values, |state| {
            for index in 1..=ffi::lua_gettop(state) {
                match ffi::lua_type(state, index) {
                    ffi::LUA_TFUNCTION => replace(state, index),
                    ffi::LUA_TTABLE => replace_fields(state, index),
                    _ => {}
                }
            }
        })
    }
}

/// # Safety
///
/// A live thread with a function at `index` and two free stack slots.
unsafe fn replace(state: *mut lua_State, index: c_int) {
    // SAFETY: pushes and pops balance.
    unsafe {
        if ffi::lua_iscfunction(state, index) == 0 {
            ffi::lua_pushvalue(state, index);
            ffi::lua_pushcclosure(state, enter, 1);
            ffi::lua_replace(state, index);
        }
    }
}

/// # Safety
///
/// A live thread with a table at `index` and free stack slots.
unsafe fn replace_fields(state: *mut lua_State, index: c_int) {
    // SAFETY: pushes and pops balance; a traversal bears new values of the keys that are there.
    unsafe {
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, index) != 0 {
            if ffi::lua_type(state, -1) == ffi::LUA_TFUNCTION {
                replace(state, ffi::lua_gettop(state));
                ffi::lua_pushvalue(state, -2);
                ffi::lua_insert(state, -2);
                ffi::lua_rawset(state, index);
            } else {
                ffi::lua_pop(state, 1);
            }
        }
    }
}

/// Calls the function in its upvalue with what it was given, and returns what that returns. It can wait meanwhile.
unsafe extern "C-unwind" fn enter(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raise or a yield would have to drop.
    unsafe {
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_insert(state, 1);
        let given = ffi::lua_gettop(state) - 1;
        ffi::lua_callk(state, given, ffi::LUA_MULTRET, 0, Some(left));
        left(state, ffi::LUA_OK, 0)
    }
}

unsafe extern "C-unwind" fn left(state: *mut lua_State, _status: c_int, _context: lua_KContext) -> c_int {
    // SAFETY: called by Lua; all that is on the stack are the results.
    unsafe { ffi::lua_gettop(state) }
}
