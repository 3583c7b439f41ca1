//! Reading the rows of one run back, a few at a time.

use std::vec;

use runvil_engine::{Answer, Effect, EffectId, Event, RunOutcome, RunPrepared, RunStart};
use rusqlite::{OptionalExtension as _, Row, params_from_iter};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Database, RecordError, RunId,
    rows::{self, PARSE_STEP},
    unfold::{UnfoldError, Unfolder},
};

/// How many rows are read at once.
const CHUNK: i64 = 256;

/// One event of a run, as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    /// Its number, counted from 0 over the whole run, parse events included.
    pub number: u64,
    /// The step that reported it, counted from 0; `None` for an event of the parse.
    pub step: Option<u64>,
    /// When it was recorded, in UTC microseconds since the Unix epoch. The events of a step share an instant.
    pub at: i64,
    /// The event.
    pub event: Event,
}

/// One effect of a run, with what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEffect {
    /// The effect.
    pub effect: Effect,
    /// The step that asked for it, counted from 0.
    pub step: u64,
    /// When it was asked for, in UTC microseconds since the Unix epoch.
    pub at: i64,
    /// What performing it brought; `None` while it is open, or if it was given up.
    pub answer: Option<Answer>,
    /// When it was answered.
    pub answered_at: Option<i64>,
    /// The step that was handed the answer, counted from 0; `None` before that.
    pub handed_in: Option<u64>,
    /// Whether the run was handed it as dropped.
    pub dropped: bool,
}

/// A run's own row.
pub(crate) struct Header {
    pub(crate) start: RunStart,
    pub(crate) source: Vec<u8>,
    pub(crate) prepared: Option<RunPrepared>,
    pub(crate) host: Value,
    pub(crate) outcome: Option<RunOutcome>,
}

/// Rows of one run, in order, read a few at a time, so that a long record needs little memory.
///
/// After an error it ends.
pub struct Rows<T> {
    reader: Reader,
    chunk: vec::IntoIter<T>,
    /// The number that the next chunk begins with; `None` after the last.
    next: Option<i64>,
    read: fn(&mut Reader, i64) -> Result<Vec<T>, RecordError>,
    number: fn(&T) -> i64,
}

impl<T> Iterator for Rows<T> {
    type Item = Result<T, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(row) = self.chunk.next() {
            return Some(Ok(row));
        }
        match (self.read)(&mut self.reader, self.next.take()?) {
            Ok(rows) => {
                self.next = rows.last().map(|row| (self.number)(row) + 1);
                self.chunk = rows.into_iter();
                self.chunk.next().map(Ok)
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl Database {
    /// The events of a run, in order, those of its parse first.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn events(&self, run: RunId) -> Result<Rows<RecordedEvent>, RecordError> {
        self.rows(run, Reader::events, |event| {
            i64::try_from(event.number).unwrap_or(i64::MAX)
        })
    }

    /// The effects of a run with their answers, in issue order.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn effects(&self, run: RunId) -> Result<Rows<RecordedEffect>, RecordError> {
        self.rows(run, Reader::effects, |recorded| rows::number(recorded.effect.id))
    }

    /// The effects of a run from this one on.
    ///
    /// # Errors
    /// As [`Database::effects`].
    pub fn effects_from(&self, run: RunId, first: EffectId) -> Result<Rows<RecordedEffect>, RecordError> {
        let mut rows = self.effects(run)?;
        rows.next = Some(rows::number(first));
        Ok(rows)
    }

    fn rows<T>(
        &self,
        run: RunId,
        read: fn(&mut Reader, i64) -> Result<Vec<T>, RecordError>,
        number: fn(&T) -> i64,
    ) -> Result<Rows<T>, RecordError> {
        Ok(Rows {
            reader: Reader::new(self, run)?,
            chunk: Vec::new().into_iter(),
            next: Some(0),
            read,
            number,
        })
    }
}

/// Reads the record of one run.
pub(crate) struct Reader {
    pub(crate) database: Database,
    pub(crate) run: RunId,
    pub(crate) key: i64,
    unfolder: Unfolder,
}

impl Reader {
    pub(crate) fn new(database: &Database, run: RunId) -> Result<Self, RecordError> {
        let key = database.key(run)?;
        Ok(Self {
            database: database.clone(),
            run,
            key,
            unfolder: Unfolder::new(key),
        })
    }

