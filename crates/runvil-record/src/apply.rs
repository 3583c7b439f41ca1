//! Brings what the recorder was told into the database.

use std::time::Duration;

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, params};

use crate::{
    Database, RecordError, RunId,
    change::{Change, Frame, Start, Step},
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
            let mut rows = self.claim(connection, &frames[0], last.sequence)?;
            for frame in frames {
                rows.at = frame.at;
                for change in &frame.changes {
                    rows.apply(change)?;
                }
            }
            Ok(rows.key)
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
    fn claim<'c>(&self, connection: &'c Connection, first: &Frame, last: u64) -> Result<Rows<'c>, Unapplied> {
        let applied = number(last);
        let key = match (self.key, first.changes.first()) {
            (Some(key), _) => {
                let claimed = connection
                    .prepare_cached("UPDATE runs SET applied = ?2 WHERE key = ?1 AND applied = ?3")?
                    .execute([key, applied, number(self.applied)])?;
                if claimed == 0 {
                    return Err(Unapplied::Overtaken);
                }
                key
            }
            (None, Some(Change::Start(start))) => insert_run(connection, self.run, start, applied)?,
            (None, _) => return Err(Unapplied::Overtaken),
        };
        Ok(Rows::new(connection, key))
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

/// The rows of one run, in a transaction.
pub(crate) struct Rows<'c> {
    connection: &'c Connection,
    key: i64,
    /// When what is written was told.
    at: i64,
    /// The statements that were used before.
    statements: Vec<(&'static str, CachedStatement<'c>)>,
}

impl<'c> Rows<'c> {
    pub(crate) fn new(connection: &'c Connection, key: i64) -> Self {
        Self {
            connection,
            key,
            at: 0,
            statements: Vec::new(),
        }
    }

