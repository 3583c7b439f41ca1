//! `runvil man`: the manual.

mod sections;

use std::{io, path::Path};

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use clap_mangen::Man;

use crate::{
    args::{Cli, ManArgs},
    exit::{Exit, Fault},
    files, out,
};

pub(crate) fn man(args: &ManArgs) -> Result<Exit, Fault> {
    let pages = pages()?;
    if let Some(directory) = &args.dir {
        write(&pages, directory)?;
        return Ok(Exit::Success);
    }
    let path: Vec<_> = std::iter::once("runvil")
        .chain(args.command.iter().map(String::as_str))
        .collect();
    let wanted = path.join("-");
    let page = pages.iter().find(|page| page.name == wanted).ok_or_else(|| {
        Fault::usage(format_args!("there is no command `{}`", args.command.join(" ")))
            .with_help("`runvil help` lists the commands")
    })?;
    out::print(&page.text)?;
    Ok(Exit::Success)
}

/// One page of the manual.
struct Page {
    /// The name that `man` finds it by.
    name: String,
    /// In the roff language.
    text: String,
}

/// The page of the command, and one page for each command below it.
fn pages() -> Result<Vec<Page>, Fault> {
    let mut command = without_help(Cli::command());
    // What commands inherit, such as the version, is filled in here.
    command.build();
    let mut pages = Vec::new();
    add(&command, "runvil".to_owned(), None, &mut pages)
        .map_err(|error| Fault::failure(format_args!("the manual cannot be made: {error}")))?;
    Ok(pages)
}

/// The command without `help`, which needs no page of its own.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

/// Adds the page of a command, and those of the commands below it.
fn add(command: &Command, name: String, above: Option<&str>, pages: &mut Vec<Page>) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let below = format!("{name}-{}", subcommand.get_name());
        add(subcommand, below, Some(&name), pages)?;
    }
    let text = page(command, &name, above)?;
    pages.push(Page { name, text });
    Ok(())
}

fn page(command: &Command, name: &str, above: Option<&str>) -> io::Result<String> {
    let synopsis = synopsis(command);
    let command = command.clone().display_name(name).override_usage(synopsis);
    let has_commands = command.has_subcommands();
    let man = Man::new(command).title(name);
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if has_commands {
        man.render_subcommands_section(&mut text)?;
    }
    sections::write(above, &mut text)?;
    man.render_version_section(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// How a command is called, each option with its value.
fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let shown = || command.get_arguments().filter(|arg| !arg.is_hide_set());
    let options = shown().filter(|arg| !arg.is_positional());
    let words = options.chain(shown().filter(|arg| arg.is_positional())).map(word);
    let below = command.has_subcommands().then(|| "<COMMAND>".to_owned());
    std::iter::once(name.to_owned())
        .chain(words)
        .chain(below)
        .collect::<Vec<_>>()
        .join(" ")
}

/// One argument, in brackets where it can be left out.
fn word(arg: &Arg) -> String {
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let flag = [short, long].into_iter().flatten().collect::<Vec<_>>().join("|");
    let values = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    let values: Vec<_> = values
        .unwrap_or_default()
        .iter()
        .map(|name| format!("<{name}>"))
        .collect();
    let words: Vec<_> = std::iter::once(flag)
        .filter(|flag| !flag.is_empty())
        .chain(values)
        .collect();
    let mut word = words.join(" ");
    if !arg.is_required_set() {
        word = if arg.is_positional() {
            word.replace('<', "[").replace('>', "]")
        } else {
            format!("[{word}]")
        };
    }
    if matches!(arg.get_action(), ArgAction::Append) {
        word.push_str("...");
    }
    word
}

fn write(pages: &[Page], directory: &Path) -> Result<(), Fault> {
    std::fs::create_dir_all(directory).map_err(|error| {
        Fault::failure(format_args!("{}: {error}", directory.display())).with_help("name a directory that can be made")
    })?;
    for page in pages {
        files::write(&directory.join(format!("{}.1", page.name)), &page.text)?;
    }
    Ok(())
}
