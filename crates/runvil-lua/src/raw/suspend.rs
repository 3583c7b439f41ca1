//! The one way in which a block waits.

use std::ffi::c_int;

use mlua::ffi::{self, lua_KContext, lua_State};

/// `suspend(...)`: hands its arguments out as the block's request and waits. What comes back starts with a
/// boolean: true before the values to return, false before the value to raise, at level 0.
pub(super) unsafe extern "C-unwind" fn suspend(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that the yield's jump would have to drop.
    unsafe { ffi::lua_yieldk(state, ffi::lua_gettop(state), 0, Some(answered)) }
}

unsafe extern "C-unwind" fn answered(state: *mut lua_State, _status: c_int, _context: lua_KContext) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        if ffi::lua_toboolean(state, 1) != 0 {
            return ffi::lua_gettop(state) - 1;
        }
        ffi::lua_settop(state, 2);
        ffi::lua_error(state)
    }
}
