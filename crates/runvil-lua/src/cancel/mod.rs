//! The run's cancel flag and how running Lua sees it.
//!
//! Where there are signals, Lua runs without a hook at full speed. Setting the flag sends a signal to each thread
//! that runs Lua of the run; its handler, on that thread, sets the hook that checks the flag. Elsewhere the hook is
//! always set.

#[cfg(unix)]
mod signal;
#[cfg(not(unix))]
#[path = "hook.rs"]
mod signal;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mlua::ffi::lua_State;

use self::signal::Threads;

/// The one signal that a cancel sets, shared by every VM of a run. Set from any thread; never cleared.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    /// The threads that run Lua of the run at the moment.
    threads: Threads,
}

impl CancelFlag {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag. Lua that runs in a VM with this flag is aborted at its next check.
    pub fn cancel(&self) {
        self.inner.cancelled.store(true, Ordering::SeqCst);
        self.inner.threads.interrupt();
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::Relaxed)
    }

    /// Runs `run`, which runs Lua on the Lua thread `state` and no other, so that a cancel reaches it.
    ///
    /// # Safety
    ///
    /// `state` is a live thread of a VM with this flag, and stays so while `run` runs.
    pub(crate) unsafe fn watch<R>(&self, state: *mut lua_State, run: impl FnOnce() -> R) -> R {
        // SAFETY: as for this function.
        unsafe { signal::watch(&self.inner, state, run) }
    }
}
