//! What the Harness, the Packs and the model client log.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// The variable that says what is logged, in the syntax of `tracing`, such as `debug` or `runvil_model=debug`.
const VARIABLE: &str = "RUNVIL_LOG";

/// Writes the log to standard error, from `level` up unless `RUNVIL_LOG` says otherwise.
pub(crate) fn start(level: LevelFilter) {
    let filter = EnvFilter::builder()
        .with_env_var(VARIABLE)
        .with_default_directive(level.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .without_time()
        .init();
}
