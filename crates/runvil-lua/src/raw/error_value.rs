//! Error values: their one metatable, and the registry of what stands behind them.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use mlua::{AnyUserData, Lua, Table, Value};

use super::{CFunction, Key};

/// Registry slot of the metatable that all error values of a VM share.
static METATABLE: Key = Key::new();

/// Registry slot of the table from error value to what stands behind it: a userdata that holds a failure, or a copy
/// of the fields for one that Lua code raised. An error value that nobody holds drops out.
static ORIGINS: Key = Key::new();

const METHODS: [(&std::ffi::CStr, CFunction); 2] = [(c"__tostring", tostring), (c"__concat", concat)];

/// Creates the metatable and the registry.
///
/// # Safety
///
/// Called once, in protected mode, with two free stack slots.
pub(super) unsafe fn install(state: *mut lua_State) {
    // SAFETY: pushes and pops balance; the caller's protected call takes any memory error.
    unsafe {
        ffi::lua_createtable(state, 0, 2);
        for (name, method) in METHODS {
            ffi::lua_pushcfunction(state, method);
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
        ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, METATABLE.address());
        reset_origins(state);
    }
}

/// # Safety
///
/// Protected mode, three free stack slots.
unsafe fn reset_origins(state: *mut lua_State) {
    // SAFETY: pushes and pops balance.
    unsafe {
        ffi::lua_createtable(state, 0, 0);
        super::weaken_keys(state);
        ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, ORIGINS.address());
    }
}

/// Gives a table the metatable of error values.
pub(crate) fn bless_error_value(lua: &Lua, table: &Table) -> mlua::Result<()> {
    // SAFETY: the closure gets the table at index 1 and leaves one value, which is dropped.
    unsafe {
        lua.exec_raw::<()>(table, |state| {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, METATABLE.address());
            ffi::lua_setmetatable(state, 1);
            ffi::lua_settop(state, 0);
        })
    }
}

/// Whether the value is an error value: a table with the shared metatable.
pub(crate) fn is_error_value(lua: &Lua, table: &Table) -> mlua::Result<bool> {
    // SAFETY: the closure gets the table at index 1 and leaves one boolean.
    unsafe {
        lua.exec_raw(table, |state| {
            let is = has_shared_metatable(state, 1);
            ffi::lua_settop(state, 0);
            ffi::lua_pushboolean(state, c_int::from(is));
        })
    }
}

/// Records what stands behind the error value.
pub(crate) fn remember_origin(lua: &Lua, table: &Table, origin: &AnyUserData) -> mlua::Result<()> {
    // SAFETY: the closure gets both values and consumes them.
    unsafe {
        lua.exec_raw::<()>((table, origin), |state| {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, ORIGINS.address());
            ffi::lua_insert(state, 1);
            ffi::lua_rawset(state, 1);
            ffi::lua_settop(state, 0);
        })
    }
}

/// What stands behind the error value: a userdata, a table of fields, or nil.
pub(crate) fn origin_of(lua: &Lua, table: &Table) -> mlua::Result<Value> {
    // SAFETY: the closure gets the table and leaves one value.
    unsafe {
        lua.exec_raw(table, |state| {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, ORIGINS.address());
            ffi::lua_insert(state, 1);
            ffi::lua_rawget(state, 1);
            ffi::lua_remove(state, 1);
        })
    }
}

/// Forgets what stands behind every error value.
pub(crate) fn forget_origins(lua: &Lua) -> mlua::Result<()> {
    // SAFETY: the closure leaves nothing.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, ORIGINS.address());
            ffi::lua_pushnil(state);
            let used = ffi::lua_next(state, 1) != 0;
            ffi::lua_settop(state, 0);
            if used {
                reset_origins(state);
            }
        })
    }
}

