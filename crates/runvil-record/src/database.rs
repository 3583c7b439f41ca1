//! The database: one file with the records of all runs.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::{
    RecordError,
    schema::{self, Found},
};

/// How long a write waits for another process.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many pages the write-ahead log may hold before they go into the database, which waits for the disk: 32 MiB.
const LOG_PAGES: u32 = 8192;

/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 64;

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
        Self::connect(path)
    }

    /// Opens the database that is there.
    ///
    /// # Errors
    /// [`RecordError::Missing`] where there is none, else as [`Database::open`].
    pub fn open_existing(path: impl Into<PathBuf>) -> Result<Self, RecordError> {
        let path = path.into();
        if !path.is_file() {
            return Err(RecordError::Missing(path));
        }
        Self::connect(path)
    }

    /// A database in memory, gone with its last clone.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn in_memory() -> Result<Self, RecordError> {
        let failed = |error| RecordError::from_sqlite(Path::new(IN_MEMORY), error);
        let mut connection = Connection::open_in_memory().map_err(failed)?;
        schema::prepare(&mut connection).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(Self::from_connection(None, connection))
    }

    fn connect(path: PathBuf) -> Result<Self, RecordError> {
        if path.is_dir() {
            return Err(RecordError::Foreign(path));
        }
        let failed = |error| RecordError::from_sqlite(&path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        match schema::prepare(&mut connection).map_err(failed)? {
            Found::Ready => {}
            Found::Foreign => return Err(RecordError::Foreign(path)),
            Found::Newer(found) => {
                return Err(RecordError::Newer {
                    path,
                    found,
                    known: schema::VERSION,
                });
            }
        }
        // Readers do not hold up a writer, and a commit costs no wait for the disk.
        connection
            .pragma_update(None, "journal_mode", "wal")
            .and_then(|()| connection.pragma_update(None, "synchronous", "normal"))
            .and_then(|()| connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES))
            .map_err(failed)?;
        Ok(Self::from_connection(Some(path), connection))
    }

    fn from_connection(path: Option<PathBuf>, connection: Connection) -> Self {
        Self(Arc::new(Shared {
            path,
            connection: Mutex::new(connection),
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
        Ok(self)
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
        let mut connection = self.connection();
        let write = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = write(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        let written = write();
        drop(connection);
        written.map_err(|error| self.failed(error))
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
