//! The arguments of the commands that take up a recorded run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{DriveArgs, EventArgs};

/// Repeat a recorded run with its recorded answers, and compare every event and request.
///
/// No model, no tool and no store is asked. If the prompt file was edited since, or another file is given, that one is run,
/// and the first difference is shown. Exit status: 0 the same, 1 different.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The run: its id, the beginning of it, or `last`.
    pub(crate) run: String,
    /// The prompt file to run in place of the recorded text.
    #[arg(value_name = "FILE", conflicts_with = "recorded")]
    pub(crate) file: Option<PathBuf>,
    /// Run the recorded text, though the prompt file was edited since.
    #[arg(long)]
    pub(crate) recorded: bool,
    /// Print nothing; the exit status tells.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print one JSON object to standard output instead.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) events: EventArgs,
}

/// Go on with a run whose process died, from its last recorded answer.
///
/// Model rounds, reads, changes of the store and timers that were open are asked again. A tool's call is made again only
/// where the tool says that this is safe. The result goes to standard output. Exit status: as of the run.
///
/// The run keeps its prompt, model, limits and budgets; what has changed since is said before anything runs. A budget counts
/// the rounds and tokens that the run used before; seconds count from here on.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run: its id, the beginning of it, or `last`.
    pub(crate) run: String,
    /// What becomes of open work of which nobody knows whether it took effect.
    #[arg(long, value_enum, default_value_t = UnknownWork::Ask, value_name = "WHAT")]
    pub(crate) on_unknown: UnknownWork,
    /// What becomes of the run where files in the directory of its store are no longer as it left them.
    #[arg(long, value_enum, default_value_t = ChangedFiles::Ask, value_name = "WHAT")]
    pub(crate) on_changed: ChangedFiles,
    /// Have the record survive a loss of power, too: each write of it waits for the disk.
    #[arg(long)]
    pub(crate) durable: bool,
    #[command(flatten)]
    pub(crate) drive: DriveArgs,
}

/// What becomes of open work of which nobody knows whether it took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnknownWork {
    /// Stop and ask.
    Ask,
    /// Do it again.
    Repeat,
    /// Tell the run that it failed.
    Fail,
}

/// What becomes of a run whose files are no longer as it left them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChangedFiles {
    /// Stop and ask.
    Ask,
    /// Go on with the files as they are.
    Accept,
}

/// Start a new run that has the answers of a recorded one up to some effect, and goes its own way from there.
///
/// `runvil show RUN --effects` lists the effects of a run with their numbers and answers.
///
/// The seed, the start instant, the arguments, the input, the model, the limits and the budgets are those of the recorded run;
/// the prompt or the answer of that effect may be another. The result goes to standard output. Exit status: as of the run.
/// A budget counts the rounds and tokens behind the answers that are taken over.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The run: its id, the beginning of it, or `last`.
    pub(crate) run: String,
    /// The last effect that is answered as it was.
    #[arg(long, value_name = "N", value_parser = effect, allow_negative_numbers = true)]
    pub(crate) at: u64,
    /// The prompt file to run in place of the recorded text.
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt: Option<PathBuf>,
    /// A JSON file with another answer for that effect, in the form in which `runvil show RUN --effects --json` has it.
    #[arg(long, value_name = "FILE")]
    pub(crate) answer: Option<PathBuf>,
    /// Where to write the text of the prompt's declared output file, once the run completed.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Have the record survive a loss of power, too: each write of it waits for the disk.
    #[arg(long)]
    pub(crate) durable: bool,
    #[command(flatten)]
    pub(crate) drive: DriveArgs,
}

/// The number of an effect.
fn effect(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(0) | Err(_) => Err("effects are counted from 1; `runvil show RUN --effects` lists them"),
        Ok(number) => Ok(number),
    }
}
