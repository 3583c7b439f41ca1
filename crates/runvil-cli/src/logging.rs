//! What the Harness, the Packs and the model client log.

use std::{
    env,
    io::{self, Write},
};

use tracing_subscriber::{
    EnvFilter, Layer as _,
    filter::{Directive, LevelFilter},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::{out, telemetry::Telemetry};

/// The variable that says what is logged, in the syntax of `tracing`, such as `debug` or `runvil_model=debug`.
const VARIABLE: &str = "RUNVIL_LOG";

/// Writes the log to standard error, from `level` up unless `RUNVIL_LOG` says otherwise. Spans go to the export, too.
pub(crate) fn start(level: LevelFilter, telemetry: &Telemetry) {
    let filter = EnvFilter::builder()
        .with_default_directive(level.into())
        .parse_lossy(understood());
    let log = fmt::layer()
        .with_writer(|| Lines)
        .with_ansi(anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never)
        .with_target(false)
        .without_time()
        .with_filter(filter);
    tracing_subscriber::registry().with(log).with(telemetry.layer()).init();
}

/// What `RUNVIL_LOG` says, without the parts that mean nothing, of which somebody is told.
fn understood() -> String {
    let said = env::var_os(VARIABLE).unwrap_or_default();
    let said = said.to_string_lossy();
    let mut understood = Vec::new();
    for part in said.split(',').filter(|part| !part.is_empty()) {
        match part.parse::<Directive>() {
            Ok(_) => understood.push(part),
            Err(error) => out::note(format_args!(
                "warning: {VARIABLE}: `{part}` is passed over: {error}\n  help: give a level such as debug, or one for a \
                 part of the program, such as runvil_model=debug"
            )),
        }
    }
    understood.join(",")
}

/// Writes each entry of the log as lines that go through nobody else's.
struct Lines;

impl Write for Lines {
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        out::note(String::from_utf8_lossy(entry).trim_end_matches('\n'));
        Ok(entry.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
