//! Writing the record of a run, as it goes.
//!
//! What the recorder is told goes into the run's journal at once. A thread brings it into the database, many frames in one
//! transaction; the last ones, with the outcome, land before the recorder says that the run has ended.

use std::{
    sync::{Arc, OnceLock},
    thread::JoinHandle,
};

use runvil_engine::{
    AccessId, Answer, EffectId, Event, FileChange, Outcome, RecordFault, Recorder, RunOutcome, RunPrepared, RunStart,
    StepRecord,
};
use runvil_vfs::{StoreFailure, StoreOp, StoreReply};
use serde_json::Value;

use crate::{
    Database, RecordError, RunId,
    apply::Applier,
    journal::Journal,
    landing::{Desk, Writing},
    read::Reader,
    rows::RowMaker,
};

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
    facts: HostFacts,
    writing: Arc<Writing>,
    /// Brings frames into the database from the first one on. `None` where no thread can be had: then the recorder's calls do.
    worker: OnceLock<Option<JoinHandle<()>>>,
}

impl Database {
    /// Opens the record of a new run, under a fresh id. Nothing is written before the run starts.
    ///
    /// # Errors
    /// The database may not be written, or the journal of the run cannot be made.
    pub fn record(&self, facts: HostFacts) -> Result<RunWriter, RecordError> {
        self.check_writable()?;
        let run = RunId::draw();
        let take = |path| Journal::take(path, run, self.durability());
        let journal = self.path().map(take).transpose()?;
        let desk = Desk::new(journal);
        Ok(RunWriter::new(self, facts, Applier::new(run), run, desk))
    }

    /// Goes on with the record of a run that has no outcome.
    ///
    /// # Errors
    /// [`RecordError::Live`] while a process drives the run, [`RecordError::Ended`] for one that has ended; there is no such
    /// run, or it cannot be read, or the database may not be written.
    pub fn resume(&self, run: RunId) -> Result<RunWriter, RecordError> {
        self.check_writable()?;
        let take = |path| Journal::take(path, run, self.durability());
        let mut journal = self.path().map(take).transpose()?;
        if let Some(journal) = &mut journal {
            self.fold_in(run, journal)?;
        }
        match self.rows_to_go_on(run) {
            Ok((rows, applier)) => {
                let desk = Desk::going_on(rows, applier.applied() + 1, journal);
                Ok(RunWriter::new(self, HostFacts::default(), applier, run, desk))
            }
            Err(error) => {
                if let Some(journal) = journal {
                    journal.remove();
                }
                Err(error)
            }
        }
    }

    fn rows_to_go_on(&self, run: RunId) -> Result<(RowMaker, Applier), RecordError> {
        let course = Reader::new(self, run)?.course;
        if self.summary(run)?.outcome.is_some() {
            return Err(RecordError::Ended(run));
        }
        let applier = self.reading(|connection| Applier::of(connection, run))?;
        Ok((RowMaker::of(&course), applier))
    }
}

impl RunWriter {
    fn new(database: &Database, facts: HostFacts, applier: Applier, run: RunId, desk: Desk) -> Self {
        Self {
            facts,
            writing: Arc::new(Writing::new(database, run, applier, desk)),
            worker: OnceLock::new(),
        }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.writing.run()
    }

    /// Says why the Host cancels the run, in words for a person. It is passed over before the run has started and after it
    /// has ended.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub fn cancelling(&self, cause: impl Into<String>) -> Result<(), RecordFault> {
        let kept = self.writing.keep_while_it_goes(|rows| rows.cause(cause.into()));
        self.kept(kept)
    }

    /// Says that the Host keeps a round that the run asks for from being sent, so that it counts nowhere.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub fn unsent(&self) -> Result<(), RecordFault> {
        self.kept(self.writing.keep_while_it_goes(RowMaker::unsent))
    }

    /// Keeps what the record learns.
    fn keep(&self, change: impl FnOnce(&mut RowMaker)) -> Result<(), RecordFault> {
        self.kept(self.writing.keep(change))
    }

    /// Keeps what the run does.
    fn act(&self, change: impl FnOnce(&mut RowMaker)) -> Result<(), RecordFault> {
        self.kept(self.writing.act(change))
    }

    fn kept(&self, kept: Result<(), RecordError>) -> Result<(), RecordFault> {
        kept.map_err(told)?;
        self.worker.get_or_init(|| self.writing.worker());
        Ok(())
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        self.writing.close();
        if let Some(Some(worker)) = self.worker.take() {
            // A worker that panicked has left what waits to the journal, or to this.
            let _ = worker.join();
        }
        self.writing.leave();
    }
}

impl Recorder for RunWriter {
    fn started(&self, start: &RunStart, source: &[u8]) -> Result<(), RecordFault> {
        self.writing.start();
        self.keep(|rows| rows.start(&self.facts, start, source, self.id().drawn_at()))
    }

    fn parsed(&self, name: Option<&str>, events: &[Event]) -> Result<(), RecordFault> {
        self.act(|rows| rows.parse(name, events))
    }

    fn prepared(&self, prepared: &RunPrepared) -> Result<(), RecordFault> {
        self.act(|rows| rows.prepare(prepared))
    }

    fn stepped(&self, step: &StepRecord) -> Result<(), RecordFault> {
        self.act(|rows| rows.step(step))
    }

    /// Settling what became of open work is no going on yet.
    fn answered(&self, effect: EffectId, answer: &Answer) -> Result<(), RecordFault> {
        self.keep(|rows| rows.answer(effect, answer))
    }

    fn accessing(&self, access: AccessId, op: &StoreOp) -> Result<(), RecordFault> {
        self.act(|rows| rows.access(access, op))
    }

    fn changing(&self, access: AccessId, change: &FileChange) -> Result<(), RecordFault> {
        self.act(|rows| rows.change(access, change))
    }

    fn accessed(&self, access: AccessId, reply: &Outcome<StoreReply, StoreFailure>) -> Result<(), RecordFault> {
        self.act(|rows| rows.reply(access, reply))
    }

    fn stopped(&self, dropped: &[EffectId]) -> Result<(), RecordFault> {
        self.act(|rows| rows.stop(dropped))
    }

    fn ended(&self, outcome: &RunOutcome, lost: &[Event]) -> Result<(), RecordFault> {
        self.act(|rows| rows.end(outcome, lost))?;
        self.writing.end().map_err(told)
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
