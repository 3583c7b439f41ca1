//! `runvil man`: the manual.

use std::path::Path;

use clap::{Command, CommandFactory as _};
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
    let wanted = match &args.command {
        Some(command) => format!("runvil-{command}"),
        None => "runvil".to_owned(),
    };
    let page = pages.iter().find(|page| page.name == wanted).ok_or_else(|| {
        Fault::usage(format_args!(
            "there is no command `{}`",
            args.command.as_deref().unwrap_or_default()
        ))
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

/// The page of the command, and one page for each of its subcommands.
fn pages() -> Result<Vec<Page>, Fault> {
    let mut command = Cli::command();
    // What commands inherit, such as the version, is filled in here.
    command.build();
    let mut pages = vec![page(command.clone(), "runvil".to_owned())?];
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("runvil-{}", subcommand.get_name());
        pages.push(page(subcommand.clone(), name)?);
    }
    Ok(pages)
}

fn page(command: Command, name: String) -> Result<Page, Fault> {
    let mut text = Vec::new();
    Man::new(command.display_name(name.clone()))
        .title(name.clone())
        .render(&mut text)
        .map_err(|error| Fault::failure(format_args!("the manual page cannot be made: {error}")))?;
    Ok(Page {
        name,
        text: String::from_utf8_lossy(&text).into_owned(),
    })
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
