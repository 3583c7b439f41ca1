//! The command's hold on a run that it drives: who hears of it, what ends it, what it leaves.

use std::{path::Path, sync::Arc};

use runvil_engine::RunOutcome;
use runvil_harness::{ModelAccess, RunControl, RunReport};
use runvil_record::{RunId, RunWriter};
use runvil_syntax::Prompt;
use runvil_trace::{Beside, RunSpans};
use tokio::task::JoinHandle;

use crate::{
    args::ShowArgs,
    budget::Budget,
    cause::Grip,
    ending::Ending,
    exit::{Exit, Fault},
    files,
    signals::{self, Signals},
    usage::{Meter, Usage, metered},
    watch::Watch,
};

/// The hold on one run.
pub(crate) struct Hold {
    pub(crate) control: RunControl,
    grip: Grip,
    meter: Arc<Meter>,
}

/// What a run left, and whose it is.
pub(crate) struct Left<'a> {
    /// Where the prompt is.
    pub(crate) path: &'a Path,
    pub(crate) source: &'a [u8],
    /// The prompt's tree, where there is one.
    pub(crate) prompt: Option<&'a Prompt>,
    pub(crate) report: &'a RunReport,
    /// Where the text of the declared output file goes.
    pub(crate) output: Option<&'a Path>,
    /// The prompt declares roles, and there is no model for them.
    pub(crate) lacks_model: bool,
    /// Under which id the run is recorded.
    pub(crate) recorded: Option<RunId>,
}

impl Hold {
    /// A hold on a run that has used so much before.
    pub(crate) fn new(budget: Budget, used: Usage) -> Self {
        let control = RunControl::new();
        let grip = Grip::new(control.clone());
        let meter = Arc::new(Meter::new(budget, grip.clone(), used));
        Self { control, grip, meter }
    }

    /// Keeps in this record why the run is cancelled.
    pub(crate) fn record(&self, writer: &Arc<RunWriter>) {
        self.grip.record(writer);
    }

    /// The models, with every round counted.
    pub(crate) fn metered(&self, models: ModelAccess) -> ModelAccess {
        metered(models, &self.meter)
    }

    /// Shows the run from here on. A signal then ends the run and no longer the process.
    pub(crate) fn watch(&self, show: &ShowArgs, prompt: Option<&Prompt>, name: &str) -> Result<Watched, Fault> {
        let prompt = prompt.map_or("", |prompt| &prompt.frontmatter.name);
        let listening =
            Signals::listen().map_err(|error| Fault::failure(format_args!("signals cannot be heeded: {error}")))?;
        Ok(Watched {
            watch: Watch::begin(show, &self.meter)?,
            spans: RunSpans::start(prompt, name),
            signals: tokio::spawn(signals::heed(listening, self.grip.clone())),
            clock: tokio::spawn(Arc::clone(&self.meter).watch_time()),
        })
    }

    /// Hands out what the run left.
    pub(crate) fn deliver(&self, left: &Left<'_>, show: &ShowArgs) -> Result<Exit, Fault> {
        let report = left.report;
        let cancelled = matches!(report.outcome, RunOutcome::Cancelled);
        let ending = Ending {
            path: left.path,
            source: left.source,
            prompt: left.prompt,
            outcome: &report.outcome,
            cause: cancelled.then(|| self.grip.cause()).flatten(),
            usage: self.meter.usage(),
            output: report.output.as_ref().and_then(|output| output.as_ref().err()),
            lacks_model: left.lacks_model,
            recorded: left.recorded,
        };
        let told = if show.json { ending.print_json() } else { ending.tell() };
        // It is written whatever becomes of standard output.
        if let (Some(Ok(text)), Some(path)) = (&report.output, left.output) {
            files::write(path, text)?;
        }
        told
    }
}

/// What hears of a run, with signals heeded while it goes.
pub(crate) struct Watched {
    watch: Watch,
    spans: RunSpans,
    signals: JoinHandle<()>,
    clock: JoinHandle<()>,
}

impl Watched {
    /// Who is to hear the run.
    pub(crate) fn observer(&mut self) -> Beside<'_> {
        self.spans.beside(&mut self.watch)
    }

    /// Ends what is shown of a run that ended so, if it came that far.
    ///
    /// # Errors
    /// Not every event was written.
    pub(crate) fn end(self, outcome: Option<&RunOutcome>) -> Result<(), Fault> {
        self.signals.abort();
        self.clock.abort();
        if let Some(outcome) = outcome {
            self.spans.end(outcome);
        }
        self.watch.finish()
    }
}
