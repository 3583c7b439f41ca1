//! Driving a run to its end (book: The Engine, the Harness, and the Host).

mod follow;
mod left;
mod open;
mod retrace;

use std::{sync::Arc, time::Duration};

use runvil_engine::{Answer, EffectId, Handed, RunError, RunOutcome, Step};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{
    Observer, Prepared, RunControl, RunReport,
    perform::Performer,
    recording::Unrecordable,
    report::RunRecord,
    resume::{Course, Fork, ResumeError},
    stepper::{Order, StepPanicked, Stepper},
};
pub(crate) use left::Staged;
use open::{News, OpenEffects};
use retrace::Verdict;

/// How long a cancelled run may take to come back from Lua, or a store operation of it to land, before it is left
/// behind.
const PATIENCE: Duration = Duration::from_millis(400);

/// Drives a prepared run to its end and tells the observer what happens.
///
/// The run gets one answer for each step, so that the order of the answers is all there is to know about its
/// course. Dropping the future ends the run as a cancel does, without a report.
pub async fn drive(prepared: Prepared, observer: &mut dyn Observer) -> RunReport {
    let Prepared {
        run,
        performer,
        control,
        record,
    } = prepared;
    for event in record.events() {
        observer.event(event);
    }
    match Stepper::start(run) {
        Ok(stepper) => Driver::new(stepper, performer, control, record).drive(observer).await,
        Err(error) => {
            let error = RunError::internal(format_args!("the run's thread does not start: {error}"));
            record.finish(RunOutcome::Failed(error)).await
        }
    }
}

/// A run that can go on behind its own record: all that might speak against it has been looked at, and nothing of it has
/// been performed or kept yet.
pub(crate) struct Retraced {
    driver: Driver,
    /// What becomes of each effect that was open.
    verdicts: Vec<(EffectId, Verdict)>,
    /// How the run ended, where its course led there.
    outcome: Option<RunOutcome>,
}

impl Retraced {
    /// Settles what was open, and drives the run to its end.
    pub(crate) async fn go_on(self, observer: &mut dyn Observer) -> Result<RunReport, ResumeError> {
        let Self {
            mut driver,
            verdicts,
            outcome,
        } = self;
        if let Some(outcome) = outcome {
            return Ok(driver.record.finish(outcome).await);
        }
        driver.settle(verdicts, observer)?;
        // A cancel that was recorded has its patience from here on.
        driver.deadline = driver.deadline.map(|_| Instant::now() + PATIENCE);
        Ok(driver.drive(observer).await)
    }
}

/// Takes a run along its own recorded course.
pub(crate) async fn retrace(prepared: Prepared, course: Course) -> Result<Retraced, ResumeError> {
    let mut driver = Driver::begin(prepared)?;
    let (verdicts, outcome) = driver.retrace(course).await?;
    Ok(Retraced {
        driver,
        verdicts,
        outcome,
    })
}

/// Takes a new run along the course of another, as far as it asks for the same work, then drives it to its end.
pub(crate) async fn drive_forked(
    prepared: Prepared,
    fork: Fork,
    observer: &mut dyn Observer,
) -> Result<RunReport, ResumeError> {
    for event in prepared.record.events() {
        observer.event(event);
    }
    let mut driver = Driver::begin(prepared)?;
    match driver.follow(fork, observer).await? {
        Some(outcome) => Ok(driver.record.finish(outcome).await),
        None => Ok(driver.drive(observer).await),
    }
}

struct Driver {
    stepper: Stepper,
    control: RunControl,
    stops: watch::Receiver<u64>,
    open: OpenEffects,
    record: RunRecord,
    /// What the step that is ordered was handed.
    handed: Vec<Handed>,
    /// A step is ordered and not done.
    stepping: bool,
    /// A step is due even without an answer.
    due: bool,
    /// When the run was cancelled, the instant at which patience ends.
    deadline: Option<Instant>,
}

/// What the driver waits for.
enum Happening {
    Cancelled,
    Stopped,
    Stepped(Result<Step, StepPanicked>),
    News(News),
    OutOfPatience,
}

impl Driver {
    fn new(stepper: Stepper, performer: Arc<Performer>, control: RunControl, record: RunRecord) -> Self {
        let stops = control.stops();
        let open = OpenEffects::new(performer);
        Self {
            stepper,
            control,
            stops,
            open,
            record,
            handed: Vec::new(),
            stepping: false,
            due: true,
            deadline: None,
        }
    }

    /// The driver of a run that has a course behind it.
    fn begin(prepared: Prepared) -> Result<Self, ResumeError> {
        let Prepared {
            run,
            performer,
            control,
            record,
        } = prepared;
        let stepper = Stepper::start(run).map_err(|error| ResumeError::Step(error.to_string()))?;
        Ok(Self::new(stepper, performer, control, record))
    }

    async fn drive(mut self, observer: &mut dyn Observer) -> RunReport {
        let outcome = loop {
            // Seen before a step is ordered, so that a run which is cancelled early runs nothing.
            if self.deadline.is_none() && self.control.is_cancelled() {
                self.cancel();
            }
            self.order_step(observer);
            let happening = self.next().await;
            if let Some(outcome) = self.handle(happening, observer) {
                break outcome;
            }
        };
        self.record.finish(outcome).await
    }

