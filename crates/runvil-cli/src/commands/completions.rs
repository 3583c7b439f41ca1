//! `runvil completions`: what makes a shell complete the command line.

use clap::CommandFactory as _;

use crate::{
    args::{Cli, CompletionsArgs},
    exit::{Exit, Fault},
    out,
};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "runvil", &mut script);
    out::print_bytes(&script)?;
    Ok(Exit::Success)
}
