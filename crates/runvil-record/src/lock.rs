//! Which runs are driven at the moment: each holds the lock of a file, which ends with its process.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::{RecordError, RunId};

/// The lock of a run. While it is held, no other process drives or deletes the run.
#[derive(Debug)]
pub(crate) struct RunLock {
    path: PathBuf,
    /// Closing it lets the lock go.
    _file: File,
}

impl RunLock {
    /// Takes the lock of a run, for the database at `database`.
    ///
    /// # Errors
    /// [`RecordError::Live`] while somebody else holds it.
    pub(crate) fn take(database: &Path, run: RunId) -> Result<Self, RecordError> {
        let folder = folder(database);
        let path = folder.join(format!("{run}.lock"));
        let failed = |path: &Path, source: io::Error| RecordError::Io {
            path: path.to_owned(),
            source,
        };
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| failed(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, _file: file }),
            Err(TryLockError::WouldBlock) => Err(RecordError::Live(run)),
            Err(TryLockError::Error(error)) => Err(failed(&path, error)),
        }
    }

    /// Gives the lock up for good, since the run has ended or is gone. Whoever takes it again sees that.
    pub(crate) fn remove(self) {
        // A file that stays costs nothing but its place.
        let _ = fs::remove_file(&self.path);
    }
}

/// The folder of the locks, beside the database.
fn folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-live");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_until_it_goes() {
        let place = tempfile::tempdir().expect("a folder");
        let (database, run) = (place.path().join("runs.db"), RunId::draw());
        let held = RunLock::take(&database, run).expect("the lock is free");
        assert!(matches!(RunLock::take(&database, run), Err(RecordError::Live(_))));
        assert!(RunLock::take(&database, RunId::draw()).is_ok());
        drop(held);
        RunLock::take(&database, run).expect("the lock is free again").remove();
        assert!(RunLock::take(&database, run).is_ok());
    }
}
