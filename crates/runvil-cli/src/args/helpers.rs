//! The arguments of the commands around a prompt: to begin one, to see the models, to learn the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Write a prompt to start from.
///
/// The prompt is written to NAME.md, and is named by the file. A file that exists is left as it is.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The prompt's name, such as `weekly_report`; a directory may stand before it.
    pub(crate) name: PathBuf,
    /// What the prompt shows.
    #[arg(long, value_name = "TEMPLATE", default_value = "plain")]
    pub(crate) with: Template,
}

/// The prompts to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// One round with a model.
    Plain,
    /// A conversation with the operator.
    Chat,
    /// A model that calls a tool written in Lua.
    Tools,
    /// One worker for each line of the argument, all at the same time.
    Fanout,
}

/// List the models of the endpoint, and which one is current.
///
/// The current model is the one to which a run binds every role: the one that runvil.toml names, or else the first of
/// the list. A `?` marks what the endpoint does not say, so that a built-in value stands in its place.
#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Print one JSON object to standard output instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print what makes a shell complete the command line.
///
/// For example, for bash: `runvil completions bash > ~/.local/share/bash-completion/completions/runvil`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page of the command, or of one of its commands.
///
/// To read one: `runvil man run | man -l -`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command whose page is asked for, such as `run` or `model add`; without it, the page of `runvil` itself.
    pub(crate) command: Vec<String>,
    /// Write every page into this directory instead.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}
