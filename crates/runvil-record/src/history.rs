//! The course of a run, for replaying it, going on with it, and forking it.

use std::collections::VecDeque;

use runvil_engine::{
    AccessId, Answer, Effect, EffectId, EffectKind, Event, FileChange, History, Landed, RecordFault, RunOutcome,
    RunPrepared, RunStart, StepRecord,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Database, RecordError, RunId,
    read::{Header, Reader},
    rows::{PARSE_STEP, nth, number},
};

/// How many steps are read at once.
const CHUNK: i64 = 64;

/// What is recorded of a run, but for its course.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// What it started from.
    pub start: RunStart,
    /// The prompt file.
    pub source: Vec<u8>,
    /// What preparing it found; `None` for one that was not built.
    pub prepared: Option<RunPrepared>,
    /// Where the prompt file was.
    pub file: Option<String>,
    /// What the Host stated of it.
    pub host: Value,
    /// How it ended; `None` for one that goes, or whose process died.
    pub outcome: Option<RunOutcome>,
}

impl Database {
    /// What is recorded of a run.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn run(&self, run: RunId) -> Result<RecordedRun, RecordError> {
        let file = self.summary(run)?.file;
        let Header {
            start,
            source,
            prepared,
            host,
            outcome,
        } = Reader::new(self, run)?.header()?;
        Ok(RecordedRun {
            start,
            source,
            prepared,
            file,
            host,
            outcome,
        })
    }

    /// The events of a run's parse.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn parse_events(&self, run: RunId) -> Result<Vec<Event>, RecordError> {
        Reader::new(self, run)?.parse_events()
    }

    /// The course of a run, from its first step on.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn history(&self, run: RunId) -> Result<RunHistory, RecordError> {
        Ok(RunHistory {
            reader: Reader::new(self, run)?,
            steps: VecDeque::new(),
            next: Some(0),
        })
    }
}

/// The course of a recorded run, read a few steps at a time.
pub struct RunHistory {
    reader: Reader,
    steps: VecDeque<StepRecord>,
    /// The number of the step that is read next; `None` after the last.
    next: Option<i64>,
}

impl History for RunHistory {
    fn next_step(&mut self) -> Result<Option<StepRecord>, RecordFault> {
        if self.steps.is_empty()
            && let Some(from) = self.next.take()
        {
            self.steps = self.reader.steps(from)?;
            self.next = (!self.steps.is_empty()).then_some(from + CHUNK);
        }
        Ok(self.steps.pop_front())
    }

    fn answer(&mut self, effect: EffectId) -> Result<Option<Answer>, RecordFault> {
        Ok(self.reader.answer(effect)?)
    }

    fn stopped(&mut self) -> Result<Vec<EffectId>, RecordFault> {
        Ok(self.reader.stopped()?)
    }

    fn landed(&mut self) -> Result<Vec<Landed>, RecordFault> {
        Ok(self.reader.landed()?)
    }

    fn change(&mut self, access: AccessId) -> Result<Option<FileChange>, RecordFault> {
        Ok(self.reader.change(access)?)
    }
}

/// A row of a step: its own columns, and where its events and effects stand.
struct StepRow {
    handed: Option<String>,
    events: Span,
    effects: Span,
    drops: Option<String>,
    openings: Option<String>,
    cancelled: Option<String>,
    outcome: Option<String>,
}

/// The numbers from the first on, as many as this.
#[derive(Clone, Copy)]
struct Span {
    first: i64,
    count: i64,
}

impl Reader {
    /// A chunk of steps from this one on.
    fn steps(&mut self, from: i64) -> Result<VecDeque<StepRecord>, RecordError> {
        let rows = self.query(
            "SELECT handed, first_event, events, first_effect, effects, drops, openings, cancelled, outcome \
             FROM steps WHERE run = ?1 AND step >= ?2 AND step < ?2 + ?3 ORDER BY step",
            [self.key, from, CHUNK],
            |row| {
                let span = |index| {
                    Ok::<_, rusqlite::Error>(Span {
                        first: row.get(index)?,
                        count: row.get(index + 1)?,
                    })
                };
                Ok(StepRow {
                    handed: row.get(0)?,
                    events: span(1)?,
                    effects: span(3)?,
                    drops: row.get(5)?,
                    openings: row.get(6)?,
                    cancelled: row.get(7)?,
                    outcome: row.get(8)?,
                })
            },
        )?;
        rows.iter().map(|row| self.step(row)).collect()
    }

