//! The functions behind sealed tables.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table};

use super::error_value::raise_refusal;

/// A `__newindex` that refuses each write with `{refusal} {field}`. The field is a string in quotes, an integer, or
/// else its type's name; `quoted` puts quotes around those too.
pub(crate) fn refuse_fields(lua: &Lua, refusal: &str, quoted: bool) -> mlua::Result<Function> {
    // SAFETY: the closure gets two values, which become the function's upvalues.
    unsafe {
        lua.exec_raw((refusal, quoted), |state| {
            ffi::lua_pushcclosure(state, refuse_field, 2);
        })
    }
}

unsafe extern "C-unwind" fn refuse_field(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with the upvalues above; this frame holds nothing that a raised error would have to drop.
    unsafe {
        let is_string = ffi::lua_type(state, 2) == ffi::LUA_TSTRING;
        let quoted = is_string || ffi::lua_toboolean(state, ffi::lua_upvalueindex(2)) != 0;
        let quote = if quoted { c"'" } else { c"" };
        ffi::lua_settop(state, 2);
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_pushstring(state, c" ".as_ptr());
        ffi::lua_pushstring(state, quote.as_ptr());
        if is_string || ffi::lua_isinteger(state, 2) != 0 {
            ffi::lua_pushvalue(state, 2);
        } else {
            ffi::lua_pushstring(state, ffi::luaL_typename(state, 2));
        }
        ffi::lua_pushstring(state, quote.as_ptr());
        ffi::lua_concat(state, 5);
        raise_refusal(state)
    }
}

/// An `__index` that reads `fields` and raises `{unknown} '{name}'` for one that is not there, and `no_name` for a
/// key that is no string.
pub(crate) fn strict_fields(lua: &Lua, fields: &Table, unknown: &str, no_name: &str) -> mlua::Result<Function> {
    // SAFETY: the closure gets three values, which become the function's upvalues.
    unsafe {
        lua.exec_raw((fields, unknown, no_name), |state| {
            ffi::lua_pushcclosure(state, strict_field, 3);
        })
    }
}

unsafe extern "C-unwind" fn strict_field(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with the upvalues above; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::lua_settop(state, 2);
        if ffi::lua_type(state, 2) != ffi::LUA_TSTRING {
            ffi::lua_pushvalue(state, ffi::lua_upvalueindex(3));
            raise_refusal(state);
        }
        ffi::lua_pushvalue(state, 2);
        if ffi::lua_rawget(state, ffi::lua_upvalueindex(1)) != ffi::LUA_TNIL {
            return 1;
        }
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(2));
        ffi::lua_pushstring(state, c" '".as_ptr());
        ffi::lua_pushvalue(state, 2);
        ffi::lua_pushstring(state, c"'".as_ptr());
        ffi::lua_concat(state, 4);
        raise_refusal(state)
    }
}
