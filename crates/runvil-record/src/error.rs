//! Why a record cannot be kept or read: each names the place and what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::{ErrorCode, ffi::SQLITE_IOERR_SHMSIZE};

use crate::RunId;

/// Why a record cannot be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no database yet.
    #[error("{}: there are no records here yet", .0.display())]
    Missing(PathBuf),
    /// The folder of the database, or the journal of a run, cannot be made or read.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// The file is a database of something else, or none at all.
    #[error("{}: this is no database of runs", .0.display())]
    Foreign(PathBuf),
    /// A newer version of the program made the database.
    #[error("{}: the database has version {found}, and this program knows versions up to {known}", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is damaged.
    #[error("{}: the database is damaged: {detail}", .path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The journal of a run whose process died is damaged. What stands before that is in the database.
    #[error("{}: the journal of run {run} is damaged: {detail}", .path.display())]
    DamagedJournal {
        /// The journal.
        path: PathBuf,
        /// The run.
        run: RunId,
        /// What is wrong with it.
        detail: String,
    },
    /// The disk is full.
    #[error("{}: the disk is full, or the file may not grow", .0.display())]
    Full(PathBuf),
    /// Another process kept the database to itself for too long.
    #[error("{}: another process keeps the database busy", .0.display())]
    Busy(PathBuf),
    /// The database, or the folder of the journals beside it, may not be written.
    #[error("{}: this may not be written", .0.display())]
    ReadOnly(PathBuf),
    /// SQLite fails in another way.
    #[error("{}: {source}", .path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// SQLite's own error.
        source: rusqlite::Error,
    },
    /// No run has this id.
    #[error("{}: there is no run `{reference}`", .path.display())]
    NoSuchRun {
        /// The database.
        path: PathBuf,
        /// The id, or its beginning, as given.
        reference: String,
    },
    /// Several runs have ids that begin so.
    #[error("{}: several runs have ids that begin with `{reference}`, such as {} and {}", .path.display(), .two[0], .two[1])]
    Ambiguous {
        /// The database.
        path: PathBuf,
        /// The beginning, as given.
        reference: String,
        /// Two of the runs.
        two: [RunId; 2],
    },
    /// A process drives the run.
    #[error("run {0} is still going, in another process")]
    Live(RunId),
    /// The run has ended.
    #[error("run {0} has ended, so there is nothing to go on with")]
    Ended(RunId),
    /// The record of the run is in a form that this version cannot read.
    #[error("run {run} was recorded in format {found}, and this program reads format {known}")]
    OtherFormat {
        /// The run.
        run: RunId,
        /// The format of its effects, answers and events.
        found: u32,
        /// The one that this program reads.
        known: u32,
    },
    /// The journal of the run, or the run itself, is gone from under whoever drives it, or another process goes on with it.
    #[error("the record of run {0} was taken away while the run went on")]
    Lost(RunId),
    /// An earlier write failed, so that the record ends there.
    #[error("the record of run {0} ended at an earlier failure")]
    Broken(RunId),
}

impl RecordError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Missing(_) => "run a prompt first, or name another database",
            Self::Io { .. } => "check the folder and its permissions, or name another database",
            Self::Foreign(_) => "name another file for the records, or move this one out of the way",
            Self::Newer { .. } => "use the program that made it, or name another database",
            Self::Damaged { .. } => {
                "move the file and those beside it with `-wal` and `-shm` away; a new database is begun, and `sqlite3 FILE .recover` \
                 may save what is left in the old one"
            }
            Self::DamagedJournal { .. } => {
                "move the journal away to use what the database has of the run; what stands behind the damage is lost"
            }
            Self::Full(_) => {
                "free space on the disk, of which deleting runs needs a little, too; what was recorded until now stays readable"
            }
            Self::Busy(_) => "wait until the other process is done, or end it, and try again",
            Self::ReadOnly(_) => "check the permissions of the file and its folder, or name another database",
            Self::Sqlite { .. } => "check that the disk is there and that the file is whole",
            Self::NoSuchRun { .. } => "list the runs to see their ids",
            Self::Ambiguous { .. } => "give more of the id",
            Self::Live(_) => "wait until it ends, or end that process first",
            Self::Ended(_) => "replay it, or fork it from one of its effects",
            Self::OtherFormat { .. } => "use the version of the program that recorded it",
            Self::Lost(_) => "leave the folder with `-live` beside the database alone while runs go on",
            Self::Broken(_) => "correct what failed first, and resume the run",
        }
    }

    /// What an error of the system means to whoever uses the file or folder at `path`.
    pub(crate) fn from_io(path: &Path, source: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let path = path.to_owned();
        match source.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Self::Full(path),
            PermissionDenied | ReadOnlyFilesystem => Self::ReadOnly(path),
            _ => Self::Io { path, source },
        }
    }

    /// What an error of SQLite means to whoever uses the database at `path`.
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged {
                path,
                detail: source.to_string(),
            },
            Some(ErrorCode::DiskFull) => Self::Full(path),
            // The file that connections share is made whole when the database is opened, and has no room.
            Some(ErrorCode::SystemIoFailure) if extended(&source) == Some(SQLITE_IOERR_SHMSIZE) => Self::Full(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => Self::ReadOnly(path),
            _ => Self::Sqlite { path, source },
        }
    }
}

/// SQLite's own code of an error, with its details.
fn extended(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}
