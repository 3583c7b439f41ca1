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
use std::sync::atomic::{AtomicU8, Ordering};

use mlua::ffi::lua_State;

use self::signal::Threads;

/// The one signal that a cancel sets, shared by every VM of a run. Set from any thread; never cleared.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    level: AtomicU8,
    /// The threads that run Lua of the run at the moment.
    threads: Threads,
}

/// How far a cancel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Level {
    Clear,
    /// It is going to be set from within, to strike at once.
    Expected,
    /// Running Lua ends at its next check.
    Cancelled,
    /// Running Lua ends at its next instruction.
    AtOnce,
}

impl Level {
    /// The level that the flag holds as this.
    fn of(level: u8) -> Self {
        [Self::Clear, Self::Expected, Self::Cancelled]
            .into_iter()
            .find(|known| *known as u8 == level)
            .unwrap_or(Self::AtOnce)
    }
}

impl Inner {
    fn level(&self) -> Level {
        Level::of(self.level.load(Ordering::SeqCst))
    }
}

impl CancelFlag {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag. Lua that runs in a VM with this flag is aborted at its next check.
    pub fn cancel(&self) {
        self.raise(Level::Cancelled);
    }

    /// Sets the flag so that Lua which runs on this thread is aborted at its next instruction, to repeat a cancel at the
    /// place where it struck. [`CancelFlag::expect`] comes before.
    pub fn cancel_at_once(&self) {
        self.raise(Level::AtOnce);
    }

    /// Announces that the flag will be set at once, from within Lua that begins to run after this.
    pub fn expect(&self) {
        self.inner.level.fetch_max(Level::Expected as u8, Ordering::SeqCst);
    }

    fn raise(&self, level: Level) {
        self.inner.level.fetch_max(level as u8, Ordering::SeqCst);
        self.inner.threads.interrupt();
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.level.load(Ordering::Relaxed) >= Level::Cancelled as u8
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
