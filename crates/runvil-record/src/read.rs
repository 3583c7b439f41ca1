//! Reading the record of one run back.

use std::sync::Arc;

use runvil_engine::{Answer, Effect, EffectId, Event, RunOutcome, RunPrepared, RunStart};
use rusqlite::OptionalExtension as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Database, RecordError, RunId,
    course::Course,
    rows::{self, PARSE_STEP},
    unfold::{UnfoldError, Unfolder},
};

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

/// The events or effects of one run, in order. Each is put together when it is asked for.
///
/// After an error it ends.
pub struct Rows<T> {
    reader: Reader,
    /// How many were read; `None` after an error.
    next: Option<usize>,
    read: fn(&mut Reader, usize) -> Result<Option<T>, RecordError>,
}

impl<T> Iterator for Rows<T> {
    type Item = Result<T, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next.take()?;
        let read = (self.read)(&mut self.reader, at);
        self.next = read.is_ok().then_some(at + 1);
        read.transpose()
    }
}

impl Database {
    /// The events of a run, in order, those of its parse first.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn events(&self, run: RunId) -> Result<Rows<RecordedEvent>, RecordError> {
        Ok(Rows {
            reader: Reader::new(self, run)?,
            next: Some(0),
            read: Reader::event,
        })
    }

    /// The effects of a run with their answers, in issue order.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn effects(&self, run: RunId) -> Result<Rows<RecordedEffect>, RecordError> {
        Ok(Rows {
            reader: Reader::new(self, run)?,
            next: Some(0),
            read: Reader::effect,
        })
    }

    /// The effects of a run from this one on.
    ///
    /// # Errors
    /// As [`Database::effects`].
    pub fn effects_from(&self, run: RunId, first: EffectId) -> Result<Rows<RecordedEffect>, RecordError> {
        let mut rows = self.effects(run)?;
        let effects = &rows.reader.course.effects;
        rows.next = Some(effects.partition_point(|row| row.effect < rows::number(first)));
        Ok(rows)
    }
}

/// Reads the record of one run.
pub(crate) struct Reader {
    pub(crate) database: Database,
    pub(crate) run: RunId,
    key: i64,
    /// What had happened when the reading began.
    pub(crate) course: Arc<Course>,
    unfolder: Unfolder,
}

impl Reader {
    pub(crate) fn new(database: &Database, run: RunId) -> Result<Self, RecordError> {
        let key = database.key(run)?;
        let course = database.course(run, key)?;
        let unfolder = Unfolder::new(key, Arc::clone(&course));
        Ok(Self {
            database: database.clone(),
            run,
            key,
            course,
            unfolder,
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
            UnfoldError::Damaged(detail) => self.damaged(&detail),
        })
    }

    /// The record contradicts itself.
    pub(crate) fn damaged(&self, detail: &str) -> RecordError {
        self.database
            .damaged(format_args!("the record of run {}: {detail}", self.run))
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

    fn event(&mut self, at: usize) -> Result<Option<RecordedEvent>, RecordError> {
        let course = Arc::clone(&self.course);
        let Some(row) = course.events.get(at) else {
            return Ok(None);
        };
        Ok(Some(RecordedEvent {
            number: row.event.unsigned_abs(),
            step: (row.step != PARSE_STEP).then_some(row.step.unsigned_abs()),
            at: row.at,
            event: self.unfold(&row.body)?,
        }))
    }

    fn effect(&mut self, at: usize) -> Result<Option<RecordedEffect>, RecordError> {
        let course = Arc::clone(&self.course);
        let Some(row) = course.effects.get(at) else {
            return Ok(None);
        };
        let answer = course.answers.get(&row.effect);
        let hand = course.hands.get(&row.effect);
        Ok(Some(RecordedEffect {
            effect: self.unfold(&row.body)?,
            step: row.step.unsigned_abs(),
            at: row.at,
            answer: self.unfold_some(answer.map(|answer| answer.body.as_str()))?,
            answered_at: answer.map(|answer| answer.at),
            handed_in: hand.map(|(step, _)| step.unsigned_abs()),
            dropped: hand.is_some_and(|(_, dropped)| *dropped),
        }))
    }
}
