//! Brings what the recorder was told into the database.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Params, params};

use crate::{
    Database, RecordError, RunId,
    change::{Change, Frame, Start},
    chunk,
};

/// Applies the frames of one run, in order.
#[derive(Debug)]
pub(crate) struct Applier {
    run: RunId,
    /// The run's key, once it has a row.
    key: Option<i64>,
    /// The last frame that the database has.
    applied: u64,
}

/// Why frames cannot be applied.
#[derive(Debug, thiserror::Error)]
enum Unapplied {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// Somebody else has written on, or deleted the run.
    #[error("the run is somebody else's")]
    Overtaken,
}

impl Applier {
    /// The applier of a run that the database does not have yet.
    pub(crate) fn new(run: RunId) -> Self {
        Self {
            run,
            key: None,
            applied: 0,
        }
    }

    /// The applier of a run, as the database has it.
    ///
    /// # Errors
    /// SQLite fails.
    pub(crate) fn of(connection: &Connection, run: RunId) -> rusqlite::Result<Self> {
        let row = connection
            .prepare_cached("SELECT key, applied FROM runs WHERE id = ?1")?
            .query_row([run.to_string()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))
            .optional()?;
        Ok(match row {
            Some((key, applied)) => Self {
                run,
                key: Some(key),
                applied: applied.unsigned_abs(),
            },
            None => Self::new(run),
        })
    }

    /// The last frame that the database has.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    /// Applies frames that follow on what the database has, all of them or none. The patience is for other processes that
    /// write.
    ///
    /// # Errors
    /// The database cannot be written; [`RecordError::Lost`] if it does not stand where this left it.
    pub(crate) fn apply(
        &mut self,
        database: &Database,
        patience: Duration,
        frames: &[Frame],
    ) -> Result<(), RecordError> {
        let Some(last) = frames.last() else { return Ok(()) };
        let key = database.transaction(patience, |connection| {
            let mut tables = self.claim(connection, &frames[0], last.sequence)?;
            for frame in frames {
                tables.at = frame.at;
                for change in &frame.changes {
                    tables.apply(change)?;
                }
            }
            tables.chunk(frames)?;
            Ok(tables.key)
        });
        let key = key.map_err(|error| match error {
            Unapplied::Sqlite(error) => database.failed(error),
            Unapplied::Overtaken => RecordError::Lost(self.run),
        })?;
        (self.key, self.applied) = (Some(key), last.sequence);
        Ok(())
    }

    /// Notes that the database has the run's frames up to this one. Only who knows where it stood may do so; the run's
    /// first frame makes its row.
    fn claim<'c>(&self, connection: &'c Connection, first: &Frame, last: u64) -> Result<Tables<'c>, Unapplied> {
        let applied = number(last);
        let key = match (self.key, first.changes.first()) {
            (Some(key), _) => {
                // The key of a deleted run goes to another one; its id never does.
                let claimed = connection
                    .prepare_cached("UPDATE runs SET applied = ?2 WHERE key = ?1 AND applied = ?3 AND id = ?4")?
                    .execute(params![key, applied, number(self.applied), self.run.to_string()])?;
                if claimed == 0 {
                    return Err(Unapplied::Overtaken);
                }
                key
            }
            (None, Some(Change::Start(start))) => insert_run(connection, self.run, start, applied)?,
            (None, _) => return Err(Unapplied::Overtaken),
        };
        Ok(Tables::new(connection, key))
    }
}

fn insert_run(connection: &Connection, run: RunId, start: &Start, applied: i64) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO runs (id, name, prompt_hash, prompt, file, started_at, format, host, start, parent, parent_effect, \
                               applied) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .insert(params![
            run.to_string(),
            start.name,
            start.prompt_hash,
            start.prompt,
            start.file,
            start.started_at,
            start.format,
            start.host,
            start.start,
            start.parent,
            start.parent_effect,
            applied,
        ])
}

/// The columns and tables of one run, in a transaction.
pub(crate) struct Tables<'c> {
    connection: &'c Connection,
    key: i64,
    /// When what is written was told.
    at: i64,
}

impl<'c> Tables<'c> {
    pub(crate) fn new(connection: &'c Connection, key: i64) -> Self {
        Self { connection, key, at: 0 }
    }

    fn execute(&self, sql: &str, values: impl Params) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute(values).map(drop)
    }

    /// Keeps what happened, in one piece.
    fn chunk(&self, frames: &[Frame]) -> rusqlite::Result<()> {
        let (Some(first), Some(body)) = (frames.first(), chunk::pack(frames)) else {
            return Ok(());
        };
        self.execute(
            "INSERT INTO chunks (run, first, body) VALUES (?1, ?2, ?3)",
            params![self.key, number(first.sequence), body],
        )
    }

    /// Makes a change, unless it belongs into a chunk.
    pub(crate) fn apply(&self, change: &Change) -> rusqlite::Result<()> {
        let (key, at) = (self.key, self.at);
        match change {
            Change::Resume => self.execute("UPDATE runs SET resumed = resumed + 1 WHERE key = ?1", [key]),
            Change::Text { number, hash, body } => self.text(*number, hash, body),
            Change::Parse { name } => {
                self.execute("UPDATE runs SET prompt_name = ?2 WHERE key = ?1", params![key, name])
            }
            Change::Prepare { body } => {
                self.execute("UPDATE runs SET prepared = ?2 WHERE key = ?1", params![key, body])
            }
            Change::Sums(sums) => self.execute(
                "UPDATE runs SET effects = ?2, rounds = ?3, prompt_tokens = ?4, completion_tokens = ?5, unreported = ?6 \
                 WHERE key = ?1",
                params![
                    key,
                    sums.effects,
                    sums.rounds,
                    sums.prompt_tokens,
                    sums.completion_tokens,
                    sums.unreported
                ],
            ),
            Change::End { outcome, body } => self.execute(
                "UPDATE runs SET outcome = ?2, ending = ?3, ended_at = ?4 WHERE key = ?1",
                params![key, outcome, body, at],
            ),
            // The row is there.
            Change::Start(_)
            // They are in the chunk.
            | Change::Node { .. }
            | Change::Step(_)
            | Change::Hand { .. }
            | Change::Event { .. }
            | Change::Effect { .. }
            | Change::Answer { .. }
            | Change::Access { .. }
            | Change::Reply { .. }
            | Change::Stop { .. }
            | Change::Cause { .. }
            | Change::Unsent => Ok(()),
        }
    }

    fn text(&self, number: i64, hash: &[u8; 32], body: &[u8]) -> rusqlite::Result<()> {
        let known = self
            .connection
            .prepare_cached("SELECT key FROM texts WHERE hash = ?1")?
            .query_row([&hash[..]], |row| row.get(0))
            .optional()?;
        let text = match known {
            Some(text) => text,
            None => self
                .connection
                .prepare_cached("INSERT INTO texts (hash, body) VALUES (?1, ?2)")?
                .insert(params![&hash[..], body])?,
        };
        self.execute(
            "INSERT INTO text_uses (run, number, text) VALUES (?1, ?2, ?3)",
            [self.key, number, text],
        )
    }
}

/// A frame's number as SQLite counts. A run never comes to as many frames as an i64 does not hold.
fn number(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}
