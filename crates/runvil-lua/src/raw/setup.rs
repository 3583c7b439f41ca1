//! Turning a bare Lua state into a section VM.

use std::ffi::CStr;
use std::sync::Arc;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table, Value};

use super::stock::{learn, stock};
use super::{CFunction, Shared, error_value, globals, iterate, pattern, protect, random, sort, suspend, tables, text};

/// What a VM's setup needs.
pub(crate) struct Setup<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    /// Turns a Rust error into an error value.
    pub(crate) convert: &'a Function,
    /// Seeds `math.random`.
    pub(crate) seed: &'a [u8; 32],
}

/// Base functions that the sandbox replaces, for helpers too.
const REPLACED: [(&CStr, CFunction); 7] = [
    (c"assert", protect::assert),
    (c"error", protect::error),
    (c"next", iterate::next),
    (c"pairs", iterate::pairs),
    (c"pcall", protect::pcall),
    (c"tostring", text::tostring),
    (c"xpcall", protect::xpcall),
];

/// Base functions that are different for authors only.
const AUTHORS: [(&CStr, CFunction); 2] = [
    (c"getmetatable", globals::getmetatable),
    (c"setmetatable", globals::setmetatable),
];

/// `table` functions that the sandbox replaces.
const TABLES: [(&CStr, CFunction); 5] = [
    (c"concat", text::concat),
    (c"insert", tables::insert),
    (c"move", tables::move_),
    (c"remove", tables::remove),
    (c"sort", sort::sort),
];

/// `string` functions that the sandbox replaces.
const STRINGS: [(&CStr, CFunction); 5] = [
    (c"find", pattern::find),
    (c"format", text::format),
    (c"gmatch", pattern::gmatch),
    (c"gsub", pattern::gsub),
    (c"match", pattern::match_),
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
    let rust_error = Value::Error(Box::new(mlua::Error::runtime("")));
    // SAFETY: runs in protected mode on the main thread before any author code; pushes and pops balance.
    unsafe {
        lua.exec_raw::<()>((setup.convert, rust_error), |state| {
            ffi::lua_getmetatable(state, 2);
            protect::dress_rust_errors(state);
            ffi::lua_settop(state, 1);
            learn(state);
            setup.shared.attach(state);
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, protect::CONVERT.address());
            error_value::install(state);
            random::install(state, setup.seed);
            globals::install(state);
            ffi::lua_pushglobaltable(state);
            set_functions(state, &REPLACED);
            set_functions(state, &AUTHORS);
            replace_in(state, c"table", &TABLES);
            replace_in(state, c"string", &STRINGS);
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

/// Replaces functions of a library, a field of the table on top of the stack.
///
/// # Safety
///
/// As [`set_functions`], with two free stack slots.
unsafe fn replace_in(state: *mut lua_State, library: &CStr, functions: &[(&CStr, CFunction)]) {
    // SAFETY: pushes and pops balance.
    unsafe {
        ffi::lua_getfield(state, -1, library.as_ptr());
        set_functions(state, functions);
        ffi::lua_pop(state, 1);
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
            set_functions(state, &STRINGS);
            ffi::lua_setfield(state, -2, c"string".as_ptr());
            ffi::lua_createtable(state, 0, 8);
            stock.tables.set_fields(state);
            set_functions(state, &TABLES);
            ffi::lua_setfield(state, -2, c"table".as_ptr());
            ffi::lua_createtable(state, 0, 5);
            stock.maths.set_fields(state);
            ffi::lua_setfield(state, -2, c"math".as_ptr());
        })
    }
}
