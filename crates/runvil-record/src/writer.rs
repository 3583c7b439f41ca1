//! Writing the record of a run, as it goes.
//!
//! What the recorder is told goes into the run's journal at once. A thread brings it into the database, many frames in one
//! transaction; the last ones, with the outcome, land before the recorder says that the run has ended.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use runvil_engine::{
    AccessId, Answer, EffectId, Event, FileChange, Outcome, RecordFault, Recorder, RunOutcome, RunPrepared, RunStart,
    StepRecord,
};
use runvil_vfs::{StoreFailure, StoreOp, StoreReply};
use serde_json::Value;

use crate::{
    Database, RecordError, RunId, apply::Applier, change::Frame, clock::now, connect::PATIENCE, journal::Journal,
    rows::RowMaker,
};

/// How long frames wait for others that land with them: a part of the time that the run has gone, within bounds. So the last
/// frames, for which the end of a run waits, are few next to the rest, and a long run has few transactions.
const WINDOW: u32 = 20;
const MIN_WINDOW: Duration = Duration::from_millis(5);
const MAX_WINDOW: Duration = Duration::from_millis(100);

/// How many bytes of frames may wait before whoever tells more brings them into the database first.
const MAX_WAITING: usize = 4 << 20;

/// How many bytes a journal may have before it is emptied, at the price of a wait.
const MAX_JOURNAL: u64 = 32 << 20;

/// A journal of fewer bytes is not emptied while its run goes.
const SMALL_JOURNAL: u64 = 1 << 20;

/// How long the worker waits for another process that writes, before it tries again with the next frames.
const SHORT: Duration = Duration::from_millis(50);

/// How long the end of a run waits for one, before it leaves the rest in the journal.
const AT_THE_END: Duration = Duration::from_secs(1);

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

/// What the recorder's calls and the worker share. Whoever locks both locks the applier first.
struct Writing {
    database: Database,
    run: RunId,
    applier: Mutex<Applier>,
    desk: Mutex<Desk>,
    /// Wakes the worker.
    news: Condvar,
}

/// Where frames are made and wait.
struct Desk {
    rows: RowMaker,
    /// The number of the next frame.
    sequence: u64,
    /// `None` for a database in memory.
    journal: Option<Journal>,
    waiting: Vec<Frame>,
    /// How many bytes the waiting frames take in the journal.
    bytes: usize,
    state: State,
    /// The first thing that the run does counts it as resumed.
    resumed: bool,
    /// The worker has nothing more to do.
    closed: bool,
}

/// How far the writing is.
enum State {
    /// Nothing is written yet.
    New,
    Going,
    /// A write behind the recorder's back failed, which its next call tells.
    Failed(RecordError),
    /// It has failed.
    Broken,
    Ended,
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
        let desk = Desk::new(RowMaker::default(), 1, journal);
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
                let mut desk = Desk::new(rows, applier.applied() + 1, journal);
                (desk.state, desk.resumed) = (State::Going, true);
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
        let key = self.key(run)?;
        if self.summary(run)?.outcome.is_some() {
            return Err(RecordError::Ended(run));
        }
        self.reading(|connection| Ok((RowMaker::of(connection, key)?, Applier::of(connection, run)?)))
    }
}

impl RunWriter {
    fn new(database: &Database, facts: HostFacts, applier: Applier, run: RunId, desk: Desk) -> Self {
        Self {
            facts,
            writing: Arc::new(Writing {
                database: database.clone(),
                run,
                applier: Mutex::new(applier),
                desk: Mutex::new(desk),
                news: Condvar::new(),
            }),
            worker: OnceLock::new(),
        }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.writing.run
    }

    /// Keeps what the record learns.
    fn keep(&self, change: impl FnOnce(&mut RowMaker)) -> Result<(), RecordFault> {
        self.writing.tell(|desk| change(&mut desk.rows)).map_err(told)?;
        self.worker.get_or_init(|| self.writing.worker());
        Ok(())
    }

    /// Keeps what the run does.
    fn act(&self, change: impl FnOnce(&mut RowMaker)) -> Result<(), RecordFault> {
        self.writing
            .tell(|desk| {
                if std::mem::take(&mut desk.resumed) {
                    desk.rows.resume();
                }
                change(&mut desk.rows);
            })
            .map_err(told)?;
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
        self.writing.land(AT_THE_END);
        let mut desk = self.writing.desk();
        let landed = desk.waiting.is_empty() && matches!(desk.state, State::New | State::Going);
        if let Some(journal) = desk.journal.take().filter(|_| landed) {
            journal.remove();
        }
    }
}

