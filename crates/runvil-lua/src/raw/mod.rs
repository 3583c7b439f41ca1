//! Functions that Lua calls through its C interface, and the little that they share.
//!
//! A function here runs inside Lua: an error that it raises jumps over its frame, so no frame may hold a value
//! with a destructor across a call that can raise. Everything that owns memory lives in Lua (a table, a
//! userdata) or is built before the first such call and given away by the last.

mod build;
mod compile;
mod coroutine;
mod entry;
mod error_value;
mod globals;
mod hook;
mod iterate;
mod pattern;
mod protect;
mod random;
mod reader;
mod seal;
mod setup;
mod shared;
mod sort;
mod state;
mod stock;
mod suspend;
mod tables;
mod text;
mod walk;

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};

pub(crate) use self::build::{build, build_frozen, build_state, mark_list};
pub(crate) use self::compile::{CompilerState, Uncompiled};
pub(crate) use self::coroutine::{Ended, resume, trace};
pub(crate) use self::entry::entries;
pub(crate) use self::error_value::{bless_error_value, forget_origins, is_error_value, origin_of, remember_origin};
pub(crate) use self::globals::{materializer, serve, serve_constant, serve_lazily, settle};
pub(crate) use self::hook::{AT_ONCE, INTERVAL, arm};
pub(crate) use self::reader::{Identity, Nature, Reader, Seen, Slot, StackFull, read};
pub(crate) use self::seal::{refuse_fields, strict_fields};
pub(crate) use self::setup::{Setup, kit, set_up};
pub(crate) use self::shared::Shared;
pub(crate) use self::state::{
    KEY as STATE_KEY, PARENT as STATE_PARENT, set_state_refusal, set_state_store, state_view, table_behind,
};

use self::iterate::string_bytes;

/// A function in Lua's C interface.
type CFunction = unsafe extern "C-unwind" fn(*mut lua_State) -> c_int;

/// An address that keys one slot of the Lua registry.
#[derive(Debug)]
struct Key(#[allow(dead_code, reason = "only the address counts; a field of no size would share one")] u8);

impl Key {
    const fn new() -> Self {
        Self(0)
    }

    fn address(&'static self) -> *const std::ffi::c_void {
        std::ptr::from_ref(self).cast()
    }
}

/// The address that a cancel raises. Which value it is never shows: under a cancel nothing is caught.
static INTERRUPTED: Key = Key::new();

/// Raises the interrupt if the run was cancelled.
///
/// # Safety
///
/// Called by a function that Lua called, with one free stack slot and nothing in its frame to drop.
unsafe fn poll(state: *mut lua_State) {
    // SAFETY: as for this function.
    unsafe {
        if Shared::at(state).cancel.is_cancelled() {
            interrupt(state);
        }
    }
}

/// Raises the interrupt.
///
/// # Safety
///
/// As [`poll`].
unsafe fn interrupt(state: *mut lua_State) -> ! {
    // SAFETY: as for this function.
    unsafe {
        ffi::lua_pushlightuserdata(state, INTERRUPTED.address().cast_mut());
        ffi::lua_error(state)
    }
}

/// Raises Lua's error for an argument of the wrong type.
///
/// # Safety
///
/// As [`poll`], with three free stack slots.
unsafe fn type_error(state: *mut lua_State, argument: c_int, expected: &CStr) -> ! {
    // SAFETY: as for this function.
    unsafe {
        let found = if ffi::luaL_getmetafield(state, argument, c"__name".as_ptr()) == ffi::LUA_TSTRING {
            ffi::lua_tolstring(state, -1, std::ptr::null_mut())
        } else if ffi::lua_type(state, argument) == ffi::LUA_TLIGHTUSERDATA {
            c"light userdata".as_ptr()
        } else {
            ffi::luaL_typename(state, argument)
        };
        let text = ffi::lua_pushfstring(state, c"%s expected, got %s".as_ptr(), expected.as_ptr(), found);
        ffi::luaL_argerror(state, argument, text);
        ffi::lua_error(state)
    }
}

/// Makes the table on top of the stack weak in its keys.
///
/// # Safety
///
/// Protected mode or a function that Lua called, a table on top, two free stack slots.
unsafe fn weaken_keys(state: *mut lua_State) {
    // SAFETY: pushes and pops balance.
    unsafe {
        ffi::lua_createtable(state, 0, 1);
        ffi::lua_pushstring(state, c"k".as_ptr());
        ffi::lua_setfield(state, -2, c"__mode".as_ptr());
        ffi::lua_setmetatable(state, -2);
    }
}
