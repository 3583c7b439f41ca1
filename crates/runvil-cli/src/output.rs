//! Where the text of a prompt's declared output file goes.

use std::path::Path;

use runvil_syntax::Frontmatter;

use crate::{
    exit::Fault,
    files::{self, FileError},
};

/// Tells before a run what would keep its output file from being written after it.
///
/// # Errors
/// The prompt declares no such file, or what `--output` names cannot be written.
pub(crate) fn check(output: Option<&Path>, prompt: &Path, declared: Option<&Frontmatter>) -> Result<(), Fault> {
    let Some(path) = output else { return Ok(()) };
    if files::is_stdin(path) {
        return Err(Fault::usage(
            "--output -: the output file cannot go to standard output, which holds the run result",
        )
        .with_help("name a file; one that is called `-` is `./-`"));
    }
    if declared.is_some_and(|frontmatter| frontmatter.output.is_none()) {
        return Err(Fault::usage(format_args!(
            "--output {}: the prompt {} declares no `output:` file",
            path.display(),
            prompt.display()
        ))
        .with_help(
            "leave --output out, or declare an `output:` file in the frontmatter; the run result goes to standard \
             output",
        ));
    }
    files::check_writable(path).map_err(|error| unwritable(&error).with_help(error.help()))
}

/// Tells the same of a run that goes on, whose output file was named when it began.
///
/// # Errors
/// The file cannot be written any more.
pub(crate) fn check_again(output: Option<&Path>) -> Result<(), Fault> {
    let checked = output.map_or(Ok(()), files::check_writable);
    checked.map_err(|error| {
        let help = match error {
            FileError::NoDirectory { .. } => "make the directory; the record is as it was",
            _ => "make it possible to write the file; the record is as it was",
        };
        unwritable(&error).with_help(help)
    })
}

fn unwritable(error: &FileError) -> Fault {
    let message = format!("--output {error}");
    match error {
        FileError::Directory(_) => Fault::usage(message),
        _ => Fault::failure(message),
    }
}
