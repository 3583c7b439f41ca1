//! Connecting to a database file: to write it, or, where that cannot be, to read it all the same.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};

use crate::{
    RecordError,
    schema::{self, Found},
};

/// How long SQLite waits for another process.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How long whoever opens a database waits before it tries again.
const AGAIN: Duration = Duration::from_millis(5);

/// How many pages the write-ahead log may hold before they go into the database, which waits for the disk: 32 MiB.
const LOG_PAGES: u32 = 8192;

/// A log of fewer bytes is short.
const SHORT_LOG: u64 = 1 << 20;

/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 64;

/// A connection to a database of runs, of the present version.
pub(crate) struct Connected {
    pub(crate) connection: Connection,
    pub(crate) access: Access,
}

/// Whether a database can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Writable,
    /// It lacks permission.
    ReadOnly,
    /// It lacks room.
    Full,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To read and write it, next to other processes.
    Shared,
    /// To read it with no file beside it that would need room. Other processes wait meanwhile.
    Alone,
    /// To read it as it stands, in a folder where nothing can be written.
    Still,
}

/// Connects to the database at a path, and makes it where there is none.
///
/// # Errors
/// The file is no database of runs, a newer one, damaged, or cannot be opened.
pub(crate) fn to_write(path: &Path) -> Result<Connected, RecordError> {
    let begun = Instant::now();
    loop {
        match connect(path, Way::Shared) {
            // While others make the database, SQLite does not always wait by itself.
            Err(RecordError::Busy(_)) if begun.elapsed() < PATIENCE => thread::sleep(AGAIN),
            connected => return connected,
        }
    }
}

/// Connects to the database at a path, to write it if that can be.
///
/// # Errors
/// As [`to_write`].
pub(crate) fn to_read(path: &Path) -> Result<Connected, RecordError> {
    let (error, access) = match to_write(path) {
        Err(error @ RecordError::ReadOnly(_)) => (error, Access::ReadOnly),
        Err(error @ RecordError::Full(_)) => (error, Access::Full),
        connected => return connected,
    };
    let connected = match connect(path, Way::Alone) {
        // What the log holds would be left out.
        Err(_) if log_length(path) == 0 => connect(path, Way::Still),
        alone => alone,
    };
    let connection = connected.map_err(|_| error)?.connection;
    Ok(Connected { connection, access })
}

/// A database in memory.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    schema::prepare(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn connect(path: &Path, way: Way) -> Result<Connected, RecordError> {
    if path.is_dir() {
        return Err(RecordError::Foreign(path.to_owned()));
    }
    let failed = |error| RecordError::from_sqlite(path, error);
    let mut connection = open(path, way).map_err(failed)?;
    let found = match way {
        Way::Shared => schema::prepare(&mut connection),
        Way::Alone | Way::Still => schema::prepare_reading(&connection),
    };
    match found.map_err(failed)? {
        Found::Ready => {}
        Found::Foreign => return Err(RecordError::Foreign(path.to_owned())),
        Found::Newer(found) => {
            return Err(RecordError::Newer {
                path: path.to_owned(),
                found,
                known: schema::VERSION,
            });
        }
    }
    if way == Way::Shared {
        set_up(&connection).map_err(failed)?;
    }
    let access = if way == Way::Shared && !connection.is_readonly("main").map_err(failed)? {
        Access::Writable
    } else {
        Access::ReadOnly
    };
    Ok(Connected { connection, access })
}

fn open(path: &Path, way: Way) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match way {
        Way::Shared => {
            let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
            Connection::open_with_flags(path, flags)?
        }
        Way::Alone => Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?,
        Way::Still => {
            let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(still(path), flags)?
        }
    };
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    if way == Way::Alone {
        connection.pragma_update(None, "locking_mode", "exclusive")?;
    }
    Ok(connection)
}

/// Readers do not hold up a writer, and a commit costs no wait for the disk.
fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)
}

