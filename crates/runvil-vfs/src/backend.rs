//! What serves a mount's files (book: Host stores, policies, and modes).

use crate::{glob::Glob, identity::Identity};

/// The storage behind a mount.
///
/// Paths are valid store paths relative to the mount, so a backend need not check them again; a `base` is such a path or
/// `""` for the mount itself. Each call is all or nothing: one that fails has changed nothing. Several threads may call
/// at once; the claims keep accesses that could disturb each other apart.
pub trait Backend: Send + Sync {
    /// Looks whether the store at `base` can serve a run that starts. A base that does not exist yet can.
    ///
    /// # Errors
    /// The backend refuses the run, or fails.
    fn open(&self, base: &str) -> Result<(), BackendFailure>;

    /// Admits an identity that forked off.
    ///
    /// # Errors
    /// The backend refuses it.
    fn fork(&self, child: &Identity) -> Result<(), BackendFailure> {
        let _ = child;
        Ok(())
    }

    /// Whether spellings that differ only in case name one file. The claims then count them as one path.
    fn folds_case(&self) -> bool {
        false
    }

    /// Whether the files outlive the process, as those of a real directory do.
    fn is_lasting(&self) -> bool {
        false
    }

    /// The file's bytes.
    ///
    /// # Errors
    /// [`BackendFailure::NotFound`] when nothing is there or a file stands in the way, and as the storage fails.
    fn read(&self, path: &str) -> Result<Vec<u8>, BackendFailure>;

    /// Creates the file and its missing parents, or replaces its contents.
    ///
    /// # Errors
    /// A directory is there, a file stands in the way, or the storage fails.
    fn write(&self, path: &str, contents: Vec<u8>) -> Result<(), BackendFailure>;

    /// Adds to the file's end, creating it and its missing parents if it is absent.
    ///
    /// # Errors
    /// As for [`Backend::write`].
    fn append(&self, path: &str, contents: &[u8]) -> Result<(), BackendFailure>;

    /// Removes a file or an empty directory. What is absent stays so.
    ///
    /// # Errors
    /// The directory holds entries, or the storage fails.
    fn delete(&self, path: &str) -> Result<(), BackendFailure>;

    /// Whether anything is there.
    ///
    /// # Errors
    /// Absence could not be confirmed.
    fn exists(&self, path: &str) -> Result<bool, BackendFailure>;

    /// The paths, relative to `base`, of the files or directories that the pattern selects beneath it, in any order.
    ///
    /// # Errors
    /// The storage fails, or a name on the way is not UTF-8.
    fn list(&self, base: &str, glob: &Glob) -> Result<Vec<String>, BackendFailure>;
}

/// Why a backend call failed. The store adds the path as the caller spelled it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendFailure {
    /// Nothing is there.
    NotFound,
    /// Something is there already.
    AlreadyExists,
    /// A file sits where a directory is needed.
    NotADirectory {
        /// The file, relative to the mount.
        file: String,
    },
    /// A directory sits where a file is needed.
    IsADirectory,
    /// The directory holds entries.
    DirectoryNotEmpty,
    /// A name in a real directory is not UTF-8.
    NameNotUtf8 {
        /// The directory, relative to the mount; `""` is the mount itself.
        directory: String,
        /// The length in bytes of the name's longest valid prefix.
        valid_up_to: usize,
    },
    /// The storage takes no changes.
    ReadOnly,
    /// The path leads out of the directory that serves the mount, for this reason, worded to follow the path.
    OutsideRoot {
        /// Such as `escapes the mounted root`.
        how: String,
    },
    /// The operation would span two mounts.
    CrossMount {
        /// The backend's own text.
        detail: String,
    },
    /// The operating system failed.
    Io {
        /// Its error text.
        message: String,
    },
    /// The backend cannot serve such a call.
    Unsupported {
        /// The backend's own text.
        detail: String,
    },
    /// The storage itself failed.
    Failed {
        /// The backend's own text.
        message: String,
    },
}