    fn step(&mut self, row: &StepRow) -> Result<StepRecord, RecordError> {
        Ok(StepRecord {
            handed: self.unfold_some(row.handed.as_deref())?.unwrap_or_default(),
            openings: self.unfold_some(row.openings.as_deref())?.unwrap_or_default(),
            effects: self.bodies(
                "SELECT body FROM effects WHERE run = ?1 AND effect >= ?2 AND effect < ?3",
                row.effects,
            )?,
            drops: self.unfold_some(row.drops.as_deref())?.unwrap_or_default(),
            events: self.bodies(
                "SELECT body FROM events WHERE run = ?1 AND event >= ?2 AND event < ?3",
                row.events,
            )?,
            cancelled: self.unfold_some(row.cancelled.as_deref())?,
            outcome: self.unfold_some(row.outcome.as_deref())?,
        })
    }

    /// The rows of a span, in order, all of which are there.
    fn bodies<T: DeserializeOwned>(&mut self, sql: &str, Span { first, count }: Span) -> Result<Vec<T>, RecordError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let bodies: Vec<String> = self.query(sql, [self.key, first, first.saturating_add(count)], |row| row.get(0))?;
        if i64::try_from(bodies.len()) != Ok(count) {
            let run = self.run;
            return Err(self.database.damaged(format_args!("the record of run {run} has gaps")));
        }
        bodies.iter().map(|body| self.unfold(body)).collect()
    }

    fn parse_events(&mut self) -> Result<Vec<Event>, RecordError> {
        let bodies: Vec<String> = self.query(
            "SELECT body FROM events WHERE run = ?1 AND step = ?2 ORDER BY event",
            [self.key, PARSE_STEP],
            |row| row.get(0),
        )?;
        bodies.iter().map(|body| self.unfold(body)).collect()
    }

    fn answer(&mut self, effect: EffectId) -> Result<Option<Answer>, RecordError> {
        let bodies: Vec<String> = self.query(
            "SELECT body FROM answers WHERE run = ?1 AND effect = ?2 AND body IS NOT NULL",
            [self.key, number(effect)],
            |row| row.get(0),
        )?;
        self.unfold_some(bodies.first().map(String::as_str))
    }

    fn stopped(&mut self) -> Result<Vec<EffectId>, RecordError> {
        let lists: Vec<String> = self.query(
            "SELECT effects FROM stops WHERE run = ?1 ORDER BY stop",
            [self.key],
            |row| row.get(0),
        )?;
        let mut stopped = Vec::new();
        for list in lists {
            stopped.extend(self.unfold::<Vec<EffectId>>(&list)?);
        }
        Ok(stopped)
    }

    fn change(&mut self, access: AccessId) -> Result<Option<FileChange>, RecordError> {
        let changes: Vec<Option<String>> = self.query(
            "SELECT change FROM accesses WHERE run = ?1 AND effect = ?2 AND nth = ?3",
            [self.key, number(access.effect), nth(access)],
            |row| row.get(0),
        )?;
        self.unfold_some(changes.first().and_then(Option::as_deref))
    }

    fn landed(&mut self) -> Result<Vec<Landed>, RecordError> {
        type Line = (i64, i64, Option<String>, String, String);
        let lines: Vec<Line> = self.query(
            "SELECT a.effect, 0, NULL, e.body, a.body, a.place AS place FROM answers a \
                 JOIN effects e ON e.run = a.run AND e.effect = a.effect WHERE a.run = ?1 AND e.kind = 'store' AND a.body IS NOT NULL \
             UNION ALL \
             SELECT c.effect, c.nth, c.op, e.body, c.reply, c.place FROM accesses c \
                 JOIN effects e ON e.run = c.run AND e.effect = c.effect \
                 WHERE c.run = ?1 AND c.place IS NOT NULL AND c.op IS NOT NULL \
             ORDER BY place",
            [self.key],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )?;
        let mut landed = Vec::new();
        for (effect, nth, op, asked, reply) in lines {
            let access = AccessId {
                effect: EffectId(effect.unsigned_abs()),
                nth: nth.unsigned_abs(),
            };
            let asked: Effect = self.unfold(&asked)?;
            let (identity, op, reply) = match (asked.kind, op) {
                (EffectKind::Store(call), None) => match self.unfold(&reply)? {
                    Answer::Store(reply) => (call.identity, call.op, reply),
                    // It was given up before it landed.
                    _ => continue,
                },
                (EffectKind::ToolCall(call), Some(op)) => match call.identity {
                    Some(identity) => (identity, self.unfold(&op)?, self.unfold(&reply)?),
                    None => continue,
                },
                _ => continue,
            };
            landed.push(Landed {
                access,
                identity,
                op,
                reply,
            });
        }
        Ok(landed)
    }
}
