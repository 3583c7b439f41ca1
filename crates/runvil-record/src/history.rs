//! The course of a run, for replaying it, going on with it, and forking it.

use std::sync::Arc;

use runvil_engine::{
    AccessId, Answer, Effect, EffectId, EffectKind, Event, FileChange, History, Landed, RecordFault, RunOutcome,
    RunPrepared, RunStart, StepRecord,
};
use serde_json::Value;

use crate::{
    Database, RecordError, RunId,
    change::Step,
    course::Course,
    read::{Header, Reader},
    rows::{PARSE_STEP, STORE, nth, number},
};

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
    /// Why the Host cancelled it, if it did and said so.
    pub cause: Option<String>,
}

impl Database {
    /// What is recorded of a run.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub fn run(&self, run: RunId) -> Result<RecordedRun, RecordError> {
        let Header {
            start,
            source,
            prepared,
            file,
            host,
            outcome,
            cause,
        } = Reader::header(self, run)?;
        Ok(RecordedRun {
            start,
            source,
            prepared,
            file,
            host,
            outcome,
            cause,
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
            next: 0,
        })
    }
}

/// The course of a recorded run, as far as it had come when this was made. Each step is put together when it is asked for.
pub struct RunHistory {
    reader: Reader,
    /// How many steps were read.
    next: usize,
}

impl History for RunHistory {
    fn next_step(&mut self) -> Result<Option<StepRecord>, RecordFault> {
        let step = self.reader.step(self.next)?;
        self.next += 1;
        Ok(step)
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

/// An access that landed: which, what a tool asked for, and what it came to.
type LandedRow<'c> = (AccessId, Option<&'c str>, &'c str);

impl Course {
    /// The rows of a span of numbers, all of which are there.
    fn span<T>(rows: &[T], number: fn(&T) -> i64, first: i64, count: i64) -> Option<&[T]> {
        if count == 0 {
            return Some(&[]);
        }
        let start = rows.partition_point(|row| number(row) < first);
        let span = rows.get(start..)?.get(..usize::try_from(count).ok()?)?;
        let is_whole = span.iter().map(number).eq(first..first + count);
        is_whole.then_some(span)
    }

    /// What was brought from the store, in the order in which it landed.
    fn landed(&self) -> Vec<LandedRow<'_>> {
        let own = self.effects.iter().filter(|row| row.kind == STORE).filter_map(|row| {
            let answer = self.answers.get(&row.effect)?;
            Some((answer.place, (access(row.effect, 0), None, answer.body.as_str())))
        });
        let of_tools = self.accesses.iter().filter_map(|(&(effect, nth), row)| {
            let (place, reply) = row.reply.as_ref()?;
            Some((*place, (access(effect, nth), Some(row.op.as_deref()?), reply.as_str())))
        });
        let mut landed: Vec<_> = own.chain(of_tools).collect();
        landed.sort_by_key(|(place, _)| *place);
        landed.into_iter().map(|(_, row)| row).collect()
    }
}

fn access(effect: i64, nth: i64) -> AccessId {
    AccessId {
        effect: EffectId(effect.unsigned_abs()),
        nth: nth.unsigned_abs(),
    }
}

impl Reader {
    fn step(&mut self, at: usize) -> Result<Option<StepRecord>, RecordError> {
        let course = Arc::clone(&self.course);
        let Some(step) = course.steps.get(at) else {
            return Ok(None);
        };
        let Step {
            handed,
            first_event,
            events,
            first_effect,
            effects,
            drops,
            openings,
            cancelled,
            outcome,
            ..
        } = step;
        let events = Course::span(&course.events, |row| row.event, *first_event, *events);
        let effects = Course::span(&course.effects, |row| row.effect, *first_effect, *effects);
        let (Some(events), Some(effects)) = (events, effects) else {
            return Err(self.damaged(&"it has gaps"));
        };
        Ok(Some(StepRecord {
            handed: self.unfold_some(handed.as_deref())?.unwrap_or_default(),
            openings: self.unfold_some(openings.as_deref())?.unwrap_or_default(),
            effects: effects
                .iter()
                .map(|row| self.unfold(&row.body))
                .collect::<Result<_, _>>()?,
            drops: self.unfold_some(drops.as_deref())?.unwrap_or_default(),
            events: events
                .iter()
                .map(|row| self.unfold(&row.body))
                .collect::<Result<_, _>>()?,
            cancelled: self.unfold_some(cancelled.as_deref())?,
            outcome: self.unfold_some(outcome.as_deref())?,
        }))
    }

    fn parse_events(&mut self) -> Result<Vec<Event>, RecordError> {
        let course = Arc::clone(&self.course);
        let rows = course.events.iter().filter(|row| row.step == PARSE_STEP);
        rows.map(|row| self.unfold(&row.body)).collect()
    }

    fn answer(&mut self, effect: EffectId) -> Result<Option<Answer>, RecordError> {
        let course = Arc::clone(&self.course);
        let answer = course.answers.get(&number(effect));
        self.unfold_some(answer.map(|answer| answer.body.as_str()))
    }

    fn stopped(&mut self) -> Result<Vec<EffectId>, RecordError> {
        let course = Arc::clone(&self.course);
        let mut stopped = Vec::new();
        for effects in &course.stops {
            stopped.extend(self.unfold::<Vec<EffectId>>(effects)?);
        }
        Ok(stopped)
    }

    fn change(&mut self, access: AccessId) -> Result<Option<FileChange>, RecordError> {
        let course = Arc::clone(&self.course);
        let row = course.accesses.get(&(number(access.effect), nth(access)));
        self.unfold_some(row.and_then(|row| row.change.as_deref()))
    }

    fn landed(&mut self) -> Result<Vec<Landed>, RecordError> {
        let course = Arc::clone(&self.course);
        let mut landed = Vec::new();
        for (access, op, reply) in course.landed() {
            let effect = number(access.effect);
            let asked = Course::span(&course.effects, |row| row.effect, effect, 1);
            let Some([asked]) = asked else {
                return Err(self.damaged(&"it has gaps"));
            };
            let asked: Effect = self.unfold(&asked.body)?;
            let (identity, op, reply) = match (asked.kind, op) {
                (EffectKind::Store(call), None) => match self.unfold(reply)? {
                    Answer::Store(reply) => (call.identity, call.op, reply),
                    // It was given up before it landed.
                    _ => continue,
                },
                (EffectKind::ToolCall(call), Some(op)) => match call.identity {
                    Some(identity) => (identity, self.unfold(op)?, self.unfold(reply)?),
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
