//! Why the command cancels a run.

use std::{
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use runvil_engine::RecordFault;
use runvil_harness::RunControl;
use runvil_record::RunWriter;

use crate::{budget::Passed, out};

/// What cancelled a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cause {
    /// Ctrl-C, twice.
    Interrupted,
    /// SIGTERM, or the closing of the console.
    Terminated,
    /// A budget that the run passed.
    Budget(Passed),
    /// A stopped call whose failure the prompt let through.
    Stopped,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("Ctrl-C was pressed twice"),
            Self::Terminated => f.write_str("the command was told to end"),
            Self::Budget(passed) => passed.fmt(f),
            Self::Stopped => f.write_str("it did not go on from the call that was stopped"),
        }
    }
}

impl Cause {
    /// What to do about it, where there is something.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::Budget(passed) => Some(passed.help()),
            Self::Interrupted | Self::Terminated | Self::Stopped => None,
        }
    }

    /// The name that programs know it by.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Interrupted => "interrupt",
            Self::Terminated => "terminate",
            Self::Budget(passed) => passed.name(),
            Self::Stopped => "stop",
        }
    }
}

/// The grip on a run that remembers why it was cancelled. Clones act on the same run.
#[derive(Clone)]
pub(crate) struct Grip {
    control: RunControl,
    first: Arc<OnceLock<Cause>>,
    stopped: Arc<AtomicBool>,
    /// It does not keep the record open: whoever drives the run does.
    record: Arc<OnceLock<Weak<RunWriter>>>,
}

impl Grip {
    pub(crate) fn new(control: RunControl) -> Self {
        Self {
            control,
            first: Arc::new(OnceLock::new()),
            stopped: Arc::new(AtomicBool::new(false)),
            record: Arc::new(OnceLock::new()),
        }
    }

    /// Keeps in this record why the run is cancelled.
    pub(crate) fn record(&self, writer: &Arc<RunWriter>) {
        // A run has one record.
        let _ = self.record.set(Arc::downgrade(writer));
    }

    /// Cancels the run. The first cause is the one that is told.
    pub(crate) fn cancel(&self, cause: Cause) {
        let told = cause.to_string();
        // A later cause changes nothing.
        if self.first.set(cause).is_ok() {
            self.tell(|writer| writer.cancelling(told));
        }
        self.control.cancel();
    }

    /// Keeps in the record that a round is not sent.
    pub(crate) fn unsent(&self) {
        self.tell(RunWriter::unsent);
    }

    fn tell(&self, tell: impl FnOnce(&RunWriter) -> Result<(), RecordFault>) {
        if let Some(writer) = self.record.get().and_then(Weak::upgrade)
            && let Err(fault) = tell(&writer)
        {
            out::note(format_args!(
                "warning: why the run is cancelled cannot be recorded: {fault}"
            ));
        }
    }

    /// Stops the calls that wait.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.control.stop();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.control.is_cancelled()
    }

    /// Why the run was cancelled; `None` where nothing here did it.
    pub(crate) fn cause(&self) -> Option<Cause> {
        let stopped = self.stopped.load(Ordering::Relaxed).then_some(Cause::Stopped);
        self.first.get().cloned().or(stopped)
    }
}