impl Recorder for RunWriter {
    fn started(&self, start: &RunStart, source: &[u8]) -> Result<(), RecordFault> {
        {
            let mut desk = self.writing.desk();
            if matches!(desk.state, State::New) {
                desk.state = State::Going;
            }
        }
        self.keep(|rows| rows.start(&self.facts, start, source))
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

impl Desk {
    fn new(rows: RowMaker, sequence: u64, journal: Option<Journal>) -> Self {
        Self {
            rows,
            sequence,
            journal,
            waiting: Vec::new(),
            bytes: 0,
            state: State::New,
            resumed: false,
            closed: false,
        }
    }

    /// Whether what waits should land now.
    fn is_pressing(&self) -> bool {
        self.bytes > MAX_WAITING / 2 || self.closed
    }

    /// Whether nothing more should be taken before what waits has landed, with so many bytes on their way.
    fn is_full(&self, landing: usize) -> bool {
        let journal = self.journal.as_ref();
        self.bytes + landing > MAX_WAITING || journal.is_none_or(|journal| journal.length() > MAX_JOURNAL)
    }

    /// Keeps what the rows have changed.
    fn keep(&mut self) -> Result<(), RecordError> {
        let frame = Frame {
            sequence: self.sequence,
            at: now(),
            changes: self.rows.take(),
        };
        if let Some(journal) = &mut self.journal {
            self.bytes += journal.append(&frame)?;
        }
        self.sequence += 1;
        self.waiting.push(frame);
        Ok(())
    }
}

impl Writing {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a call of the recorder changes, in a frame of its own.
    fn tell(&self, change: impl FnOnce(&mut Desk)) -> Result<(), RecordError> {
        let mut desk = self.desk();
        if !matches!(desk.state, State::Going) {
            return Err(self.refusal(&mut desk));
        }
        let was_pressing = desk.is_pressing();
        change(&mut desk);
        if let Err(error) = desk.keep() {
            desk.state = State::Broken;
            return Err(error);
        }
        if desk.is_full(0) {
            drop(desk);
            self.land(PATIENCE);
            let mut desk = self.desk();
            return match desk.state {
                State::Failed(_) => Err(self.refusal(&mut desk)),
                _ => Ok(()),
            };
        }
        // The worker sleeps until something comes, then until the window ends or much has come.
        if desk.waiting.len() == 1 || desk.is_pressing() && !was_pressing {
            self.news.notify_one();
        }
        Ok(())
    }

    /// Why nothing more is kept.
    fn refusal(&self, desk: &mut Desk) -> RecordError {
        match std::mem::replace(&mut desk.state, State::Broken) {
            State::Failed(error) => error,
            _ => RecordError::Broken(self.run),
        }
    }

    /// Brings all that waits into the database. A failure is told by the next call of the recorder; what was kept stays in
    /// the journal.
    fn land(&self, patience: Duration) {
        let mut applier = self.applier.lock().unwrap_or_else(PoisonError::into_inner);
        let (frames, bytes) = {
            let mut desk = self.desk();
            if matches!(desk.state, State::Failed(_) | State::Broken) {
                return;
            }
            (std::mem::take(&mut desk.waiting), std::mem::take(&mut desk.bytes))
        };
        let applied = applier.apply(&self.database, patience, &frames);
        let mut desk = self.desk();
        match applied {
            Ok(()) if desk.waiting.is_empty() => {
                let journal = desk.journal.as_mut();
                // What was applied and is still there does no harm.
                let _ = journal
                    .filter(|journal| journal.length() > SMALL_JOURNAL)
                    .map(Journal::clear);
            }
            Ok(()) => {}
            // The journal keeps them until the other process is done.
            Err(RecordError::Busy(_)) if !desk.is_full(bytes) => {
                desk.waiting.splice(0..0, frames);
                desk.bytes += bytes;
            }
            Err(error) => desk.state = State::Failed(error),
        }
    }

    /// Starts the thread that brings frames into the database. One in memory has them already.
    fn worker(self: &Arc<Self>) -> Option<JoinHandle<()>> {
        self.desk().journal.as_ref()?;
        let writing = Arc::clone(self);
        let thread = thread::Builder::new().name("runvil-record".to_owned());
        thread.spawn(move || writing.work()).ok()
    }

    /// Leaves what waits to whoever calls this.
    fn close(&self) {
        self.desk().closed = true;
        self.news.notify_one();
    }

    /// Brings the rest into the database, and gives the run up.
    fn end(&self) -> Result<(), RecordError> {
        self.close();
        self.land(AT_THE_END);
        let mut desk = self.desk();
        let landed = desk.waiting.is_empty();
        match std::mem::replace(&mut desk.state, State::Ended) {
            // The outcome is there before the lock goes: whoever takes the lock next sees that the run has ended.
            State::Going if landed => {
                if let Some(journal) = desk.journal.take() {
                    journal.remove();
                }
            }
            // All is kept in the journal, until whoever opens the database next brings it there.
            State::Going | State::Failed(RecordError::Full(_)) => drop(desk.journal.take()),
            State::Failed(error) => return Err(error),
            State::New | State::Broken | State::Ended => return Err(RecordError::Broken(self.run)),
        }
        Ok(())
    }

    /// Brings frames into the database as they come, until the desk is closed.
    fn work(&self) {
        let begun = Instant::now();
        let mut desk = self.desk();
        loop {
            let idle = |desk: &mut Desk| desk.waiting.is_empty() && !desk.closed;
            desk = self.news.wait_while(desk, idle).unwrap_or_else(PoisonError::into_inner);
            let window = (begun.elapsed() / WINDOW).clamp(MIN_WINDOW, MAX_WINDOW);
            let early = |desk: &mut Desk| !desk.is_pressing();
            (desk, _) = self
                .news
                .wait_timeout_while(desk, window, early)
                .unwrap_or_else(PoisonError::into_inner);
            if desk.closed {
                return;
            }
            if desk.journal.as_ref().is_some_and(|journal| !journal.is_in_place()) {
                desk.state = State::Failed(RecordError::Lost(self.run));
                return;
            }
            drop(desk);
            self.land(SHORT);
            desk = self.desk();
        }
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
