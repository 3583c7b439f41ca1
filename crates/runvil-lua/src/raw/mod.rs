//! Functions that Lua calls through its C interface, and the little that they share.
//!
//! A function here runs inside Lua: an error that it raises jumps over its frame, so no frame may hold a value
//! with a destructor across a call that can raise. Everything that owns memory lives in Lua (a table, a
//! userdata) or is built before the first such call and given away by the last.

mod coroutine;
mod error_value;
mod protect;
mod setup;
mod shared;
mod stock;
mod suspend;

use std::ffi::c_int;

use mlua::ffi::lua_State;

pub(crate) use self::coroutine::{Ended, resume, trace};
pub(crate) use self::error_value::{
    bless_error_value, forget_origins, is_error_value, origin_of, remember_origin,
};
pub(crate) use self::setup::{Setup, kit, set_up};
pub(crate) use self::shared::Shared;

/// A function in Lua's C interface.
type CFunction = unsafe extern "C-unwind" fn(*mut lua_State) -> c_int;

/// An address that keys one slot of the Lua registry.
#[derive(Debug)]
struct Key(
    #[allow(
        dead_code,
        reason = "only the address counts; a field of no size would share one"
    )]
    u8,
);

impl Key {
    const fn new() -> Self {
        Self(0)
    }

    fn address(&'static self) -> *const std::ffi::c_void {
        std::ptr::from_ref(self).cast()
    }
}
