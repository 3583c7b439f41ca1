//! The thread that drives what the command does.

use tokio::runtime::{Builder, Runtime};

use crate::exit::Fault;

/// A runtime on the calling thread. Lua runs on a thread of its own, and what blocks or computes for long on others.
pub(crate) fn start() -> Result<Runtime, Fault> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Fault::failure(format_args!("the runtime does not start: {error}")))
}