    fn statement(&mut self, sql: &'static str) -> rusqlite::Result<&mut CachedStatement<'c>> {
        let known = self.statements.iter().position(|(known, _)| *known == sql);
        let at = match known {
            Some(at) => at,
            None => {
                self.statements.push((sql, self.connection.prepare_cached(sql)?));
                self.statements.len() - 1
            }
        };
        Ok(&mut self.statements[at].1)
    }

    /// Makes a change.
    pub(crate) fn apply(&mut self, change: &Change) -> rusqlite::Result<()> {
        let (key, at) = (self.key, self.at);
        match change {
            // The row is there.
            Change::Start(_) => 1,
            Change::Resume => self
                .statement("UPDATE runs SET resumed = resumed + 1 WHERE key = ?1")?
                .execute([key])?,
            Change::Text { number, hash, body } => return self.text(*number, hash, body),
            Change::Node {
                key: node,
                before,
                item,
            } => self
                .statement("INSERT INTO lists (run, key, before, item) VALUES (?1, ?2, ?3, ?4)")?
                .execute([key, *node, *before, *item])?,
            Change::Parse { name } => self
                .statement("UPDATE runs SET prompt_name = ?2 WHERE key = ?1")?
                .execute(params![key, name])?,
            Change::Prepare { body } => self
                .statement("UPDATE runs SET prepared = ?2 WHERE key = ?1")?
                .execute(params![key, body])?,
            Change::Step(step) => return self.step(step),
            Change::Hand { effect, step, dropped } => self
                .statement(
                    "INSERT INTO answers (run, effect, step, dropped) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT (run, effect) DO UPDATE SET step = ?3, dropped = ?4",
                )?
                .execute(params![key, effect, step, dropped])?,
            Change::Event { event, step, body } => self
                .statement("INSERT INTO events (run, event, step, body, at) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![key, event, step, body, at])?,
            Change::Effect {
                effect,
                step,
                kind,
                body,
            } => self
                .statement("INSERT INTO effects (run, effect, step, kind, body, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute(params![key, effect, step, kind, body, at])?,
            Change::Answer {
                effect,
                place,
                body,
                prompt_tokens,
                completion_tokens,
            } => self
                .statement(
                    "INSERT INTO answers (run, effect, place, body, prompt_tokens, completion_tokens, at) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                     ON CONFLICT (run, effect) DO UPDATE SET place = ?3, body = ?4, prompt_tokens = ?5, completion_tokens = ?6, \
                                                             at = ?7",
                )?
                .execute(params![key, effect, place, body, prompt_tokens, completion_tokens, at])?,
            Change::Access {
                effect,
                nth,
                op,
                change,
            } => self
                .statement(
                    "INSERT INTO accesses (run, effect, nth, op, change, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                     ON CONFLICT (run, effect, nth) DO UPDATE SET op = coalesce(?4, op), change = ?5, at = ?6",
                )?
                .execute(params![key, effect, nth, op, change, at])?,
            Change::Reply {
                effect,
                nth,
                place,
                body,
            } => self
                .statement("UPDATE accesses SET reply = ?4, place = ?5 WHERE run = ?1 AND effect = ?2 AND nth = ?3")?
                .execute(params![key, effect, nth, body, place])?,
            Change::Stop { stop, step, effects } => self
                .statement("INSERT INTO stops (run, stop, step, effects, at) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![key, stop, step, effects, at])?,
            Change::End { outcome, body } => self.end(outcome, body)?,
        };
        Ok(())
    }

    fn text(&mut self, number: i64, hash: &[u8; 32], body: &[u8]) -> rusqlite::Result<()> {
        let known = self
            .statement("SELECT key FROM texts WHERE hash = ?1")?
            .query_row([&hash[..]], |row| row.get(0))
            .optional()?;
        let text = match known {
            Some(text) => text,
            None => self
                .statement("INSERT INTO texts (hash, body) VALUES (?1, ?2)")?
                .insert(params![&hash[..], body])?,
        };
        let key = self.key;
        self.statement("INSERT INTO text_uses (run, number, text) VALUES (?1, ?2, ?3)")?
            .execute([key, number, text])?;
        Ok(())
    }

    fn step(&mut self, step: &Step) -> rusqlite::Result<()> {
        let (key, at) = (self.key, self.at);
        self.statement(
            "INSERT INTO steps (run, step, handed, first_event, events, first_effect, effects, \
                                drops, openings, cancelled, outcome, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            key,
            step.step,
            step.handed,
            step.first_event,
            step.events,
            step.first_effect,
            step.effects,
            step.drops,
            step.openings,
            step.cancelled,
            step.outcome,
            at,
        ])?;
        Ok(())
    }

    /// The outcome, and the sums that a list of runs shows. A count that no server can mean must not keep a run from
    /// ending: more than 2^40 tokens of a round count as that many.
    fn end(&mut self, outcome: &str, body: &str) -> rusqlite::Result<usize> {
        let (key, at) = (self.key, self.at);
        self.statement(
            "UPDATE runs SET outcome = ?2, ending = ?3, ended_at = ?4, \
                 effects = (SELECT count(*) FROM effects WHERE run = ?1), \
                 rounds = (SELECT count(*) FROM effects WHERE run = ?1 AND kind = 'model_round'), \
                 (prompt_tokens, completion_tokens, unreported) = (\
                     SELECT sum(min(a.prompt_tokens, 1 << 40)), sum(min(a.completion_tokens, 1 << 40)), \
                         count(*) - min(count(a.prompt_tokens), count(a.completion_tokens)) \
                     FROM answers a JOIN effects e ON e.run = a.run AND e.effect = a.effect \
                     WHERE a.run = ?1 AND e.kind = 'model_round' AND a.body IS NOT NULL) \
             WHERE key = ?1",
        )?
        .execute(params![key, outcome, body, at])
    }
}

/// A frame's number as SQLite counts. A run never comes to as many frames as an i64 does not hold.
fn number(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}
