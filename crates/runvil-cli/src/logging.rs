//! What the Harness, the Packs and the model client log.

use tracing_subscriber::EnvFilter;

/// The variable that says what is logged, in the syntax of `tracing`, such as `debug` or `runvil_model=debug`.
const VARIABLE: &str = "RUNVIL_LOG";

/// Writes the log to standard error: warnings, unless `RUNVIL_LOG` says otherwise.
pub(crate) fn start() {
    let filter = EnvFilter::builder()
        .with_env_var(VARIABLE)
        .with_default_directive(tracing_subscriber::filter::LevelFilter::WARN.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .without_time()
        .init();
}
