//! From the recorder's calls to the database: frames are made at a desk, kept in the journal, and wait there until they
//! land, many in one transaction.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{
    Database, RecordError, RunId, apply::Applier, change::Frame, clock::now, connect::PATIENCE, journal::Journal,
    rows::RowMaker,
};

/// How long frames wait for others that land with them. A transaction costs as much as a few dozen effects, and takes a
/// processor from the run; what others read of a run that goes is as old as this at most.
const WINDOW: Duration = Duration::from_millis(100);

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

/// What the recorder's calls and the worker share. Whoever locks both locks the applier first.
pub(crate) struct Writing {
    database: Database,
    run: RunId,
    applier: Mutex<Applier>,
    desk: Mutex<Desk>,
    /// Wakes the worker.
    news: Condvar,
}

/// Where frames are made and wait.
pub(crate) struct Desk {
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

impl Desk {
    /// The desk of a new run.
    pub(crate) fn new(journal: Option<Journal>) -> Self {
        Self::with(RowMaker::default(), 1, journal)
    }

    /// The desk of a run that goes on with this frame.
    pub(crate) fn going_on(rows: RowMaker, sequence: u64, journal: Option<Journal>) -> Self {
        Self {
            state: State::Going,
            resumed: true,
            ..Self::with(rows, sequence, journal)
        }
    }

    fn with(rows: RowMaker, sequence: u64, journal: Option<Journal>) -> Self {
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
    pub(crate) fn new(database: &Database, run: RunId, applier: Applier, desk: Desk) -> Self {
        Self {
            database: database.clone(),
            run,
            applier: Mutex::new(applier),
            desk: Mutex::new(desk),
            news: Condvar::new(),
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Opens the record of a new run.
    pub(crate) fn start(&self) {
        let mut desk = self.desk();
        if matches!(desk.state, State::New) {
            desk.state = State::Going;
        }
    }

    /// Keeps what the record learns.
    pub(crate) fn keep(&self, change: impl FnOnce(&mut RowMaker)) -> Result<(), RecordError> {
        self.tell(|desk| change(&mut desk.rows))
    }

    /// Keeps what the record learns of a run that goes. Before it starts and after it ends there is nothing to be kept.
    pub(crate) fn keep_while_it_goes(&self, change: impl FnOnce(&mut RowMaker)) -> Result<(), RecordError> {
        if matches!(self.desk().state, State::Going) {
            self.keep(change)
        } else {
            Ok(())
        }
    }

    /// Keeps what the run does, which is its first sign of going on.
    pub(crate) fn act(&self, change: impl FnOnce(&mut RowMaker)) -> Result<(), RecordError> {
        self.tell(|desk| {
            if std::mem::take(&mut desk.resumed) {
                desk.rows.resume();
            }
            change(&mut desk.rows);
        })
    }

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
    pub(crate) fn worker(self: &Arc<Self>) -> Option<JoinHandle<()>> {
        self.desk().journal.as_ref()?;
        let writing = Arc::clone(self);
        let thread = thread::Builder::new().name("runvil-record".to_owned());
        let work = move || {
            give_way();
            writing.work();
        };
        thread.spawn(work).ok()
    }

    /// Leaves what waits to whoever calls this.
    pub(crate) fn close(&self) {
        self.desk().closed = true;
        self.news.notify_one();
    }

    /// Brings the rest into the database, and gives the run up.
    pub(crate) fn end(&self) -> Result<(), RecordError> {
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

    /// Brings the rest of a run that may go on another time into the database. What does not land stays in the journal.
    pub(crate) fn leave(&self) {
        self.land(AT_THE_END);
        let mut desk = self.desk();
        let landed = desk.waiting.is_empty() && matches!(desk.state, State::New | State::Going);
        if let Some(journal) = desk.journal.take().filter(|_| landed) {
            journal.remove();
        }
    }

    /// Brings frames into the database as they come, until the desk is closed.
    fn work(&self) {
        let mut desk = self.desk();
        loop {
            let idle = |desk: &mut Desk| desk.waiting.is_empty() && !desk.closed;
            desk = self.news.wait_while(desk, idle).unwrap_or_else(PoisonError::into_inner);
            let early = |desk: &mut Desk| !desk.is_pressing();
            (desk, _) = self
                .news
                .wait_timeout_while(desk, WINDOW, early)
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

/// Lets the run's own threads go first: what is kept is safe, and can wait to be brought into the database.
#[cfg(target_os = "linux")]
fn give_way() {
    const NICE: i32 = 10;
    // One that is not allowed to works all the same.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
}

/// Elsewhere the niceness is the whole process's.
#[cfg(not(target_os = "linux"))]
fn give_way() {}