/// Whether the write-ahead log of the database is so short that whoever opens it next has read it in no time.
pub(crate) fn has_short_log(path: &Path) -> bool {
    log_length(path) < SHORT_LOG
}

/// The length of the database's write-ahead log in bytes.
fn log_length(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(PathBuf::from(log)).map_or(0, |log| log.len())
}

/// The address of a file that does not change while it is read.
fn still(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for letter in path.to_string_lossy().chars() {
        match letter {
            '%' => address.push_str("%25"),
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            '\\' if cfg!(windows) => address.push('/'),
            letter => address.push(letter),
        }
    }
    address.push_str("?immutable=1");
    address
}

#[cfg(test)]
mod tests {
    use runvil_engine::History as _;

    use super::*;
    use crate::{Database, HostFacts, RunFilter};

    const VERSION_1: &str = include_str!("../tests/data/version_1.sql");

    /// Reads all that a database of two runs has, and does not get to write it.
    fn reads_all(path: &Path, way: Way) {
        let connected = connect(path, way).expect("connected");
        let database = Database::connected(connected, path.to_owned());
        let page = database.runs(&RunFilter::default(), None, 10).expect("a page");
        assert_eq!(page.runs.len(), 2);
        for run in &page.runs {
            assert!(!database.run(run.id).expect("a run").source.is_empty());
            assert!(database.events(run.id).expect("events").all(|event| event.is_ok()));
            let mut history = database.history(run.id).expect("a history");
            assert!(history.next_step().expect("readable").is_some());
            assert!(matches!(database.resume(run.id), Err(RecordError::ReadOnly(_))));
        }
        let refused = database.record(HostFacts::default());
        assert!(matches!(refused, Err(RecordError::ReadOnly(_))));
        assert!(matches!(
            database.delete_runs(&[page.runs[0].id]),
            Err(RecordError::ReadOnly(_))
        ));
    }

    #[test]
    fn a_database_that_cannot_be_written_is_read_whatever_its_version() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("what? #1 100%.db");
        let older = Connection::open(&path).expect("a database");
        older.execute_batch(VERSION_1).expect("an older database");
        for version in 1..schema::VERSION {
            for way in [Way::Alone, Way::Still] {
                reads_all(&path, way);
            }
            schema::advance(&older, version, version + 1).expect("advanced");
        }
        drop(older);
        for way in [Way::Alone, Way::Still] {
            reads_all(&path, way);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_or_folder_without_permission_to_write_can_be_read() {
        use std::os::unix::fs::PermissionsExt as _;

        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("runs.db");
        let older = Connection::open(&path).expect("a database");
        older.execute_batch(VERSION_1).expect("an older database");
        drop(older);
        let set = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        };
        set(&path, 0o400);
        if fs::OpenOptions::new().append(true).open(&path).is_ok() {
            // Whoever runs this may write whatever the permissions say.
            return;
        }
        for folder in [0o700, 0o500] {
            set(place.path(), folder);
            let connected = to_read(&path).expect("readable");
            assert_eq!(connected.access, Access::ReadOnly);
            assert!(matches!(Database::open(&path), Err(RecordError::ReadOnly(_))));
        }
        set(place.path(), 0o700);
        set(&path, 0o600);
        // What a process leaves in the log is read, too.
        let database = Database::open(&path).expect("brought up to date");
        let named = database.writing(|connection| connection.execute("UPDATE runs SET name = 'changed'", []));
        assert_eq!(named.expect("written"), 2);
        drop(database);
        assert!(log_length(&path) > 0);
        set(&path, 0o400);
        for folder in [0o700, 0o500] {
            set(place.path(), folder);
            let connected = to_read(&path).expect("readable");
            let database = Database::connected(connected, path.clone());
            assert_eq!(
                database
                    .runs(&RunFilter::default(), None, 10)
                    .expect("a page")
                    .runs
                    .len(),
                2
            );
        }
        set(place.path(), 0o700);
    }
}
