//! Repeating a recorded run: no model, no tool and no store is asked (book: Repeating a run exactly).

mod access;
mod difference;

use std::{sync::Arc, thread};

use runvil_engine::{
    Answer, Event, History, PreparedRoles, RecordFault, Run, RunError, RunOutcome, RunPrepared, RunSetup, RunStart,
    Step, StepRecord, StoreAccess, prepare_roles,
    prompt::{Parsed, Prompt},
};

pub(crate) use access::RecordedAccess;
pub(crate) use difference::steps;
pub use difference::{Divergence, Part, is_same_kind};

use crate::{Observer, stepper::STACK_BYTES};

/// A recorded run, but for its course.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What it started from.
    pub start: RunStart,
    /// The prompt file.
    pub source: Vec<u8>,
    /// The events of the parse.
    pub parse_events: Vec<Event>,
    /// What preparing it found; `None` for one that was not built.
    pub prepared: Option<RunPrepared>,
    /// How it ended; `None` for one that has not, or whose process died.
    pub outcome: Option<RunOutcome>,
}

/// What a replay came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// How many steps were repeated, the one that diverged included.
    pub steps: u64,
    /// How many effects they asked for.
    pub effects: u64,
    /// How many events they reported, those of the parse included.
    pub events: u64,
    /// Where the replay first differs from the record; `None` if it does not.
    pub divergence: Option<Divergence>,
    /// How the replay ended; `None` where the record ends before the run does, or the replay diverged.
    pub outcome: Option<RunOutcome>,
}

/// Why a run cannot be repeated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The record cannot be read.
    #[error("the record cannot be read: {0}")]
    Record(#[source] RecordFault),
    /// The record hands a step an answer that it does not hold.
    #[error("the record lacks the answer to effect {0}")]
    NoAnswer(runvil_engine::EffectId),
    /// No thread can be had.
    #[error("the thread of the replay does not start: {0}")]
    Thread(#[source] std::io::Error),
}

/// Repeats a run with the answers of its record, and compares every event and effect, byte for byte.
///
/// `source` is the prompt file to run, which may be another than the recorded one. Blocks as long as the run's Lua does.
///
/// # Errors
/// The record cannot be read, or has gaps. That the runs differ is no error.
pub fn replay(recorded: &Recorded, source: &[u8], history: &mut dyn History) -> Result<Replayed, ReplayError> {
    replay_watched(recorded, source, history, &mut ())
}

/// [`replay`], with an observer that hears each event that is reported anew.
///
/// # Errors
/// As [`replay`].
pub fn replay_watched(
    recorded: &Recorded,
    source: &[u8],
    history: &mut dyn History,
    observer: &mut dyn Observer,
) -> Result<Replayed, ReplayError> {
    thread::scope(move |scope| {
        let work = move || Replay::new(recorded, observer).run(source, history);
        let thread = thread::Builder::new()
            .name("runvil-replay".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)
            .map_err(ReplayError::Thread)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

struct Replay<'a> {
    recorded: &'a Recorded,
    observer: &'a mut dyn Observer,
    access: RecordedAccess,
    done: Replayed,
}

impl<'a> Replay<'a> {
    fn new(recorded: &'a Recorded, observer: &'a mut dyn Observer) -> Self {
        Self {
            recorded,
            observer,
            access: RecordedAccess::default(),
            done: Replayed {
                steps: 0,
                effects: 0,
                events: 0,
                divergence: None,
                outcome: None,
            },
        }
    }

    fn run(mut self, source: &[u8], history: &mut dyn History) -> Result<Replayed, ReplayError> {
        match self.build(source) {
            Ok(run) => self.steps(run, history)?,
            Err(ended) => self.compare_end(ended),
        }
        Ok(self.done)
    }

    /// Builds the run as it was built, or tells how it ended before that.
    fn build(&mut self, source: &[u8]) -> Result<Run, Option<RunOutcome>> {
        let start = &self.recorded.start;
        let Parsed { events, result } = Prompt::parse(source, &start.facts.name);
        self.hear(&events);
        self.done.divergence = difference::events(None, &self.recorded.parse_events, &events);
        if self.done.divergence.is_some() {
            return Err(None);
        }
        let prompt = result.map_err(|error| Some(RunOutcome::Failed(RunError::from(&error))))?;
        // A run that was refused hung on an environment that is not asked again.
        let prepared = self.recorded.prepared.clone().ok_or(None)?;
        build(start, Arc::new(prompt), prepared, self.access.clone()).map_err(|error| Some(RunOutcome::Failed(error)))
    }

    fn hear(&mut self, events: &[Event]) {
        self.done.events += events.len() as u64;
        for event in events {
            self.observer.event(event);
        }
    }

    fn steps(&mut self, mut run: Run, history: &mut dyn History) -> Result<(), ReplayError> {
        while let Some(recorded) = history.next_step().map_err(ReplayError::Record)? {
            let step = step(&mut run, &recorded, history, &self.access)?;
            self.done.effects += step.effects.len() as u64;
            self.hear(&step.events);
            self.done.divergence = steps(self.done.steps, &recorded, &step);
            self.done.steps += 1;
            if self.done.divergence.is_some() {
                return Ok(());
            }
            self.done.outcome = step.outcome;
        }
        // The Engine itself completes a run, so the record of one ends with that step.
        if let (None, Some(completed @ RunOutcome::Completed { .. })) = (&self.done.outcome, &self.recorded.outcome) {
            self.done.divergence = difference::outcomes(Some(self.done.steps), Some(completed), None);
        }
        Ok(())
    }

    /// Compares the outcome of a run that was not built.
    fn compare_end(&mut self, ended: Option<RunOutcome>) {
        if self.done.divergence.is_none()
            && let (Some(replayed), Some(recorded)) = (&ended, &self.recorded.outcome)
        {
            self.done.divergence = difference::outcomes(None, Some(recorded), Some(replayed));
        }
        self.done.outcome = ended;
    }
}

/// Builds a run of what was recorded of its setup.
pub(crate) fn build(
    start: &RunStart,
    prompt: Arc<Prompt>,
    prepared: RunPrepared,
    access: impl StoreAccess + 'static,
) -> Result<Run, RunError> {
    let PreparedRoles { roles, .. } = prepare_roles(&prompt, start.model.as_ref());
    Run::new(RunSetup {
        prompt,
        facts: start.facts.clone(),
        packs: prepared.packs,
        roles,
        store: start.has_store.then(|| Box::new(access) as Box<dyn StoreAccess>),
    })
}

/// Has a run make a recorded step again.
fn step(
    run: &mut Run,
    recorded: &StepRecord,
    history: &mut dyn History,
    access: &RecordedAccess,
) -> Result<Step, ReplayError> {
    for handed in &recorded.handed {
        let answer = if handed.dropped {
            Answer::Dropped
        } else {
            let answer = history.answer(handed.effect).map_err(ReplayError::Record)?;
            answer.ok_or(ReplayError::NoAnswer(handed.effect))?
        };
        run.answer(handed.effect, answer);
    }
    access.grant(&recorded.openings);
    if let Some(place) = recorded.cancelled {
        run.cancel_at(place);
    }
    Ok(run.step())
}
