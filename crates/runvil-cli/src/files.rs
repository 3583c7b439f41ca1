//! Reads and writes the files that the command line names.

use std::{
    fs::{self, File},
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::exit::Fault;

/// The most bytes of a prompt file.
pub(crate) const MAX_PROMPT_BYTES: u64 = 16 * 1024 * 1024;

/// The most bytes of any other file that a run is given.
pub(crate) const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// There is no such file.
    #[error("{}: there is no such file", .0.display())]
    Missing(PathBuf),
    /// A file is to be made where there is no directory.
    #[error("{}: there is no directory {}", .path.display(), .directory.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// The directory that it would be made in.
        directory: PathBuf,
    },
    /// The path names a directory.
    #[error("{}: this is a directory, not a file", .0.display())]
    Directory(PathBuf),
    /// The file is too large.
    #[error("{}: the file is larger than {} MiB, the most that can be read here", .path.display(), .limit / (1024 * 1024))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The cap in bytes.
        limit: u64,
    },
    /// The file is no text.
    #[error("{}: the file is not UTF-8 text (byte {})", .path.display(), .valid_up_to)]
    NotText {
        /// The file.
        path: PathBuf,
        /// How many bytes are text.
        valid_up_to: usize,
    },
    /// The operating system refuses.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        error: io::Error,
    },
}

impl FileError {
    /// What to do about it.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::Missing(_) => "check the path",
            Self::NoDirectory { .. } => "make the directory, or name a file in another one",
            Self::Directory(_) => "name a file in it",
            Self::TooLarge { .. } => "shorten the file, or check that it is the one that you mean",
            Self::NotText { .. } => "save the file as UTF-8 text, or check that it is the one that you mean",
            Self::Io { .. } => "check the file and its permissions",
        }
    }

    fn io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing(path),
            io::ErrorKind::IsADirectory => Self::Directory(path),
            _ => Self::Io { path, error },
        }
    }
}

impl From<FileError> for Fault {
    fn from(error: FileError) -> Self {
        Self::failure(&error).with_help(error.help())
    }
}

/// Reads a file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = File::open(path).map_err(|error| FileError::io(path, error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(FileError::Directory(path.to_owned()));
    }
    read_from(path, file, limit)
}

/// Reads all of `source`, which messages call `path`.
fn read_from(path: &Path, source: impl Read, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    // A file can grow, and a device has no length, so that the bytes that come are what counts.
    source
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| FileError::io(path, error))?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(bytes)
}

/// Reads a text file; `-` is standard input.
pub(crate) fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = if is_stdin(path) {
        read_from(Path::new("standard input"), io::stdin().lock(), MAX_INPUT_BYTES)?
    } else {
        read(path, MAX_INPUT_BYTES)?
    };
    String::from_utf8(bytes).map_err(|error| FileError::NotText {
        path: path.to_owned(),
        valid_up_to: error.utf8_error().valid_up_to(),
    })
}

/// Whether the path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Replaces a file with this text, as a whole or not at all. What is no file, such as a device, is written to.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let failed = |error| FileError::io(path, error);
    match Target::of(path)? {
        Target::Device(device) => fs::write(device, text).map_err(failed),
        Target::File(target) => {
            let mut file = replacement(path, &target)?;
            file.write_all(text.as_bytes()).map_err(failed)?;
            file.persist(&target).map_err(|error| failed(error.error))?;
            Ok(())
        }
    }
}

/// Tells what would keep [`write()`] from writing a file, as far as that can be told beforehand. Nothing is written.
pub(crate) fn check_writable(path: &Path) -> Result<(), FileError> {
    match Target::of(path)? {
        // What is at the other end of a device is not disturbed.
        Target::Device(_) => Ok(()),
        Target::File(target) => replacement(path, &target).map(drop),
    }
}

/// What a path leads to that is written to. A link stays one: what it leads to is meant.
enum Target {
    /// A file, or nothing yet.
    File(PathBuf),
    /// What is no file, such as a device.
    Device(PathBuf),
}

impl Target {
    fn of(path: &Path) -> Result<Self, FileError> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => Err(FileError::Directory(path.to_owned())),
            Ok(metadata) if !metadata.is_file() => Ok(Self::Device(target)),
            _ => Ok(Self::File(target)),
        }
    }
}

/// A file that is to take another one's place, with the permissions of any new file.
fn replacement(path: &Path, target: &Path) -> Result<NamedTempFile, FileError> {
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    if !directory.is_dir() {
        return Err(FileError::NoDirectory {
            path: path.to_owned(),
            directory: directory.to_owned(),
        });
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".runvil-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
        .tempfile_in(directory)
        .map_err(|error| FileError::io(path, error))
}
