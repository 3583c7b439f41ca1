//! `runvil completions`: what makes a shell complete the command line.

use clap::{Arg, Command, CommandFactory as _, ValueHint, builder::PossibleValuesParser};

use crate::{
    args::{Cli, CompletionsArgs},
    exit::{Exit, Fault},
    out,
};

/// The arguments that name a run.
const RUNS: [&str; 4] = ["run", "one", "other", "after"];

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut completed(Cli::command()), "runvil", &mut script);
    out::print_bytes(&script)?;
    Ok(Exit::Success)
}

/// The command with what a shell can offer for each argument. Nothing is parsed with it.
fn completed(command: Command) -> Command {
    let commands: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    let hinted = |command: Command| command.mut_args(hinted);
    command
        .mut_subcommands(|command| hinted(command).mut_subcommands(hinted))
        .mut_subcommand("man", |man| {
            man.mut_arg("command", |command| {
                command.value_parser(PossibleValuesParser::new(commands))
            })
        })
}

fn hinted(arg: Arg) -> Arg {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map(ToString::to_string).unwrap_or_default();
    if RUNS.contains(&arg.get_id().as_str()) {
        return arg.value_parser(["last"]);
    }
    if !arg.get_possible_values().is_empty() {
        return arg;
    }
    let hint = match name.as_str() {
        "FILE" | "FILE|-" => ValueHint::FilePath,
        "DIR" => ValueHint::DirPath,
        "PATH" | "NAME" if arg.is_positional() => ValueHint::AnyPath,
        _ => ValueHint::Other,
    };
    arg.value_hint(hint)
}
