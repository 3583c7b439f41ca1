//! Writing the record of a run, as it goes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use runvil_engine::{
    AccessId, Answer, EffectId, EffectKind, Event, FORMAT_VERSION, FileChange, Outcome, RecordFault, Recorder,
    RunOutcome, RunPrepared, RunStart, StepRecord,
};
use runvil_vfs::{StoreFailure, StoreOp, StoreReply};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::{Database, OutcomeKind, RecordError, RunId, clock::now, fold::Folder, lock::RunLock};

/// What the Host states of a run beyond what the Harness knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostFacts {
    /// Where the prompt file is.
    pub file: Option<String>,
    /// Whatever the Host needs to set the same run up again. It must hold no secret.
    pub host: Value,
    /// The run that this one forked from.
    pub parent: Option<Parent>,
}

/// Where a forked run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The run that it forked from.
    pub run: RunId,
    /// The effect up to which the answers are that run's.
    pub effect: EffectId,
}

/// Keeps the record of one run. Dropping it ends the writing, not the record: a run without an outcome can be resumed.
///
/// A failed write ends the record where it stands; every later call fails with [`RecordError::Broken`].
pub struct RunWriter {
    database: Database,
    id: RunId,
    facts: HostFacts,
    state: Mutex<State>,
}

struct State {
    /// The run's key, once it started.
    key: i64,
    /// `None` before the run started.
    folder: Option<Folder>,
    next: Counters,
    broken: bool,
    /// `None` for a database in memory, and once the run has ended.
    lock: Option<RunLock>,
}

/// The numbers that the run's next rows get.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) step: i64,
    pub(crate) event: i64,
    pub(crate) place: i64,
    pub(crate) stop: i64,
}

/// The step that parse events are written under.
pub(crate) const PARSE_STEP: i64 = -1;

impl Database {
    /// Opens the record of a new run, under a fresh id. Nothing is written before the run starts.
    ///
    /// # Errors
    /// The lock of the run cannot be had.
    pub fn record(&self, facts: HostFacts) -> Result<RunWriter, RecordError> {
        let id = RunId::draw();
        let lock = self.path().map(|path| RunLock::take(path, id)).transpose()?;
        Ok(RunWriter::new(self.clone(), id, facts, lock))
    }
}

impl RunWriter {
    fn new(database: Database, id: RunId, facts: HostFacts, lock: Option<RunLock>) -> Self {
        Self {
            database,
            id,
            facts,
            state: Mutex::new(State {
                key: 0,
                folder: None,
                next: Counters::default(),
                broken: false,
                lock,
            }),
        }
    }