    /// The data that stands in the database as this.
    pub(crate) fn unfold<T: DeserializeOwned>(&mut self, text: &str) -> Result<T, RecordError> {
        let unfolded = self.unfolder.unfold(&self.database.connection(), text);
        self.checked(unfolded)
    }

    pub(crate) fn unfold_some<T: DeserializeOwned>(&mut self, text: Option<&str>) -> Result<Option<T>, RecordError> {
        text.map(|text| self.unfold(text)).transpose()
    }

    fn checked<T>(&self, unfolded: Result<T, UnfoldError>) -> Result<T, RecordError> {
        unfolded.map_err(|error| match error {
            UnfoldError::Sqlite(error) => self.database.failed(error),
            UnfoldError::Damaged(detail) => self
                .database
                .damaged(format_args!("the record of run {}: {detail}", self.run)),
        })
    }

    /// The rows that a query with these numbers gives, the run's key first.
    pub(crate) fn query<T, const N: usize>(
        &self,
        sql: &str,
        numbers: [i64; N],
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, RecordError> {
        self.database.reading(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map(params_from_iter(numbers), row)?
                .collect()
        })
    }

    pub(crate) fn header(&mut self) -> Result<Header, RecordError> {
        let key = self.key;
        let row = self.database.reading(|connection| {
            connection
                .query_row(
                    "SELECT start, prompt, prepared, host, ending FROM runs WHERE key = ?1",
                    [key],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
                )
                .optional()
        })?;
        let Some(row) = row else {
            return Err(self.database.no_such_run(&self.run.to_string()));
        };
        let (start, prompt, prepared, host, ending): (String, i64, Option<String>, String, Option<String>) = row;
        let source = self.unfolder.text(&self.database.connection(), prompt);
        Ok(Header {
            start: self.unfold(&start)?,
            source: self.checked(source)?.to_vec(),
            prepared: self.unfold_some(prepared.as_deref())?,
            host: serde_json::from_str(&host).map_err(|error| self.database.damaged(error))?,
            outcome: self.unfold_some(ending.as_deref())?,
        })
    }

    fn events(&mut self, from: i64) -> Result<Vec<RecordedEvent>, RecordError> {
        let rows: Vec<(i64, i64, i64, String)> = self.query(
            &format!(
                "SELECT event, step, at, body FROM events WHERE run = ?1 AND event >= ?2 ORDER BY event LIMIT {CHUNK}"
            ),
            [self.key, from],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        rows.into_iter()
            .map(|(number, step, at, body)| {
                Ok(RecordedEvent {
                    number: number.unsigned_abs(),
                    step: (step != PARSE_STEP).then_some(step.unsigned_abs()),
                    at,
                    event: self.unfold(&body)?,
                })
            })
            .collect()
    }

    fn effects(&mut self, from: i64) -> Result<Vec<RecordedEffect>, RecordError> {
        type Line = (i64, i64, String, Option<String>, Option<i64>, Option<i64>, Option<bool>);
        let rows: Vec<Line> = self.query(
            &format!(
                "SELECT e.step, e.at, e.body, a.body, a.at, a.step, a.dropped FROM effects e \
                 LEFT JOIN answers a ON a.run = e.run AND a.effect = e.effect \
                 WHERE e.run = ?1 AND e.effect >= ?2 ORDER BY e.effect LIMIT {CHUNK}"
            ),
            [self.key, from],
            |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                    row.get(5)?,
                    row.get(6)?,
                ))
            },
        )?;
        rows.into_iter()
            .map(|(step, at, body, answer, answered_at, handed_in, dropped)| {
                Ok(RecordedEffect {
                    effect: self.unfold(&body)?,
                    step: step.unsigned_abs(),
                    at,
                    answer: self.unfold_some(answer.as_deref())?,
                    answered_at,
                    handed_in: handed_in.map(i64::unsigned_abs),
                    dropped: dropped.unwrap_or_default(),
                })
            })
            .collect()
    }
}
