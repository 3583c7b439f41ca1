//! Deleting the records of runs.

use rusqlite::{Connection, OptionalExtension as _};

use crate::{Database, RecordError, RunId, journal::Journal, schema::RUN_TABLES};

/// What deleting came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deleted {
    /// The runs that are gone.
    pub runs: Vec<RunId>,
    /// The runs that stayed, since a process drives them.
    pub live: Vec<RunId>,
    /// The bytes of their texts and rows, about as many as the database has free now.
    pub bytes: u64,
}

impl Database {
    /// Deletes the records of these runs, each whole or not at all. A run that a process drives stays. One that is not
    /// there is passed over.
    ///
    /// The freed place goes to the runs to come; [`Database::shrink`] gives it back to the disk.
    ///
    /// # Errors
    /// The database cannot be written. Runs that were deleted before stay so.
    pub fn delete_runs(&self, runs: &[RunId]) -> Result<Deleted, RecordError> {
        self.check_writable()?;
        let mut deleted = Deleted::default();
        for &run in runs {
            let take = |path| Journal::take(path, run, self.durability());
            let journal = match self.path().map(take).transpose() {
                Ok(journal) => journal,
                Err(RecordError::Live(_)) => {
                    deleted.live.push(run);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let bytes = self.writing(|connection| {
                let key = key(connection, run)?;
                key.map(|key| delete(connection, key)).transpose()
            })?;
            if let Some(journal) = journal {
                journal.remove();
            }
            if let Some(bytes) = bytes {
                deleted.bytes += bytes;
                deleted.runs.push(run);
            }
        }
        Ok(deleted)
    }

    /// About how many bytes deleting a run would free.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn size(&self, run: RunId) -> Result<u64, RecordError> {
        let bytes = self.reading(|connection| key(connection, run)?.map(|key| bytes(connection, key)).transpose())?;
        bytes.ok_or_else(|| self.lacks_run(&run.to_string()))
    }

    /// Gives the place of deleted runs back to the disk. It takes a while, and room for a second copy of the database.
    ///
    /// # Errors
    /// Another process uses the database, or the disk is full.
    pub fn shrink(&self) -> Result<(), RecordError> {
        self.reading(|connection| connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"))
    }
}

fn key(connection: &Connection, run: RunId) -> rusqlite::Result<Option<i64>> {
    connection
        .query_row("SELECT key FROM runs WHERE id = ?1", [run.to_string()], |row| {
            row.get(0)
        })
        .optional()
}

/// The texts that no other run holds, as a condition on `texts`.
const OWN_TEXTS: &str = "key IN (SELECT text FROM text_uses WHERE run = ?1) \
                         AND NOT EXISTS (SELECT 1 FROM text_uses u WHERE u.text = texts.key AND u.run <> ?1)";

/// Deletes a run, and tells about how many bytes that was.
fn delete(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    let bytes = bytes(connection, key)?;
    connection.execute(&format!("DELETE FROM texts WHERE {OWN_TEXTS}"), [key])?;
    for table in RUN_TABLES {
        connection.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [key])?;
    }
    connection.execute("DELETE FROM runs WHERE key = ?1", [key])?;
    Ok(bytes)
}

fn bytes(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    let sum = |sql: &str| connection.query_row(sql, [key], |row| row.get::<_, i64>(0));
    let texts = sum(&format!(
        "SELECT coalesce(sum(length(body) + 40), 0) FROM texts WHERE {OWN_TEXTS}"
    ))?;
    let chunks = sum("SELECT coalesce(sum(length(body) + 16), 0) FROM chunks WHERE run = ?1")?;
    Ok((texts + chunks).unsigned_abs())
}