    async fn next(&mut self) -> Happening {
        let cancelled = self.deadline.is_some();
        let patience = self.deadline.unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            () = self.control.cancelled(), if !cancelled => Happening::Cancelled,
            Ok(()) = self.stops.changed(), if !cancelled => Happening::Stopped,
            step = self.stepper.stepped(), if self.stepping => Happening::Stepped(step),
            news = self.open.news() => Happening::News(news),
            () = sleep_until(patience), if cancelled => Happening::OutOfPatience,
        }
    }

    fn handle(&mut self, happening: Happening, observer: &mut dyn Observer) -> Option<RunOutcome> {
        match happening {
            Happening::Cancelled => self.cancel(),
            Happening::Stopped => return self.stop(observer),
            Happening::Stepped(Ok(step)) => return self.take_step(step, observer),
            Happening::Stepped(Err(panicked)) => {
                return Some(self.give_up(RunError::internal(panicked), observer));
            }
            Happening::News(News::Wrote(piece)) => self.open.tell(&piece, observer),
            Happening::News(News::Answered(id, answer)) => {
                let kept = self.record.keep(|recorder| recorder.answered(id, &answer));
                if let Err(unrecordable) = kept {
                    return Some(self.end_unrecorded(unrecordable, observer));
                }
                self.open.answer(id, answer, observer);
            }
            Happening::News(News::Panicked(id)) => {
                let error = RunError::internal(format_args!("the work of effect {id} panicked"));
                return Some(self.give_up(error, observer));
            }
            Happening::OutOfPatience => return self.lose_patience(observer),
        }
        None
    }

    /// Orders the next step, if one is due or an answer waits for it.
    fn order_step(&mut self, observer: &mut dyn Observer) {
        if self.stepping {
            return;
        }
        let answer = self.open.next_answer();
        if answer.is_none() && !self.due {
            return;
        }
        if let Some((id, answer)) = &answer {
            observer.effect_answered(*id, answer);
        }
        self.handed.extend(answer.as_ref().map(|(effect, answer)| Handed {
            effect: *effect,
            dropped: matches!(answer, Answer::Dropped),
        }));
        self.stepper.step(Order {
            answers: answer.into_iter().collect(),
            cancel_at: None,
        });
        (self.stepping, self.due) = (true, false);
    }

    fn take_step(&mut self, step: Step, observer: &mut dyn Observer) -> Option<RunOutcome> {
        self.stepping = false;
        let step = step.into_record(std::mem::take(&mut self.handed));
        let step = match self.record.keep(|recorder| recorder.stepped(&step)) {
            Ok(()) => step,
            Err(unrecordable) => return Some(self.end_unrecorded(unrecordable, observer)),
        };
        for event in step.events {
            observer.event(&event);
            self.record.add(event);
        }
        for effect in &step.effects {
            observer.effect_started(effect);
        }
        self.open.take(step.effects, step.drops);
        if step.outcome.is_none() && self.open.is_empty() && !self.due {
            return Some(self.give_up(RunError::internal("the run waits for nothing"), observer));
        }
        step.outcome
    }

    /// Stops the calls that wait.
    fn stop(&mut self, observer: &mut dyn Observer) -> Option<RunOutcome> {
        let dropped = self.open.stop();
        let kept = self.record.keep(|recorder| recorder.stopped(&dropped));
        kept.err()
            .map(|unrecordable| self.end_unrecorded(unrecordable, observer))
    }

    /// Ends a run whose record can no longer be kept: nothing more is performed.
    fn end_unrecorded(&mut self, unrecordable: Unrecordable, observer: &mut dyn Observer) -> RunOutcome {
        self.stepper.cancel();
        self.open.abandon_work();
        self.give_up(unrecordable.into(), observer)
    }

    /// Sets the run's flag and cuts its work short. The run's next step drops every effect.
    fn cancel(&mut self) {
        self.stepper.cancel();
        self.open.abandon_work();
        self.due = true;
        self.deadline = Some(Instant::now() + PATIENCE);
    }

    /// A cancelled run still waits: for store operations at first, which are then left behind, or for Lua that does
    /// not come back.
    fn lose_patience(&mut self, observer: &mut dyn Observer) -> Option<RunOutcome> {
        if !self.stepping && self.open.abandon_store() {
            self.deadline = Some(Instant::now() + PATIENCE);
            return None;
        }
        tracing::warn!(run = %self.record.facts().name, "a cancelled run does not end; it is left behind");
        self.end_events(observer);
        Some(RunOutcome::Cancelled)
    }

    /// Ends a run whose Engine cannot say how it ended.
    fn give_up(&mut self, error: RunError, observer: &mut dyn Observer) -> RunOutcome {
        self.end_events(observer);
        RunOutcome::Failed(error)
    }

    /// Reports the event that ends every run that does not succeed, in the Engine's place.
    fn end_events(&mut self, observer: &mut dyn Observer) {
        let event = self.record.run_failed();
        observer.event(&event);
        self.record.add_lost(event);
    }
}
