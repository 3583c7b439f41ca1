//! The arguments of the commands that read the records of runs.

use clap::{Args, ValueEnum};
use runvil_record::OutcomeKind;

use crate::{
    recorded,
    when::{Age, Since},
};

/// List the recorded runs, the newest first.
///
/// The column RUN holds enough of a run's id to name it in other commands.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Only runs of this name.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Only runs of this prompt, by the name in its frontmatter or by the path of its file.
    #[arg(long)]
    pub(crate) prompt: Option<String>,
    /// Only runs that ended so.
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<EndedAs>,
    /// Only runs that started then or later: a date, an instant, or a time ago such as `2d` or `12h`.
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<Since>,
    /// How many runs to list at most.
    #[arg(long, value_name = "N", default_value = "20", value_parser = limit, allow_negative_numbers = true)]
    pub(crate) limit: u32,
    /// Go on behind this run, the last one of the page before.
    #[arg(long, value_name = "RUN")]
    pub(crate) after: Option<String>,
    /// Print one JSON object to standard output instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How many runs a page holds.
fn limit(text: &str) -> Result<u32, &'static str> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a whole number from 1 on is meant, such as 20"),
        Ok(limit) => Ok(limit),
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EndedAs {
    /// It ran to its end.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It did not end: its process died.
    Interrupted,
    /// It goes on.
    Running,
    /// It has not ended: interrupted or running.
    Open,
}

impl EndedAs {
    /// The outcome as the records know it; `None` for a run that did not end.
    pub(crate) fn outcome(self) -> Option<OutcomeKind> {
        match self {
            Self::Completed => Some(OutcomeKind::Completed),
            Self::Failed => Some(OutcomeKind::Failed),
            Self::Cancelled => Some(OutcomeKind::Cancelled),
            Self::Interrupted | Self::Running | Self::Open => None,
        }
    }

    /// Whether a run with this outcome is meant that is shown in this state.
    pub(crate) fn includes(self, state: &str) -> bool {
        match self {
            Self::Interrupted => state == recorded::INTERRUPTED,
            Self::Running => state == recorded::RUNNING,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Open => true,
        }
    }
}

/// Show what a recorded run did, and when.
///
/// The timeline has a line for each section, task, model round, tool call, store operation and `log` call, with its start
/// since the start of the run and how long it took. Token counts that the server did not report are shown as `?`. What the
/// run asked for has the number that `runvil fork --at` takes.
#[derive(Debug, Args)]
pub(crate) struct TimelineArgs {
    /// The run: its id, the beginning of one, or `last`.
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Show the events that the run reported instead, whole with --json.
    #[arg(long, conflicts_with = "effects")]
    pub(crate) events: bool,
    /// Show what the run asked for instead, each with its number, what was asked, the answer and how long it took; whole
    /// with --json, each answer in the form that `runvil fork --answer` reads.
    #[arg(long)]
    pub(crate) effects: bool,
    /// Print one JSON object to standard output instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the first event in which two recorded runs differ.
///
/// Events are compared task by task, so that the order in which side-by-side tasks came forward does not count; neither do
/// the runs' names, nor times and other metrics that servers report. Exit status: 0 if the runs are the same, 1 if they differ.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The one run: its id, the beginning of one, or `last`.
    pub(crate) one: String,
    /// The other run.
    pub(crate) other: String,
    /// Print one JSON object to standard output instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Delete the records of older runs.
///
/// A run that a process drives stays, however old it is.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Delete runs that started longer ago than this, such as `30d`, `12h` or `2w`.
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Age,
    /// Tell what would be deleted, and delete nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object to standard output instead.
    #[arg(long)]
    pub(crate) json: bool,
}
