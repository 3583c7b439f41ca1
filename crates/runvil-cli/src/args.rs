//! The command line.

mod drive;
mod helpers;
mod records;
mod repeat;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

pub(crate) use drive::{BudgetArgs, DriveArgs, EventArgs, ShowArgs};
pub(crate) use helpers::{CompletionsArgs, ManArgs, ModelsArgs, NewArgs, Template};
pub(crate) use records::{DiffArgs, EndedAs, PruneArgs, RunsArgs, TimelineArgs};
pub(crate) use repeat::{ChangedFiles, ForkArgs, ReplayArgs, ResumeArgs, UnknownWork};

/// Run, check and test Runvil prompts.
///
/// A prompt is one Markdown file that is a program: its prose is for a model, its Lua decides what happens, its
/// frontmatter states what it needs.
#[derive(Debug, Parser)]
#[command(name = "runvil", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArgs>),
    Replay(ReplayArgs),
    Resume(Box<ResumeArgs>),
    Fork(Box<ForkArgs>),
    Runs(RunsArgs),
    Show(TimelineArgs),
    Diff(DiffArgs),
    Prune(PruneArgs),
    Check(CheckArgs),
    Contract(ContractArgs),
    Test(TestArgs),
    Model(ModelArgs),
    New(NewArgs),
    Models(ModelsArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The name of a run that is given none.
pub(crate) const DEFAULT_NAME: &str = "session-1";

/// Run a prompt and print its result.
///
/// The run result goes to standard output, byte for byte and without an added line break; everything else goes to
/// standard error. Exit status: 0 completed, 1 failed, 2 the command line or the configuration cannot be used, 130 cancelled.
///
/// Ctrl-C stops the calls that wait, such as a model round; pressed again within 2 seconds it cancels the run. SIGTERM cancels.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The prompt file.
    pub(crate) file: PathBuf,
    /// The run's argument string, passed on exactly as given.
    #[arg(default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) args: String,
    /// The text for the prompt's declared input file; `-` reads standard input, and then there is no operator.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) input: Option<PathBuf>,
    /// Where to write the text of the prompt's declared output file, once the run completed.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The model that every role is bound to: the name that the endpoint lists it under, or `local/NAME`.
    #[arg(long, value_name = "ID")]
    pub(crate) model: Option<String>,
    /// The run's name, which its events carry.
    #[arg(long, default_value = DEFAULT_NAME)]
    pub(crate) name: String,
    /// A JSON file that `ui()` serves.
    #[arg(long, value_name = "FILE")]
    pub(crate) ui: Option<PathBuf>,
    /// A directory that serves the run's store. Without it, the run has a store in memory that is gone after it.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Which changes to the store go through.
    #[arg(long, value_name = "MODE")]
    pub(crate) store_mode: Option<StoreMode>,
    /// Refuse every change to the store.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Mount a directory beside the store, for the tools of the run. May be given several times.
    #[arg(long = "mount", value_name = "PATH=DIR")]
    pub(crate) mounts: Vec<String>,
    /// Nobody answers questions: a prompt that declares user-input is refused.
    #[arg(long)]
    pub(crate) no_operator: bool,
    /// Keep no record of the run. It can then be neither replayed nor resumed.
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Have the record survive a loss of power, too: each write of it waits for the disk.
    #[arg(long, conflicts_with = "no_record")]
    pub(crate) durable: bool,
    #[command(flatten)]
    pub(crate) drive: DriveArgs,
}

/// The storage modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreMode {
    /// Every change goes through.
    Agent,
    /// Every change is refused, since a run cannot give the approval that it would need.
    Ask,
    /// Only changes to files that end in `.md` go through.
    Plan,
}

/// Check that prompt files parse and their Lua compiles, without running anything.
///
/// Exit status: 0 if every file parses, 1 if one does not. A warning, as of a section whose text no model ever sees, changes
/// nothing in that.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The prompt files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON array, one entry for each file, to standard output. An error's `line` and `column` are those that the
    /// text names, counted from 1; they are null where the error is not one of a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what a prompt declares: its files, Packs, arguments and model roles.
#[derive(Debug, Args)]
pub(crate) struct ContractArgs {
    /// The prompt file.
    pub(crate) file: PathBuf,
    /// Print the contract as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run conformance cases.
///
/// Prints one line for each case that fails or is skipped, and the counts last. Exit status: 0 if no case failed, otherwise 1.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Case files, or directories that hold `.yaml` case files.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only cases whose id contains this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// List the cases instead of running them.
    #[arg(long, conflicts_with = "json")]
    pub(crate) list: bool,
    /// Print one JSON object to standard output instead.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show a line-by-line comparison below a failed case.
    #[arg(long)]
    pub(crate) diff: bool,
}

/// Manage the models that are installed on this machine and answer without a server.
///
/// An installed model is asked for as `local/NAME`. It is the current model where nothing else names one.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    pub(crate) command: ModelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Install a model: copy its GGUF file into the user's data folder.
    Add {
        /// The name to install it under: lowercase letters, digits, `.`, `_` and `-`.
        name: String,
        /// The GGUF file of an instruct model.
        file: PathBuf,
    },
    /// List the installed models.
    List {
        /// Print one JSON array, with the digest of each file.
        #[arg(long)]
        json: bool,
    },
    /// Remove an installed model.
    Remove {
        /// The name that it is installed under.
        name: String,
    },
}