/// # Safety
///
/// A live thread with two free stack slots; `index` is absolute and valid.
unsafe fn has_shared_metatable(state: *mut lua_State, index: c_int) -> bool {
    // SAFETY: what is pushed is popped.
    unsafe {
        if ffi::lua_type(state, index) != ffi::LUA_TTABLE || ffi::lua_getmetatable(state, index) == 0 {
            return false;
        }
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, METATABLE.address());
        let same = ffi::lua_rawequal(state, -1, -2) != 0;
        ffi::lua_pop(state, 2);
        same
    }
}

/// `fail(kind, message, fields)`: raises a new error value from Lua code of the program, at level 0.
pub(super) unsafe extern "C-unwind" fn fail(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::lua_settop(state, 3);
        push_copy(state);
        push_copy(state);
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, METATABLE.address());
        ffi::lua_setmetatable(state, 4);
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, ORIGINS.address());
        ffi::lua_pushvalue(state, 4);
        ffi::lua_pushvalue(state, 5);
        ffi::lua_rawset(state, -3);
        ffi::lua_settop(state, 4);
        ffi::lua_error(state)
    }
}

/// Raises the string on top of the stack as a guard's refusal: an error value of kind `lua` whose message says that
/// it is a runtime error (book: Reading `kind` and `message`).
///
/// # Safety
///
/// Called by a function that Lua called, with three free stack slots and nothing in its frame to drop.
pub(super) unsafe fn raise_refusal(state: *mut lua_State) -> ! {
    // SAFETY: as for this function.
    unsafe {
        ffi::lua_createtable(state, 0, 2);
        ffi::lua_insert(state, -2);
        ffi::lua_pushstring(state, c"runtime error: ".as_ptr());
        ffi::lua_insert(state, -2);
        ffi::lua_concat(state, 2);
        ffi::lua_setfield(state, -2, c"message".as_ptr());
        ffi::lua_pushstring(state, c"lua".as_ptr());
        ffi::lua_setfield(state, -2, c"kind".as_ptr());
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, METATABLE.address());
        ffi::lua_setmetatable(state, -2);
        ffi::lua_error(state)
    }
}

/// Pushes a table with the `kind`, `message` and fields of the arguments 1 to 3.
///
/// # Safety
///
/// Called by Lua, with five free stack slots.
unsafe fn push_copy(state: *mut lua_State) {
    // SAFETY: pushes and pops balance but for the table.
    unsafe {
        ffi::lua_createtable(state, 0, 3);
        if ffi::lua_type(state, 3) == ffi::LUA_TTABLE {
            ffi::lua_pushnil(state);
            while ffi::lua_next(state, 3) != 0 {
                ffi::lua_pushvalue(state, -2);
                ffi::lua_insert(state, -2);
                ffi::lua_rawset(state, -4);
            }
        }
        ffi::lua_pushvalue(state, 1);
        ffi::lua_setfield(state, -2, c"kind".as_ptr());
        ffi::lua_pushvalue(state, 2);
        ffi::lua_setfield(state, -2, c"message".as_ptr());
    }
}

/// Pushes the text of an error value: its message, or its kind where it has none.
///
/// # Safety
///
/// A live thread with two free stack slots; `index` is absolute and holds a table.
unsafe fn push_text(state: *mut lua_State, index: c_int) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        for field in [c"message", c"kind"] {
            ffi::lua_pushstring(state, field.as_ptr());
            if ffi::lua_rawget(state, index) == ffi::LUA_TSTRING {
                return;
            }
            ffi::lua_pop(state, 1);
        }
        ffi::lua_pushstring(state, c"".as_ptr());
    }
}

unsafe extern "C-unwind" fn tostring(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        push_text(state, 1);
        1
    }
}

unsafe extern "C-unwind" fn concat(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::lua_settop(state, 2);
        for operand in 1..=2 {
            if has_shared_metatable(state, operand) {
                push_text(state, operand);
            } else if ffi::lua_isstring(state, operand) != 0 {
                ffi::lua_pushvalue(state, operand);
            } else {
                let found = ffi::luaL_typename(state, operand);
                return ffi::luaL_error(state, c"attempt to concatenate a %s value".as_ptr(), found);
            }
        }
        ffi::lua_concat(state, 2);
        1
    }
}