    /// The writer that goes on with a run behind what is recorded of it.
    pub(crate) fn go_on(database: &Database, id: RunId, key: i64, lock: Option<RunLock>) -> Result<Self, RecordError> {
        let going = database.writing(|connection| {
            let sql = "UPDATE runs SET resumed = resumed + 1 WHERE key = ?1 AND outcome IS NULL";
            if connection.execute(sql, [key])? == 0 {
                return Ok(None);
            }
            Ok(Some((Folder::new(connection, key)?, Counters::of(connection, key)?)))
        })?;
        let Some((folder, next)) = going else {
            if let Some(lock) = lock {
                lock.remove();
            }
            return Err(RecordError::Ended(id));
        };
        let writer = Self::new(database.clone(), id, HostFacts::default(), lock);
        {
            let mut state = writer.state();
            state.key = key;
            state.folder = Some(folder);
            state.next = next;
        }
        Ok(writer)
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.id
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what lands together, into a run that has started.
    fn write(&self, write: impl FnOnce(&mut Row<'_>) -> rusqlite::Result<()>) -> Result<(), RecordFault> {
        let mut state = self.state();
        let State {
            key,
            folder: Some(folder),
            next,
            broken: false,
            ..
        } = &mut *state
        else {
            return Err(told(RecordError::Broken(self.id)));
        };
        let (key, at) = (*key, now());
        let written = self.database.writing(|connection| {
            write(&mut Row {
                connection,
                key,
                at,
                folder,
                next,
            })
        });
        state.broken = written.is_err();
        written.map_err(told)
    }

    fn start(&self, start: &RunStart, source: &[u8]) -> Result<(), RecordError> {
        let mut state = self.state();
        let Self {
            database, id, facts, ..
        } = self;
        let written = database.writing(|connection| {
            connection.execute(
                "INSERT INTO runs (id, name, prompt_hash, prompt, file, started_at, format, host, start, parent, parent_effect) \
                 VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, '', ?8, ?9)",
                params![
                    id.to_string(),
                    start.facts.name,
                    start.prompt_hash,
                    facts.file,
                    start.facts.started_at,
                    FORMAT_VERSION,
                    facts.host.to_string(),
                    facts.parent.map(|parent| parent.run.to_string()),
                    facts.parent.map(|parent| number(parent.effect)),
                ],
            )?;
            let key = connection.last_insert_rowid();
            let mut folder = Folder::new(connection, key)?;
            let prompt = folder.text(connection, source)?;
            let start = folder.fold(connection, start)?;
            connection.execute(
                "UPDATE runs SET prompt = ?2, start = ?3 WHERE key = ?1",
                params![key, prompt, start],
            )?;
            Ok((key, folder))
        });
        state.broken = written.is_err();
        let (key, folder) = written?;
        (state.key, state.folder) = (key, Some(folder));
        Ok(())
    }
}

/// Where a run's rows are written, in one transaction.
struct Row<'a> {
    connection: &'a Connection,
    key: i64,
    at: i64,
    folder: &'a mut Folder,
    next: &'a mut Counters,
}

impl Row<'_> {
    fn fold(&mut self, value: &impl serde::Serialize) -> rusqlite::Result<String> {
        self.folder.fold(self.connection, value)
    }

