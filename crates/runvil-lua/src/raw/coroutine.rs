//! Resuming a block's coroutine, and reading one that failed.

use std::ffi::c_int;

use mlua::ffi;
use mlua::{Lua, MultiValue, Thread, Value};

use super::Shared;
use super::protect::is_raised_nil;

/// How a resume ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Yielded,
    Returned,
    Raised { out_of_memory: bool },
}

/// Resumes `thread` with `arguments`. The values are those that it yielded or returned; a raised value stays on
/// the thread for [`trace`].
pub(crate) fn resume(lua: &Lua, thread: &Thread, arguments: MultiValue) -> mlua::Result<(Ended, MultiValue)> {
    let co = thread.state();
    let mut status = ffi::LUA_ERRRUN;
    let shared = Shared::of(lua);
    let run = || {
        // SAFETY: `co` waits or was not started. The closure owns nothing; the arguments are its stack, and what it
        // leaves there are the results.
        unsafe {
            lua.exec_raw(arguments, |state| {
                let count = ffi::lua_gettop(state);
                if ffi::lua_checkstack(co, count) == 0 {
                    ffi::luaL_error(state, c"stack overflow".as_ptr());
                }
                ffi::lua_xmove(state, co, count);
                let mut results: c_int = 0;
                status = ffi::lua_resume(co, state, count, &raw mut results);
                if status == ffi::LUA_OK || status == ffi::LUA_YIELD {
                    ffi::luaL_checkstack(state, results, c"too many results".as_ptr());
                    ffi::lua_xmove(co, state, results);
                }
            })
        }
    };
    // SAFETY: `co` is a live thread of this VM, and nothing else resumes it meanwhile.
    let values = unsafe { shared.cancel.watch(co, run) }?;
    let ended = match status {
        ffi::LUA_YIELD => Ended::Yielded,
        ffi::LUA_OK => Ended::Returned,
        other => Ended::Raised {
            out_of_memory: other == ffi::LUA_ERRMEM,
        },
    };
    Ok((ended, values))
}

/// The value that a failed thread raised, and the traceback of the frames that it still holds.
pub(crate) fn trace(lua: &Lua, thread: &Thread) -> mlua::Result<(Value, Option<String>)> {
    let co = thread.state();
    // SAFETY: `co` failed with its raised value on top and its frames in place. The closure holds nothing with
    // a destructor and leaves the raised value.
    let raised = unsafe {
        lua.exec_raw(MultiValue::new(), |state| {
            if is_raised_nil(co) {
                ffi::lua_pushnil(state);
            } else {
                ffi::lua_xmove(co, state, 1);
            }
        })?
    };
    // SAFETY: as above; the closure leaves one string.
    let traceback = unsafe {
        lua.exec_raw::<mlua::LuaString>((), |state| {
            ffi::luaL_traceback(state, co, std::ptr::null(), 0);
        })
    };
    Ok((raised, traceback.ok().map(|text| text.to_string_lossy())))
}
