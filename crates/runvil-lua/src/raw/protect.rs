//! `pcall`, `xpcall`, `error` and `assert`: Lua's own, but for what the book adds.
//!
//! A failure that a Rust function raised is delivered as an error value; any other raised value, nil included,
//! comes back unchanged. Under a cancel nothing is delivered: the failure is raised again (book: Raising and
//! catching errors).

use std::ffi::c_int;

use mlua::ffi::{self, lua_KContext, lua_State};

use super::{CFunction, Key, Shared};

/// Registry slot of the Rust function that turns a Rust error into an error value.
pub(super) static CONVERT: Key = Key::new();

/// The address that stands for a raised nil, which Lua 5.5 would replace by a text of its own.
static RAISED_NIL: Key = Key::new();

pub(super) unsafe extern "C-unwind" fn pcall(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::luaL_checkany(state, 1);
        ffi::lua_pushboolean(state, 1);
        ffi::lua_insert(state, 1);
        let arguments = ffi::lua_gettop(state) - 2;
        let status = ffi::lua_pcallk(state, arguments, ffi::LUA_MULTRET, 0, 0, Some(finish));
        finish(state, status, 0)
    }
}

pub(super) unsafe extern "C-unwind" fn xpcall(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        let top = ffi::lua_gettop(state);
        ffi::luaL_checktype(state, 2, ffi::LUA_TFUNCTION);
        ffi::lua_pushvalue(state, 2);
        ffi::lua_pushcclosure(state, handle, 1);
        ffi::lua_replace(state, 2);
        ffi::lua_pushboolean(state, 1);
        ffi::lua_pushvalue(state, 1);
        ffi::lua_rotate(state, 3, 2);
        let status = ffi::lua_pcallk(state, top - 2, ffi::LUA_MULTRET, 2, 2, Some(finish));
        finish(state, status, 2)
    }
}

/// Ends a protected call. `extra` is how many values below the results are not part of them.
unsafe extern "C-unwind" fn finish(state: *mut lua_State, status: c_int, extra: lua_KContext) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        if status == ffi::LUA_OK || status == ffi::LUA_YIELD {
            let extra = c_int::try_from(extra).unwrap_or_default();
            return ffi::lua_gettop(state) - extra;
        }
        if Shared::at(state).cancel.is_cancelled() {
            ffi::lua_error(state);
        }
        deliver(state);
        ffi::lua_pushboolean(state, 0);
        ffi::lua_insert(state, -2);
        2
    }
}

/// The message handler that `xpcall` installs around the author's.
unsafe extern "C-unwind" fn handle(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::lua_settop(state, 1);
        if Shared::at(state).cancel.is_cancelled() {
            return 1;
        }
        deliver(state);
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_insert(state, 1);
        ffi::lua_call(state, 1, 1);
        1
    }
}

/// Replaces the raised value on top of the stack by what the author's code gets.
///
/// # Safety
///
/// Called by a function that Lua called, with two free stack slots and a value on top.
unsafe fn deliver(state: *mut lua_State) {
    // SAFETY: one value is replaced by one value.
    unsafe {
        match ffi::lua_type(state, -1) {
            ffi::LUA_TUSERDATA => {
                ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, CONVERT.address());
                ffi::lua_insert(state, -2);
                ffi::lua_call(state, 1, 1);
            }
            ffi::LUA_TLIGHTUSERDATA if is_raised_nil(state) => {
                ffi::lua_pop(state, 1);
                ffi::lua_pushnil(state);
            }
            _ => {}
        }
    }
}

/// Has a Rust error that an author sees before a protected call delivers it, in the handler of a variable to close,
/// read as the error value that it would become.
///
/// # Safety
///
/// Protected mode, with the metatable of Rust errors on top of the stack and one free slot.
pub(super) unsafe fn dress_rust_errors(state: *mut lua_State) {
    // SAFETY: pushes and pops balance.
    unsafe {
        for (name, method) in [
            (c"__index", rust_error_index as CFunction),
            (c"__tostring", rust_error_tostring),
            (c"__concat", rust_error_concat),
        ] {
            ffi::lua_pushcfunction(state, method);
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
    }
}

/// Replaces the argument, if it is a Rust error, by its error value.
///
/// # Safety
///
/// Called by a function that Lua called, with an argument at `index`.
unsafe fn convert_argument(state: *mut lua_State, index: c_int) {
    // SAFETY: one value is replaced by one value.
    unsafe {
        ffi::lua_pushvalue(state, index);
        deliver(state);
        ffi::lua_replace(state, index);
    }
}

unsafe extern "C-unwind" fn rust_error_index(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::lua_settop(state, 2);
        convert_argument(state, 1);
        ffi::lua_gettable(state, 1);
        1
    }
}

unsafe extern "C-unwind" fn rust_error_tostring(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::lua_settop(state, 1);
        convert_argument(state, 1);
        ffi::luaL_tolstring(state, 1, std::ptr::null_mut());
        1
    }
}

unsafe extern "C-unwind" fn rust_error_concat(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::lua_settop(state, 2);
        convert_argument(state, 1);
        convert_argument(state, 2);
        ffi::lua_concat(state, 2);
        1
    }
}

/// Whether the value on top of the stack stands for a raised nil.
///
/// # Safety
///
/// A live thread with a value on its stack.
pub(super) unsafe fn is_raised_nil(state: *mut lua_State) -> bool {
    // SAFETY: only reads the top of the stack.
    unsafe { ffi::lua_touserdata(state, -1).cast_const() == RAISED_NIL.address() }
}

pub(super) unsafe extern "C-unwind" fn error(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        let level = ffi::luaL_optinteger(state, 2, 1);
        let level = c_int::try_from(level).unwrap_or(c_int::MAX);
        ffi::lua_settop(state, 1);
        if ffi::lua_type(state, 1) == ffi::LUA_TSTRING && level > 0 {
            ffi::luaL_where(state, level);
            ffi::lua_pushvalue(state, 1);
            ffi::lua_concat(state, 2);
        }
        raise(state)
    }
}

pub(super) unsafe extern "C-unwind" fn assert(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        if ffi::lua_toboolean(state, 1) != 0 {
            return ffi::lua_gettop(state);
        }
        ffi::luaL_checkany(state, 1);
        ffi::lua_remove(state, 1);
        ffi::lua_pushstring(state, c"assertion failed!".as_ptr());
        ffi::lua_settop(state, 1);
        error(state)
    }
}

/// Raises the value on top of the stack, nil as what stands for it.
///
/// # Safety
///
/// Called by a function that Lua called, with one free stack slot and a value on top.
unsafe fn raise(state: *mut lua_State) -> c_int {
    // SAFETY: the frame holds nothing to drop.
    unsafe {
        if ffi::lua_type(state, -1) == ffi::LUA_TNIL {
            ffi::lua_pushlightuserdata(state, RAISED_NIL.address().cast_mut());
        }
        ffi::lua_error(state)
    }
}
