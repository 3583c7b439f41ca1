//! `runvil new`: writes a prompt to start from.

use std::{
    ffi::OsStr,
    fs::OpenOptions,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    args::{NewArgs, Template},
    exit::{Exit, Fault},
    out,
};

/// The extension of prompt files.
const EXTENSION: &str = "md";

/// The longest name, in bytes, so that the file name fits every file system.
const MAX_NAME: usize = 64;

pub(crate) fn new(args: &NewArgs) -> Result<Exit, Fault> {
    let path = file(&args.name);
    let name = name_of(&path, &args.name)?;
    write_new(&path, &fill(args.with, name))?;
    out::note(format_args!(
        "{path} is written; run it with `runvil run {path}`",
        path = path.display()
    ));
    Ok(Exit::Success)
}

/// The prompt's file: the argument, with the extension of prompts whether or not it was given.
fn file(argument: &Path) -> PathBuf {
    if argument.extension() == Some(OsStr::new(EXTENSION)) {
        return argument.to_owned();
    }
    let mut path = argument.as_os_str().to_owned();
    path.push(".");
    path.push(EXTENSION);
    path.into()
}

/// The prompt's name: the file's name without its extension.
fn name_of<'a>(path: &'a Path, argument: &Path) -> Result<&'a str, Fault> {
    let name = path.file_stem().and_then(OsStr::to_str);
    name.filter(|name| is_name(name)).ok_or_else(|| {
        Fault::usage(format_args!("{}: this is no name for a prompt", argument.display())).with_help(format_args!(
            "a name is at most {MAX_NAME} lowercase letters, digits, `_` and `-`, a letter first, such as `weekly_report`"
        ))
    })
}

/// Whether the text is a name as prompts have them by convention.
fn is_name(text: &str) -> bool {
    let mut letters = text.bytes();
    text.len() <= MAX_NAME
        && letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"_-".contains(&letter))
}

/// The template with the prompt's name and title in it.
fn fill(template: Template, name: &str) -> String {
    template
        .text()
        .replacen("{name}", name, 1)
        .replacen("{title}", &title(name), 1)
}

/// The words of the name, each with a capital.
fn title(name: &str) -> String {
    let words = name.split(['_', '-']).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    words.map(capital).collect::<Vec<_>>().join(" ")
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), Fault> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| refused(path, &error))?;
    file.write_all(text.as_bytes()).map_err(|error| {
        // Half a prompt is worse than none.
        let _ = std::fs::remove_file(path);
        refused(path, &error)
    })
}

fn refused(path: &Path, error: &io::Error) -> Fault {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => Fault::failure(format_args!("{shown}: the file exists, and is left as it is"))
            .with_help("choose another name"),
        io::ErrorKind::NotFound => Fault::failure(format_args!("{shown}: there is no such directory"))
            .with_help("make the directory first, or name another one"),
        _ => Fault::failure(format_args!("{shown}: {error}")).with_help("check the directory and its permissions"),
    }
}

impl Template {
    fn text(self) -> &'static str {
        match self {
            Self::Plain => include_str!("../templates/plain.md"),
            Self::Chat => include_str!("../templates/chat.md"),
            Self::Tools => include_str!("../templates/tools.md"),
            Self::Fanout => include_str!("../templates/fanout.md"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;
    use runvil_engine::prompt::Prompt;

    use super::*;

    #[test]
    fn every_template_is_a_prompt_with_the_name_and_title_given() {
        for template in Template::value_variants() {
            let text = fill(*template, "weekly_report");
            let prompt = Prompt::parse(text.as_bytes(), "test").result.expect("a prompt");
            let tree = prompt.tree();
            assert_eq!(tree.frontmatter.name, "weekly_report", "{template:?}");
            assert_eq!(tree.h1.title, "Weekly Report", "{template:?}");
            assert_eq!(tree.frontmatter.runvil, Some(0), "{template:?}");
        }
    }

    #[test]
    fn a_name_is_lowercase_words_joined_by_underscores_or_hyphens() {
        for name in ["a", "weekly_report", "live-h1", "x2", "a_", &"a".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "2x", "_a", "-a", "Report", "a b", "a.b", "ä", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn the_file_has_the_extension_of_prompts() {
        assert_eq!(file(Path::new("a")), Path::new("a.md"));
        assert_eq!(file(Path::new("b/a.md")), Path::new("b/a.md"));
        assert_eq!(file(Path::new("a.txt")), Path::new("a.txt.md"));
    }

    #[test]
    fn a_title_has_no_empty_words() {
        assert_eq!(title("a__b-c_"), "A B C");
    }
}
