//! The Host's grip on one run: cancelling it, and stopping the calls that wait (book: Cancellation and stops).

use std::sync::Arc;

use runvil_pack::Cancellation;
use tokio::sync::watch;

/// Cancels a run or stops its waiting calls, from any thread. Clones act on the same run.
///
/// A cancel may come before the run is prepared, while it is, or while it goes; it is never taken back. A stop
/// reaches the calls that wait when it lands and nothing else, so a stop of a run that does not go yet changes
/// nothing.
#[derive(Debug, Clone)]
pub struct RunControl {
    cancellation: Cancellation,
    stops: Arc<watch::Sender<u64>>,
}

impl RunControl {
    /// The control of a run that nobody cancelled or stopped.
    #[must_use]
    pub fn new() -> Self {
        Self {
            cancellation: Cancellation::new(),
            stops: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Cancels the run: it ends with the cancelled outcome, unless it ended before.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Whether the run was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Ends once the run is cancelled.
    pub async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Stops the calls that wait now: model rounds, timers, and calls of tools that do not survive a stop. The run
    /// goes on.
    pub fn stop(&self) {
        self.stops.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Reports each stop from here on.
    pub(crate) fn stops(&self) -> watch::Receiver<u64> {
        self.stops.subscribe()
    }
}

impl Default for RunControl {
    fn default() -> Self {
        Self::new()
    }
}
