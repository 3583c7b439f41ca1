//! Work that blocks, away from the async workers.

use std::{future::pending, panic::resume_unwind};

/// Runs `work` on a thread that may block. A panic in it goes on here.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime shuts down, and this future with it.
            Err(_) => pending().await,
        },
    }
}
