//! Turning a bare Lua state into a section VM.

use std::ffi::CStr;
use std::sync::Arc;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table};

use super::stock::{learn, stock};
use super::{CFunction, Shared, error_value, protect, suspend};

/// What a VM's setup needs.
pub(crate) struct Setup<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    /// Turns a Rust error into an error value.
    pub(crate) convert: &'a Function,
}

/// Base functions that the sandbox replaces.
const REPLACED: [(&CStr, CFunction); 4] = [
    (c"assert", protect::assert),
    (c"error", protect::error),
    (c"pcall", protect::pcall),
    (c"xpcall", protect::xpcall),
];

/// Base functions that the sandbox removes.
const REMOVED: [&CStr; 10] = [
    c"collectgarbage",
    c"dofile",
    c"load",
    c"loadfile",
    c"print",
    c"rawequal",
    c"rawget",
    c"rawlen",
    c"rawset",
    c"warn",
];

/// Makes the sandbox.
pub(crate) fn set_up(lua: &Lua, setup: &Setup<'_>) -> mlua::Result<()> {
    // SAFETY: runs in protected mode on the main thread before any author code; pushes and pops balance.
    unsafe {
        lua.exec_raw::<()>(setup.convert, |state| {
            learn(state);
            setup.shared.attach(state);
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, protect::CONVERT.address());
            error_value::install(state);
            ffi::lua_pushglobaltable(state);
            set_functions(state, &REPLACED);
            for name in REMOVED {
                ffi::lua_pushnil(state);
                ffi::lua_setfield(state, -2, name.as_ptr());
            }
            ffi::lua_settop(state, 0);
        })
    }
}

/// Sets fields of the table on top of the stack.
///
/// # Safety
///
/// Protected mode, a table on top, one free stack slot.
unsafe fn set_functions(state: *mut lua_State, functions: &[(&CStr, CFunction)]) {
    // SAFETY: pushes and pops balance.
    unsafe {
        for &(name, function) in functions {
            ffi::lua_pushcfunction(state, function);
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
    }
}

/// What helpers have beyond the sandbox.
const KIT: [(&CStr, CFunction); 2] = [(c"fail", error_value::fail), (c"suspend", suspend::suspend)];

/// Builds the environment of the program's own Lua. It shares no table with the author's, so that nothing an
/// author rebinds changes it.
pub(crate) fn kit(lua: &Lua) -> mlua::Result<Table> {
    // SAFETY: runs in protected mode and leaves the table.
    unsafe {
        lua.exec_raw((), |state| {
            let stock = stock();
            ffi::lua_createtable(state, 0, 24);
            stock.base.set_fields(state);
            set_functions(state, &REPLACED);
            set_functions(state, &KIT);
            ffi::lua_createtable(state, 0, 12);
            stock.strings.set_fields(state);
            ffi::lua_setfield(state, -2, c"string".as_ptr());
            ffi::lua_createtable(state, 0, 8);
            stock.tables.set_fields(state);
            ffi::lua_setfield(state, -2, c"table".as_ptr());
            ffi::lua_createtable(state, 0, 5);
            stock.maths.set_fields(state);
            ffi::lua_setfield(state, -2, c"math".as_ptr());
        })
    }
}