    fn events(&mut self, step: i64, events: &[Event]) -> rusqlite::Result<()> {
        for event in events {
            let value = serde_json::to_value(event).expect("an event is JSON");
            let kind = value["kind"].as_str().unwrap_or_default().to_owned();
            let body = self.fold(&value)?;
            self.connection
                .prepare_cached(
                    "INSERT INTO events (run, event, step, kind, body, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![self.key, self.next.event, step, kind, body, self.at])?;
            self.next.event += 1;
        }
        Ok(())
    }

    fn step(&mut self, step: &StepRecord) -> rusqlite::Result<()> {
        let number = self.next.step;
        self.next.step += 1;
        let handed = some(&step.handed).map(|handed| self.fold(&handed)).transpose()?;
        let drops = some(&step.drops).map(|drops| self.fold(&drops)).transpose()?;
        let openings = some(&step.openings).map(|openings| self.fold(&openings)).transpose()?;
        let cancelled = step.cancelled.as_ref().map(|place| self.fold(place)).transpose()?;
        let outcome = step.outcome.as_ref().map(|outcome| self.fold(outcome)).transpose()?;
        self.connection
            .prepare_cached(
                "INSERT INTO steps (run, step, handed, first_event, events, first_effect, effects, \
                                    drops, openings, cancelled, outcome, at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                self.key,
                number,
                handed,
                self.next.event,
                count(step.events.len()),
                step.effects.first().map_or(0, |effect| self::number(effect.id)),
                count(step.effects.len()),
                drops,
                openings,
                cancelled,
                outcome,
                self.at,
            ])?;
        for handed in &step.handed {
            self.connection
                .prepare_cached(
                    "INSERT INTO answers (run, effect, step, dropped) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT (run, effect) DO UPDATE SET step = ?3, dropped = ?4",
                )?
                .execute(params![self.key, self::number(handed.effect), number, handed.dropped])?;
        }
        self.events(number, &step.events)?;
        for effect in &step.effects {
            let body = self.fold(effect)?;
            self.connection
                .prepare_cached(
                    "INSERT INTO effects (run, effect, step, kind, body, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![
                    self.key,
                    self::number(effect.id),
                    number,
                    kind(&effect.kind),
                    body,
                    self.at
                ])?;
        }
        Ok(())
    }

    fn answer(&mut self, effect: EffectId, answer: &Answer) -> rusqlite::Result<()> {
        let body = self.fold(answer)?;
        let usage = match answer {
            Answer::Model(reply) => match &**reply {
                Outcome::Ok(reply) => reply.usage,
                Outcome::Err(error) => error.usage,
            },
            _ => None,
        };
        let tokens = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        self.connection
            .prepare_cached(
                "INSERT INTO answers (run, effect, place, body, prompt_tokens, completion_tokens, at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                 ON CONFLICT (run, effect) DO UPDATE SET place = ?3, body = ?4, prompt_tokens = ?5, completion_tokens = ?6, at = ?7",
            )?
            .execute(params![
                self.key,
                number(effect),
                self.next.place,
                body,
                tokens(usage.and_then(|usage| usage.prompt_tokens)),
                tokens(usage.and_then(|usage| usage.completion_tokens)),
                self.at,
            ])?;
        self.next.place += 1;
        Ok(())
    }

    fn access(&mut self, access: AccessId, op: Option<&StoreOp>, change: Option<&FileChange>) -> rusqlite::Result<()> {
        let op = op.map(|op| self.fold(op)).transpose()?;
        let change = change.map(|change| self.fold(change)).transpose()?;
        self.connection
            .prepare_cached(
                "INSERT INTO accesses (run, effect, nth, op, change, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                 ON CONFLICT (run, effect, nth) DO UPDATE SET op = coalesce(?4, op), change = ?5, at = ?6",
            )?
            .execute(params![
                self.key,
                number(access.effect),
                nth(access),
                op,
                change,
                self.at
            ])?;
        Ok(())
    }

    fn accessed(&mut self, access: AccessId, reply: &Outcome<StoreReply, StoreFailure>) -> rusqlite::Result<()> {
        let reply = self.fold(reply)?;
        self.connection
            .prepare_cached("UPDATE accesses SET reply = ?4, place = ?5 WHERE run = ?1 AND effect = ?2 AND nth = ?3")?
            .execute(params![
                self.key,
                number(access.effect),
                nth(access),
                reply,
                self.next.place
            ])?;
        self.next.place += 1;
        Ok(())
    }

    /// The outcome, and the sums that a list of runs shows. A count that no server can mean must not keep a run from
    /// ending: more than 2^40 tokens of a round count as that many.
    fn end(&mut self, outcome: &RunOutcome) -> rusqlite::Result<()> {
        let ending = self.fold(outcome)?;
        self.connection.execute(
            "UPDATE runs SET outcome = ?2, ending = ?3, ended_at = ?4, \
                 effects = (SELECT count(*) FROM effects WHERE run = ?1), \
                 rounds = (SELECT count(*) FROM effects WHERE run = ?1 AND kind = 'model_round'), \
                 (prompt_tokens, completion_tokens, unreported) = (\
                     SELECT sum(min(a.prompt_tokens, 1 << 40)), sum(min(a.completion_tokens, 1 << 40)), \
                         count(*) - min(count(a.prompt_tokens), count(a.completion_tokens)) \
                     FROM answers a JOIN effects e ON e.run = a.run AND e.effect = a.effect \
                     WHERE a.run = ?1 AND e.kind = 'model_round' AND a.body IS NOT NULL) \
             WHERE key = ?1",
            params![self.key, OutcomeKind::of(outcome).as_str(), ending, self.at],
        )?;
        Ok(())
    }
}

impl Recorder for RunWriter {
    fn started(&self, start: &RunStart, source: &[u8]) -> Result<(), RecordFault> {
        self.start(start, source).map_err(told)
    }

