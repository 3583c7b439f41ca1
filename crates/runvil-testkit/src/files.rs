//! Finds case files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::case::LoadError;

/// The case files at the given paths: a file is taken as it is, a directory gives every `.yaml` file below it.
/// The order is that of `paths`, and inside a directory by name.
///
/// # Errors
/// A path is not there or cannot be listed, or a directory holds no case file.
pub fn case_files(paths: &[impl AsRef<Path>]) -> Result<Vec<PathBuf>, LoadError> {
    let mut files = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        let before = files.len();
        collect(path, true, &mut files).map_err(|error| refused(path, &unlisted(&error)))?;
        if files.len() == before {
            return Err(refused(path, "the directory holds no .yaml file"));
        }
    }
    Ok(files)
}

fn collect(path: &Path, named: bool, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if fs::metadata(path)?.is_dir() {
        let mut entries = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| collect(entry, false, files));
    }
    let is_case_file = path
        .extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml");
    if named || is_case_file {
        files.push(path.to_owned());
    }
    Ok(())
}

/// Why a path cannot be looked at, and what to do about it.
fn unlisted(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or directory; check the path".to_owned(),
        _ => format!("it cannot be looked at: {error}; check its permissions"),
    }
}

fn refused(path: &Path, message: &str) -> LoadError {
    LoadError {
        file: path.to_owned(),
        line: None,
        case: None,
        message: message.to_owned(),
    }
}
