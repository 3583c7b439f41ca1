//! The root directory of a mount, and what lies at the paths beneath it.

use std::{ffi::OsString, io, path::Path};

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};
use runvil_vfs::BackendFailure;

/// The root, opened for one call, so that a root that is moved or made anew is found again by the next.
///
/// Every path is followed from here by the capability, which keeps it beneath the root even when another process puts a
/// link in the way between two steps.
pub(crate) struct Root {
    dir: Dir,
}

/// What lies at a path.
pub(crate) enum Found {
    /// Nothing, or a file where a directory is needed.
    Nothing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A device, a pipe or a socket.
    Special,
}

impl Root {
    /// Opens the root, or `None` when it does not exist yet.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(dir) => Ok(Some(Self { dir })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the root, making it if it does not exist yet.
    pub(crate) fn open_or_make(path: &Path) -> io::Result<Self> {
        Dir::create_ambient_dir_all(path, ambient_authority())?;
        Ok(Self {
            dir: Dir::open_ambient_dir(path, ambient_authority())?,
        })
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// What lies at a path, links followed.
    pub(crate) fn find(&self, path: &str) -> Result<Found, BackendFailure> {
        match self.dir.metadata(path) {
            Ok(metadata) => Ok(found(&metadata)),
            Err(error) => match self.failure(path, &error) {
                BackendFailure::NotFound => Ok(Found::Nothing),
                failure => Err(failure),
            },
        }
    }

    /// Opens a regular file. A pipe or a device does not make the caller wait.
    pub(crate) fn open_file(&self, path: &str, options: &mut OpenOptions) -> Result<File, BackendFailure> {
        let opened = self.dir.open_with(path, options.nonblock(true));
        let file = match opened {
            Ok(file) => file,
            Err(error) => match self.find(path)? {
                Found::Directory => return Err(BackendFailure::IsADirectory),
                Found::Special => return Err(not_regular()),
                Found::File | Found::Nothing => return Err(self.failure(path, &error)),
            },
        };
        match found(&file.metadata().map_err(|error| io_failure(&error))?) {
            Found::Directory => Err(BackendFailure::IsADirectory),
            Found::File => Ok(file),
            Found::Special | Found::Nothing => Err(not_regular()),
        }
    }

    /// Opens a directory, the root for `""`. `None` when there is no directory.
    pub(crate) fn open_dir(&self, path: &str) -> Result<Option<Dir>, BackendFailure> {
        let opened = if path.is_empty() {
            self.dir.try_clone()
        } else {
            self.dir.open_dir(path)
        };
        match opened {
            Ok(dir) => Ok(Some(dir)),
            Err(error) => match self.failure(path, &error) {
                BackendFailure::NotFound => Ok(None),
                failure => Err(failure),
            },
        }
    }

    /// The parent directory of a path, opened, and the name in it.
    pub(crate) fn parent(&self, path: &str) -> Result<(Dir, OsString), BackendFailure> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.open_dir(parent)?.ok_or(BackendFailure::NotFound)?;
        Ok((dir, name.into()))
    }

    /// What an error on the way to a path means: a link that leads nowhere or out, nothing there, or a true I/O failure.
    pub(crate) fn failure(&self, path: &str, error: &io::Error) -> BackendFailure {
        if is_escape(error) {
            return escapes();
        }
        if let Some(failure) = prefixes(path).find_map(|prefix| self.bad_link(prefix)) {
            return failure;
        }
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => BackendFailure::NotFound,
            _ => io_failure(error),
        }
    }

    /// The failure of a path through a link that cannot be followed.
    fn bad_link(&self, path: &str) -> Option<BackendFailure> {
        let link = self.dir.symlink_metadata(path).ok().filter(Metadata::is_symlink);
        match (link, self.dir.metadata(path)) {
            (Some(_), Err(error)) if is_escape(&error) => Some(escapes()),
            (Some(_), Err(error)) if error.kind() != io::ErrorKind::PermissionDenied => {
                Some(BackendFailure::OutsideRoot {
                    how: "goes through a link that leads nowhere".to_owned(),
                })
            }
            _ => None,
        }
    }
}

/// The path and the directories above it, outermost first.
pub(crate) fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .map(|(end, _)| &path[..end])
        .chain((!path.is_empty()).then_some(path))
}

fn found(metadata: &Metadata) -> Found {
    if metadata.is_dir() {
        Found::Directory
    } else if metadata.is_file() {
        Found::File
    } else {
        Found::Special
    }
}

/// The capability's refusal of a path that would leave the root carries no number of the operating system.
fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

fn escapes() -> BackendFailure {
    BackendFailure::OutsideRoot {
        how: "escapes the mounted root".to_owned(),
    }
}

pub(crate) fn not_regular() -> BackendFailure {
    BackendFailure::Unsupported {
        detail: "it is not a regular file".to_owned(),
    }
}

/// The system's error text without its number.
pub(crate) fn io_failure(error: &io::Error) -> BackendFailure {
    let text = error.to_string();
    let message = match text.find(" (os error ") {
        Some(end) if error.raw_os_error().is_some() => text[..end].to_owned(),
        _ => text,
    };
    BackendFailure::Io { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_run_from_the_outermost() {
        assert_eq!(prefixes("a/b/c").collect::<Vec<_>>(), ["a", "a/b", "a/b/c"]);
        assert_eq!(prefixes("").count(), 0);
    }

    #[test]
    fn an_io_failure_carries_the_text_alone() {
        let denied = io::Error::from_raw_os_error(13);
        let BackendFailure::Io { message } = io_failure(&denied) else {
            panic!("an I/O failure")
        };
        assert!(!message.is_empty() && !message.contains("os error"), "{message}");
    }
}