    fn parsed(&self, name: Option<&str>, events: &[Event]) -> Result<(), RecordFault> {
        self.write(|row| {
            row.connection.execute(
                "UPDATE runs SET prompt_name = ?2 WHERE key = ?1",
                params![row.key, name],
            )?;
            row.events(PARSE_STEP, events)
        })
    }

    fn prepared(&self, prepared: &RunPrepared) -> Result<(), RecordFault> {
        self.write(|row| {
            let prepared = row.fold(prepared)?;
            row.connection.execute(
                "UPDATE runs SET prepared = ?2 WHERE key = ?1",
                params![row.key, prepared],
            )?;
            Ok(())
        })
    }

    fn stepped(&self, step: &StepRecord) -> Result<(), RecordFault> {
        self.write(|row| row.step(step))
    }

    fn answered(&self, effect: EffectId, answer: &Answer) -> Result<(), RecordFault> {
        self.write(|row| row.answer(effect, answer))
    }

    fn accessing(&self, access: AccessId, op: &StoreOp) -> Result<(), RecordFault> {
        self.write(|row| row.access(access, Some(op), None))
    }

    fn changing(&self, access: AccessId, change: &FileChange) -> Result<(), RecordFault> {
        self.write(|row| row.access(access, None, Some(change)))
    }

    fn accessed(&self, access: AccessId, reply: &Outcome<StoreReply, StoreFailure>) -> Result<(), RecordFault> {
        self.write(|row| row.accessed(access, reply))
    }

    fn stopped(&self, dropped: &[EffectId]) -> Result<(), RecordFault> {
        self.write(|row| {
            let effects = row.fold(&dropped)?;
            row.connection.execute(
                "INSERT INTO stops (run, stop, step, effects, at) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![row.key, row.next.stop, row.next.step - 1, effects, row.at],
            )?;
            row.next.stop += 1;
            Ok(())
        })
    }

    fn ended(&self, outcome: &RunOutcome, lost: &[Event]) -> Result<(), RecordFault> {
        self.write(|row| {
            row.events(row.next.step - 1, lost)?;
            row.end(outcome)
        })?;
        // The outcome is there before the lock goes: whoever takes the lock next sees that the run has ended.
        if let Some(lock) = self.state().lock.take() {
            lock.remove();
        }
        Ok(())
    }
}

impl Counters {
    fn of(connection: &Connection, run: i64) -> rusqlite::Result<Self> {
        let next = |column: &str, table: &str| {
            let sql = format!("SELECT coalesce(max({column}) + 1, 0) FROM {table} WHERE run = ?1");
            connection.query_row(&sql, [run], |row| row.get::<_, i64>(0))
        };
        Ok(Self {
            step: next("step", "steps")?,
            event: next("event", "events")?,
            place: next("place", "answers")?.max(next("place", "accesses")?),
            stop: next("stop", "stops")?,
        })
    }
}

/// An error as whoever runs the prompt reads it: what is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{error}; {}", .error.help())]
struct Told {
    error: RecordError,
}

fn told(error: RecordError) -> RecordFault {
    Box::new(Told { error })
}

/// An id as SQLite counts. A run never comes to as many effects as an i64 does not hold.
pub(crate) fn number(effect: EffectId) -> i64 {
    i64::try_from(effect.0).unwrap_or(i64::MAX)
}

fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

fn nth(access: AccessId) -> i64 {
    i64::try_from(access.nth).unwrap_or(i64::MAX)
}

fn kind(kind: &EffectKind) -> &'static str {
    match kind {
        EffectKind::ModelRound(_) => "model_round",
        EffectKind::ToolCall(_) => "tool_call",
        EffectKind::Store(_) => "store",
        EffectKind::Timer { .. } => "timer",
    }
}

/// The items, unless there are none.
fn some<T>(items: &[T]) -> Option<&[T]> {
    (!items.is_empty()).then_some(items)
}
