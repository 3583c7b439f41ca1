//! How a cancel stops Lua that calls nothing.

use std::ffi::c_int;

use mlua::ffi::{self, lua_Debug, lua_State};

use super::{Shared, interrupt};

/// How many instructions lie between two checks (book: The cancel check inside Lua).
pub(crate) const INTERVAL: c_int = 10_000;

/// Every instruction is a check.
pub(crate) const AT_ONCE: c_int = 1;

/// Has the thread check the cancel flag from now on, each time that as many instructions have passed.
///
/// # Safety
///
/// A live thread of a VM, and nobody else runs it: the caller does, or a signal that interrupted the caller. Lua's
/// own sources allow this call at any moment of such a signal.
pub(crate) unsafe fn arm(state: *mut lua_State, interval: c_int) {
    // SAFETY: as for this function.
    unsafe { ffi::lua_sethook(state, Some(check), ffi::LUA_MASKCOUNT, interval) };
}

/// The check. Once it finds the flag set, every later instruction is one: a handler that runs while the failure
/// passes, such as that of a variable to close, ends at once.
unsafe extern "C-unwind" fn check(state: *mut lua_State, _: *mut lua_Debug) {
    // SAFETY: called by Lua on a thread of a VM; this frame holds nothing that a raised error would have to drop.
    unsafe {
        if Shared::at(state).cancel.is_cancelled() {
            ffi::lua_sethook(state, Some(check), ffi::LUA_MASKCOUNT, AT_ONCE);
            interrupt(state);
        }
    }
}
