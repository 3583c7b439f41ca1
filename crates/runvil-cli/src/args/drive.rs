//! How a run is bounded and shown while it goes, whichever command drives it.

use clap::Args;

use crate::{
    budget::{Seconds, count},
    event_lines::EventSink,
};

// What every command takes that drives a run. As a doc comment, this would take the place of the command's own.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DriveArgs {
    #[command(flatten, next_help_heading = "Budgets")]
    pub(crate) budget: BudgetArgs,
    #[command(flatten, next_help_heading = "What is shown")]
    pub(crate) show: ShowArgs,
}

// What a run may use.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct BudgetArgs {
    /// Cancel the run before it makes more model rounds than that.
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) max_rounds: Option<u64>,
    /// Cancel the run once its requests and replies together took more tokens, as far as the server reports them.
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) max_total_tokens: Option<u64>,
    /// Cancel the run after so many seconds, waiting for the operator included.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) max_seconds: Option<Seconds>,
}

// What is shown of a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ShowArgs {
    /// Show nothing but the result and what went wrong.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Tell each section, task, round and tool call on standard error, also where nobody watches.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print one JSON object to standard output in place of the result: the outcome, the result or the error, the usage,
    /// and the id under which the run is recorded. An error's `place` is the file, line and column that the text names,
    /// counted from 1, or null where there is none; its `location` is what the run itself reports.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    /// Debug mode: the run also reports Request and Response events, with the raw bodies of each model round.
    #[arg(long)]
    pub(crate) debug: bool,
}

impl ShowArgs {
    /// Whether lines for a person may stand on standard error while the run goes.
    pub(crate) fn has_notes(&self) -> bool {
        !self.quiet && !self.events.are_alone()
    }
}

// Where events go.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EventArgs {
    /// Write each event as a line of JSON, as soon as it happens: `jsonl` to standard error, which then shows nothing
    /// else of the run, `jsonl:FILE` to a file.
    #[arg(long = "events", value_name = "jsonl[:FILE]")]
    pub(crate) sink: Option<EventSink>,
}

impl EventArgs {
    /// Whether standard error is to hold lines of JSON and nothing that stands between them.
    pub(crate) fn are_alone(&self) -> bool {
        self.sink.as_ref().is_some_and(|sink| sink.file.is_none())
    }
}
