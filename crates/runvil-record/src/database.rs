//! The database: one file with the records of all runs.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rusqlite::{Connection, TransactionBehavior, config::DbConfig};

use crate::{
    RecordError, RunId,
    connect::{self, Access, Connected, PATIENCE},
};

/// What a record survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process.
    #[default]
    Process,
    /// The loss of power, too: each write waits for the disk.
    Power,
}

/// The records of all runs. Clones share one connection; several processes may have the same file open.
#[derive(Clone)]
pub struct Database(Arc<Shared>);

struct Shared {
    /// `None` for a database in memory.
    path: Option<PathBuf>,
    connection: Mutex<Connection>,
    access: Access,
    /// Whether writes survive the loss of power.
    durable: AtomicBool,
    /// The runs whose journals are damaged, with the journal and what is wrong.
    damaged: Mutex<BTreeMap<RunId, (PathBuf, String)>>,
}

impl Drop for Shared {
    /// A short log is left for a later process to bring into the database, since that waits for the disk.
    fn drop(&mut self) {
        if self.path.as_deref().is_some_and(connect::has_short_log) {
            let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner);
            // If this fails, the log is brought in.
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.path()).finish()
    }
}

impl Database {
    /// Opens the database, and makes it and its folder where there is none.
    ///
    /// # Errors
    /// The file is no database of runs, a newer one, damaged, or cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, RecordError> {
        let path = path.into();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make_folder(folder).map_err(|source| RecordError::Io {
                path: folder.to_owned(),
                source,
            })?;
        }
        make_private(&path);
        let database = Self::connected(connect::to_write(&path)?, path);
        database.check_writable()?;
        Ok(database)
    }

    /// Opens the database that is there. One that may not be written, or has no room, can be read all the same.
    ///
    /// # Errors
    /// [`RecordError::Missing`] where there is none, else as [`Database::open`].
    pub fn open_existing(path: impl Into<PathBuf>) -> Result<Self, RecordError> {
        let path = path.into();
        if !path.is_file() {
            return Err(RecordError::Missing(path));
        }
        Ok(Self::connected(connect::to_read(&path)?, path))
    }

    /// A database in memory, gone with its last clone.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn in_memory() -> Result<Self, RecordError> {
        let failed = |error| RecordError::from_sqlite(Path::new(IN_MEMORY), error);
        let connection = connect::in_memory().map_err(failed)?;
        Ok(Self::from_parts(None, connection, Access::Writable))
    }

    pub(crate) fn connected(Connected { connection, access }: Connected, path: PathBuf) -> Self {
        let database = Self::from_parts(Some(path), connection, access);
        database.recover();
        database
    }

    fn from_parts(path: Option<PathBuf>, connection: Connection, access: Access) -> Self {
        Self(Arc::new(Shared {
            path,
            connection: Mutex::new(connection),
            access,
            durable: AtomicBool::new(false),
            damaged: Mutex::default(),
        }))
    }

    /// The same database, whose writes from here on survive this.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn with_durability(self, durability: Durability) -> Result<Self, RecordError> {
        let level = match durability {
            Durability::Process => "normal",
            Durability::Power => "full",
        };
        let set = self.connection().pragma_update(None, "synchronous", level);
        set.map_err(|error| self.failed(error))?;
        self.0.durable.store(durability == Durability::Power, Ordering::Relaxed);
        Ok(self)
    }

    pub(crate) fn durability(&self) -> Durability {
        if self.0.durable.load(Ordering::Relaxed) {
            Durability::Power
        } else {
            Durability::Process
        }
    }

    /// Whether the database was opened so that it can be written.
    pub(crate) fn is_writable(&self) -> bool {
        self.0.access == Access::Writable
    }

    pub(crate) fn check_writable(&self) -> Result<(), RecordError> {
        match self.0.access {
            Access::Writable => Ok(()),
            Access::ReadOnly => Err(RecordError::ReadOnly(self.place().to_owned())),
            Access::Full => Err(RecordError::Full(self.place().to_owned())),
        }
    }

    /// Remembers why the journal of a run could not be brought in, if that is more than want of room or of permission.
    pub(crate) fn note(&self, run: RunId, error: RecordError) {
        let mut damaged = self.0.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        if let RecordError::DamagedJournal { path, detail, .. } = error {
            damaged.insert(run, (path, detail));
        }
    }

    /// What is wrong with the journal of such a run, if it is damaged.
    pub(crate) fn damaged_journal(&self, is_meant: impl Fn(&RunId) -> bool) -> Option<RecordError> {
        let damaged = self.0.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        let (&run, (path, detail)) = damaged.iter().find(|(run, _)| is_meant(run))?;
        Some(RecordError::DamagedJournal {
            path: path.clone(),
            run,
            detail: detail.clone(),
        })
    }

    /// Lets the file grow no further than to so many pages, or than it is, for trying what a full disk does.
    ///
    /// # Errors
    /// SQLite fails.
    #[doc(hidden)]
    pub fn limit_pages(&self, pages: u32) -> Result<(), RecordError> {
        self.reading(|connection| connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())))
    }

    /// Where the database is; `None` for one in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Where it is, for messages.
    pub(crate) fn place(&self) -> &Path {
        self.path().unwrap_or(Path::new(IN_MEMORY))
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn failed(&self, error: rusqlite::Error) -> RecordError {
        RecordError::from_sqlite(self.place(), error)
    }

    pub(crate) fn damaged(&self, detail: impl fmt::Display) -> RecordError {
        RecordError::Damaged {
            path: self.place().to_owned(),
            detail: detail.to_string(),
        }
    }

    /// Reads with the connection.
    pub(crate) fn reading<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, RecordError> {
        read(&self.connection()).map_err(|error| self.failed(error))
    }

    /// Makes changes that land together or not at all.
    pub(crate) fn writing<T>(&self, write: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, RecordError> {
        self.transaction(PATIENCE, write).map_err(|error| self.failed(error))
    }

    /// As [`Database::writing`], with an error of one's own, and another patience with processes that write, too.
    pub(crate) fn transaction<T, E: From<rusqlite::Error>>(
        &self,
        patience: Duration,
        write: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.connection();
        connection.busy_timeout(patience)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let written = transaction.map_err(E::from).and_then(|transaction| {
            let value = write(&transaction)?;
            transaction.commit()?;
            Ok(value)
        });
        connection.busy_timeout(PATIENCE)?;
        written
    }
}

/// What a database in memory is called in messages.
const IN_MEMORY: &str = "the database in memory";

/// Makes the folder of the database, which is its user's alone, and those above it.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes the file of a new database, so that nobody but its user can read what runs said. What is in its way is told when
/// the database is opened.
fn make_private(path: &Path) {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}
