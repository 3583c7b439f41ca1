//! Where there are no signals: the hook is always set.

use mlua::ffi::lua_State;

use super::Inner;
use crate::raw::arm;

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
pub(super) unsafe fn watch<R>(_: &Inner, state: *mut lua_State, run: impl FnOnce() -> R) -> R {
    // SAFETY: the caller lets this thread alone run the Lua thread.
    unsafe { arm(state) };
    run()
}
