//! Where there are no signals: the hook is always set.

use mlua::ffi::lua_State;

use super::{Inner, Level};
use crate::raw::{AT_ONCE, INTERVAL, arm};

/// Nobody needs to be told.
#[derive(Debug, Default)]
pub(super) struct Threads;

impl Threads {
    #[allow(clippy::unused_self, reason = "the threads of systems with signals are told")]
    pub(super) fn interrupt(&self) {}
}

/// Runs `run` with the hook set.
///
/// # Safety
///
/// As [`CancelFlag::watch`](super::CancelFlag::watch).
pub(super) unsafe fn watch<R>(inner: &Inner, state: *mut lua_State, run: impl FnOnce() -> R) -> R {
    // Nobody can be told later, so a cancel that is to strike at a place of its own is looked for at every instruction.
    let interval = match inner.level() {
        Level::Expected | Level::AtOnce => AT_ONCE,
        Level::Clear | Level::Cancelled => INTERVAL,
    };
    // SAFETY: the caller lets this thread alone run the Lua thread.
    unsafe { arm(state, interval) };
    run()
}
