//! Reading the record of one run back.

use std::{fmt, sync::Arc};

use runvil_engine::{Answer, Effect, EffectId, Event, FORMAT_VERSION, RunOutcome, RunPrepared, RunStart};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Database, RecordError, RunId,
    change::TextNumber,
    chunk,
    course::{Course, Texts},
    rows::{self, PARSE_STEP},
    unfold::Unfolder,
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

/// What a run started from, and came to.
pub(crate) struct Header {
    pub(crate) start: RunStart,
    pub(crate) source: Vec<u8>,
    pub(crate) prepared: Option<RunPrepared>,
    pub(crate) file: Option<String>,
    pub(crate) host: Value,
    pub(crate) outcome: Option<RunOutcome>,
    pub(crate) cause: Option<String>,
}

/// A run's own row.
struct HeaderRow {
    format: u32,
    start: String,
    prompt: TextNumber,
    prepared: Option<String>,
    file: Option<String>,
    host: String,
    ending: Option<String>,
}

/// A run as it stands in the database.
struct Stored {
    row: HeaderRow,
    chunks: Vec<Vec<u8>>,
    texts: Texts,
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

/// Reads the record of one run, as it was when the reading began, whatever becomes of the run meanwhile.
pub(crate) struct Reader {
    database: Database,
    run: RunId,
    /// What had happened.
    pub(crate) course: Arc<Course>,
    unfolder: Unfolder,
}

impl Reader {
    pub(crate) fn new(database: &Database, run: RunId) -> Result<Self, RecordError> {
        Self::open(database, run).map(|(reader, _)| reader)
    }

    /// What the run started from, and came to.
    pub(crate) fn header(database: &Database, run: RunId) -> Result<Header, RecordError> {
        let (mut reader, row) = Self::open(database, run)?;
        let source = reader.unfolder.text(row.prompt);
        Ok(Header {
            start: reader.unfold(&row.start)?,
            source: source.map_err(|damaged| reader.damaged(&damaged))?.to_vec(),
            prepared: reader.unfold_some(row.prepared.as_deref())?,
            file: row.file,
            host: serde_json::from_str(&row.host).map_err(|error| reader.damaged(&error))?,
            outcome: reader.unfold_some(row.ending.as_deref())?,
            cause: reader.course.cause.clone(),
        })
    }

    fn open(database: &Database, run: RunId) -> Result<(Self, HeaderRow), RecordError> {
        if let Some(damaged) = database.damaged_journal(|other| *other == run) {
            return Err(damaged);
        }
        let stored = database.reading(|connection| Stored::of(connection, run))?;
        let Stored { row, chunks, texts } = stored.ok_or_else(|| database.lacks_run(&run.to_string()))?;
        if row.format != FORMAT_VERSION {
            return Err(RecordError::OtherFormat {
                run,
                found: row.format,
                known: FORMAT_VERSION,
            });
        }
        let mut course = Course {
            texts,
            ..Course::default()
        };
        for chunk in chunks {
            let entries = chunk::unpack(&chunk)
                .map_err(|detail| database.damaged(format_args!("the record of run {run}: {detail}")))?;
            entries.into_iter().for_each(|entry| course.extend(entry));
        }
        if !course.is_whole() {
            return Err(database.damaged(format_args!("the record of run {run}: it has gaps")));
        }
        let course = Arc::new(course);
        let reader = Self {
            database: database.clone(),
            run,
            unfolder: Unfolder::new(Arc::clone(&course)),
            course,
        };
        Ok((reader, row))
    }

    /// The data that stands in the database as this.
    pub(crate) fn unfold<T: DeserializeOwned>(&mut self, text: &str) -> Result<T, RecordError> {
        let unfolded = self.unfolder.unfold(text);
        unfolded.map_err(|damaged| self.damaged(&damaged))
    }

    pub(crate) fn unfold_some<T: DeserializeOwned>(&mut self, text: Option<&str>) -> Result<Option<T>, RecordError> {
        text.map(|text| self.unfold(text)).transpose()
    }

    /// The record contradicts itself.
    pub(crate) fn damaged(&self, detail: &dyn fmt::Display) -> RecordError {
        self.database
            .damaged(format_args!("the record of run {}: {detail}", self.run))
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

impl Stored {
    /// All of it is of one moment: a run may be deleted, and another one get its key, while it is read.
    fn of(connection: &Connection, run: RunId) -> rusqlite::Result<Option<Self>> {
        let moment = connection.unchecked_transaction()?;
        let found = moment
            .query_row(
                "SELECT key, format, start, prompt, prepared, file, host, ending FROM runs WHERE id = ?1",
                [run.to_string()],
                |row| Ok((row.get::<_, i64>(0)?, HeaderRow::of(row)?)),
            )
            .optional()?;
        let Some((key, row)) = found else {
            return Ok(None);
        };
        let chunks = moment
            .prepare_cached("SELECT body FROM chunks WHERE run = ?1 ORDER BY first")?
            .query_map([key], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let texts = moment
            .prepare_cached(
                "SELECT u.number, t.hash, t.body FROM text_uses u JOIN texts t ON t.key = u.text WHERE u.run = ?1",
            )?
            .query_map([key], |row| {
                let body: Vec<u8> = row.get(2)?;
                Ok((row.get(0)?, (row.get(1)?, body.into())))
            })?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Some(Self { row, chunks, texts }))
    }
}

impl HeaderRow {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            format: row.get("format")?,
            start: row.get("start")?,
            prompt: row.get("prompt")?,
            prepared: row.get("prepared")?,
            file: row.get("file")?,
            host: row.get("host")?,
            ending: row.get("ending")?,
        })
    }
}
