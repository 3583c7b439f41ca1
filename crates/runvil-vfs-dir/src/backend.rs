//! The backend's calls.

use std::{io, path::PathBuf};

use cap_std::fs::OpenOptions;
use runvil_vfs::{Backend, BackendFailure, Glob};

use crate::{
    list::Walk,
    replace::{Contents, is_hidden, is_temporary, read, replace, sweep},
    root::{Found, Root, io_failure},
};

/// A real directory that serves a mount. It need not exist yet: the first write makes it.
///
/// A link within the directory is followed as long as it stays within; one that leaves it, or has an absolute target, is
/// refused. Where the platform ignores letter case, so do the claims.
#[derive(Debug, Clone)]
pub struct DirBackend {
    root: PathBuf,
    sync: bool,
}

impl DirBackend {
    /// The backend over a directory. A replaced file's new contents are on the disk before they take the file's name, so
    /// that after a power cut, too, the file is the old one or the new one.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            sync: true,
        }
    }

    /// The same backend without waiting for the disk, for a directory that a power cut may spoil. A kill, a full disk or an
    /// error of the system still spoils nothing.
    #[must_use]
    pub fn without_sync(self) -> Self {
        Self { sync: false, ..self }
    }

    fn existing(&self) -> Result<Option<Root>, BackendFailure> {
        Root::open(&self.root).map_err(|error| io_failure(&error))
    }

    fn replace(&self, path: &str, contents: &Contents<'_>) -> Result<(), BackendFailure> {
        let root = Root::open_or_make(&self.root).map_err(|error| io_failure(&error))?;
        replace(&root, path, contents, self.sync)
    }
}

impl Backend for DirBackend {
    fn open(&self, base: &str) -> Result<(), BackendFailure> {
        let Some(root) = self.existing()? else {
            return Ok(());
        };
        match if base.is_empty() {
            Found::Directory
        } else {
            root.find(base)?
        } {
            Found::Directory | Found::Nothing => Ok(()),
            Found::File | Found::Special => Err(BackendFailure::Failed {
                message: "the store's root is not a directory".to_owned(),
            }),
        }
    }

    fn folds_case(&self) -> bool {
        cfg!(any(windows, target_os = "macos"))
    }

    fn is_lasting(&self) -> bool {
        true
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, BackendFailure> {
        let root = self
            .existing()?
            .filter(|_| !is_hidden(path))
            .ok_or(BackendFailure::NotFound)?;
        let file = root.open_file(path, OpenOptions::new().read(true))?;
        read(file).map_err(|error| io_failure(&error))
    }

    fn write(&self, path: &str, contents: Vec<u8>) -> Result<(), BackendFailure> {
        self.replace(path, &Contents::Whole(&contents))
    }

    fn append(&self, path: &str, contents: &[u8]) -> Result<(), BackendFailure> {
        self.replace(path, &Contents::Appended(contents))
    }

    fn delete(&self, path: &str) -> Result<(), BackendFailure> {
        let Some(root) = self.existing()?.filter(|_| !is_hidden(path)) else {
            return Ok(());
        };
        match root.find(path)? {
            Found::Nothing => Ok(()),
            Found::Directory => delete_directory(&root, path),
            Found::File | Found::Special => removed(&root, path, root.dir().remove_file(path)),
        }
    }

    fn exists(&self, path: &str) -> Result<bool, BackendFailure> {
        let Some(root) = self.existing()?.filter(|_| !is_hidden(path)) else {
            return Ok(false);
        };
        Ok(!matches!(root.find(path)?, Found::Nothing))
    }

    fn list(&self, base: &str, glob: &Glob) -> Result<Vec<String>, BackendFailure> {
        match self.existing()? {
            Some(root) => Walk::list(&root, base, glob),
            None => Ok(Vec::new()),
        }
    }
}

/// Removes a directory that holds nothing but what a dead writer left, or a link to one.
fn delete_directory(root: &Root, path: &str) -> Result<(), BackendFailure> {
    let Some(directory) = root.open_dir(path)? else {
        return Ok(());
    };
    for entry in directory.entries().map_err(|error| io_failure(&error))? {
        let name = entry.map_err(|error| io_failure(&error))?.file_name();
        if !is_temporary(&name) {
            return Err(BackendFailure::DirectoryNotEmpty);
        }
        sweep(&directory, &name);
    }
    drop(directory);
    let is_link = root
        .dir()
        .symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_symlink());
    // Only Windows tells a link to a directory from one to a file.
    let remove = if is_link && !cfg!(windows) {
        root.dir().remove_file(path)
    } else {
        root.dir().remove_dir(path)
    };
    removed(root, path, remove)
}

fn removed(root: &Root, path: &str, outcome: io::Result<()>) -> Result<(), BackendFailure> {
    match outcome {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Err(BackendFailure::DirectoryNotEmpty),
        Err(error) => match root.failure(path, &error) {
            BackendFailure::NotFound => Ok(()),
            failure => Err(failure),
        },
    }
}
