//! Work that is never answered, told apart from work that is slow.

use std::{future::pending, sync::Arc};

use tokio::sync::Notify;

/// Tells the driver that the work it performs will never be answered, so that it need not wait to find out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hang(Arc<Notify>);

impl Hang {
    /// Tells so, and never returns.
    pub(crate) async fn forever<T>(&self) -> T {
        self.0.notify_one();
        pending().await
    }

    /// Ends once the work that is performed now turns out to hang.
    pub(crate) async fn hung(&self) {
        self.0.notified().await;
    }
}
