//! The run's cancel flag and how running Lua sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The one signal that a cancel sets, shared by every VM of a run. Set from any thread; never cleared.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag {
    cancelled: Arc<AtomicBool>,
}

impl CancelFlag {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag. Lua that runs in a VM with this flag is aborted at its next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
