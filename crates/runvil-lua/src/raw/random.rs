//! `math.random`: Lua's own generator, never seeded by the clock.

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};

use super::shared::fold;
use super::{Key, Shared};

/// Registry slot of Lua's own `math.randomseed`.
static RANDOMSEED: Key = Key::new();

/// Seeds the generator and replaces `math.randomseed`.
///
/// # Safety
///
/// Called once, in protected mode, with four free stack slots.
pub(super) unsafe fn install(state: *mut lua_State, seed: &[u8; 32]) {
    // SAFETY: pushes and pops balance; the caller's protected call takes any memory error.
    unsafe {
        ffi::lua_getglobal(state, c"math".as_ptr());
        ffi::lua_getfield(state, -1, c"randomseed".as_ptr());
        ffi::lua_pushvalue(state, -1);
        for salt in [1, 2] {
            ffi::lua_pushinteger(state, fold(seed, salt).cast_signed());
        }
        ffi::lua_call(state, 2, 0);
        ffi::lua_pushvalue(state, -1);
        ffi::lua_getupvalue(state, -1, 1);
        ffi::lua_pushcclosure(state, randomseed, 1);
        ffi::lua_setfield(state, -4, c"randomseed".as_ptr());
        ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, RANDOMSEED.address());
        ffi::lua_pop(state, 2);
    }
}

/// `math.randomseed(...)`: without arguments, Lua's own would ask the clock; here the generator goes on from
/// numbers that only the seed and the calls so far decide.
unsafe extern "C-unwind" fn randomseed(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; the upvalue is the generator, as for Lua's own function, which runs in this frame.
    unsafe {
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, RANDOMSEED.address());
        let own = ffi::lua_tocfunction(state, -1);
        ffi::lua_pop(state, 1);
        if ffi::lua_gettop(state) == 0 {
            for word in Shared::at(state).next_seed() {
                ffi::lua_pushinteger(state, word);
            }
        }
        own.map_or(0, |own| own(state))
    }
}
