//! Driving a run to its end (book: The Engine, the Harness, and the Host).

mod open;
mod retrace;

use std::{sync::Arc, time::Duration};

use runvil_engine::{Answer, Handed, RunError, RunOutcome, Step};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{
    Observer, Prepared, RunControl, RunReport,
    perform::Performer,
    recording::Unrecordable,
    report::RunRecord,
    resume::{Course, ResumeError},
    stepper::{Order, StepPanicked, Stepper},
};
use open::{News, OpenEffects};

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
        Ok(stepper) => Driver::new(stepper, performer, control, record, observer).drive().await,
        Err(error) => {
            let error = RunError::internal(format_args!("the run's thread does not start: {error}"));
            record.finish(RunOutcome::Failed(error)).await
        }
    }
}

/// Takes a run along the course that it has behind it, then drives it to its end.
pub(crate) async fn drive_from(
    prepared: Prepared,
    course: Course,
    observer: &mut dyn Observer,
) -> Result<RunReport, ResumeError> {
    let Prepared {
        run,
        performer,
        control,
        record,
    } = prepared;
    if matches!(course, Course::Forked(_)) {
        for event in record.events() {
            observer.event(event);
        }
    }
    let stepper = Stepper::start(run).map_err(|error| ResumeError::Step(error.to_string()))?;
    let mut driver = Driver::new(stepper, performer, control, record, observer);
    match driver.retrace(course).await? {
        Some(outcome) => Ok(driver.record.finish(outcome).await),
        None => Ok(driver.drive().await),
    }
}

struct Driver<'a> {
    stepper: Stepper,
    control: RunControl,
    stops: watch::Receiver<u64>,
    open: OpenEffects,
    record: RunRecord,
    observer: &'a mut dyn Observer,
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

impl<'a> Driver<'a> {
    fn new(
        stepper: Stepper,
        performer: Arc<Performer>,
        control: RunControl,
        record: RunRecord,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let stops = control.stops();
        let open = OpenEffects::new(performer);
        Self {
            stepper,
            control,
            stops,
            open,
            record,
            observer,
            handed: Vec::new(),
            stepping: false,
            due: true,
            deadline: None,
        }
    }

    async fn drive(mut self) -> RunReport {
        let outcome = loop {
            // Seen before a step is ordered, so that a run which is cancelled early runs nothing.
            if self.deadline.is_none() && self.control.is_cancelled() {
                self.cancel();
            }
            self.order_step();
            let happening = self.next().await;
            if let Some(outcome) = self.handle(happening) {
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

    fn handle(&mut self, happening: Happening) -> Option<RunOutcome> {
        match happening {
            Happening::Cancelled => self.cancel(),
            Happening::Stopped => return self.stop(),
            Happening::Stepped(Ok(step)) => return self.take_step(step),
            Happening::Stepped(Err(panicked)) => {
                return Some(self.give_up(RunError::internal(panicked)));
            }
            Happening::News(News::Wrote(piece)) => self.open.tell(&piece, self.observer),
            Happening::News(News::Answered(id, answer)) => {
                let kept = self.record.keep(|recorder| recorder.answered(id, &answer));
                if let Err(unrecordable) = kept {
                    return Some(self.end_unrecorded(unrecordable));
                }
                self.open.answer(id, answer, self.observer);
            }
            Happening::News(News::Panicked(id)) => {
                let error = RunError::internal(format_args!("the work of effect {id} panicked"));
                return Some(self.give_up(error));
            }
            Happening::OutOfPatience => return self.lose_patience(),
        }
        None
    }

    /// Orders the next step, if one is due or an answer waits for it.
    fn order_step(&mut self) {
        if self.stepping {
            return;
        }
        let answer = self.open.next_answer();
        if answer.is_none() && !self.due {
            return;
        }
        if let Some((id, answer)) = &answer {
            self.observer.effect_answered(*id, answer);
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

    fn take_step(&mut self, step: Step) -> Option<RunOutcome> {
        self.stepping = false;
        let step = step.into_record(std::mem::take(&mut self.handed));
        let step = match self.record.keep(|recorder| recorder.stepped(&step)) {
            Ok(()) => step,
            Err(unrecordable) => return Some(self.end_unrecorded(unrecordable)),
        };
        for event in step.events {
            self.observer.event(&event);
            self.record.add(event);
        }
        for effect in &step.effects {
            self.observer.effect_started(effect);
        }
        self.open.take(step.effects, step.drops);
        if step.outcome.is_none() && self.open.is_empty() && !self.due {
            return Some(self.give_up(RunError::internal("the run waits for nothing")));
        }
        step.outcome
    }

    /// Stops the calls that wait.
    fn stop(&mut self) -> Option<RunOutcome> {
        let dropped = self.open.stop();
        let kept = self.record.keep(|recorder| recorder.stopped(&dropped));
        kept.err().map(|unrecordable| self.end_unrecorded(unrecordable))
    }

    /// Ends a run whose record can no longer be kept: nothing more is performed.
    fn end_unrecorded(&mut self, unrecordable: Unrecordable) -> RunOutcome {
        self.stepper.cancel();
        self.open.abandon_work();
        self.give_up(unrecordable.into())
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
    fn lose_patience(&mut self) -> Option<RunOutcome> {
        if !self.stepping && self.open.abandon_store() {
            self.deadline = Some(Instant::now() + PATIENCE);
            return None;
        }
        tracing::warn!(run = %self.record.facts().name, "a cancelled run does not end; it is left behind");
        self.end_events();
        Some(RunOutcome::Cancelled)
    }

    /// Ends a run whose Engine cannot say how it ended.
    fn give_up(&mut self, error: RunError) -> RunOutcome {
        self.end_events();
        RunOutcome::Failed(error)
    }

    /// Reports the event that ends every run that does not succeed, in the Engine's place.
    fn end_events(&mut self) {
        let event = self.record.run_failed();
        self.observer.event(&event);
        self.record.add_lost(event);
    }
}
