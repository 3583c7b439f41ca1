//! Taking a new run along the course of another.

use std::collections::{BTreeMap, BTreeSet};

use runvil_engine::{Answer, Effect, EffectId, EffectKind, Handed, History, Landed, RunOutcome, Step, StepRecord};
use tokio::time::sleep_until;

use super::{Driver, retrace::restore};
use crate::{
    Observer, replay,
    resume::{Fork, ResumeError},
    stepper::Order,
};

/// The course that a new run follows, and how far it has.
struct Followed {
    history: Box<dyn History>,
    until: EffectId,
    answer: Option<Answer>,
    /// What the recorded run asked for and had no answer to yet.
    asked: BTreeMap<EffectId, EffectKind>,
    /// Every access to the store that landed in the recorded run.
    landed: Vec<Landed>,
    /// What the Host stopped in the recorded run, which was handed as dropped.
    stopped: BTreeSet<EffectId>,
    /// The effects whose answers the new run has, as it asks for them.
    taken: BTreeMap<EffectId, EffectKind>,
}

impl Followed {
    fn new(fork: Fork) -> Result<Self, ResumeError> {
        let Fork {
            mut history,
            until,
            answer,
            ..
        } = fork;
        let landed = history.landed().map_err(ResumeError::Record)?;
        let stopped = history.stopped().map_err(ResumeError::Record)?.into_iter().collect();
        Ok(Self {
            history,
            until,
            answer,
            asked: BTreeMap::new(),
            landed,
            stopped,
            taken: BTreeMap::new(),
        })
    }

    /// Whether the new run asks for the same work under this number, and is to have the answer.
    fn covers(&self, id: EffectId, kind: &EffectKind) -> bool {
        let asked = self.asked.get(&id);
        id <= self.until && asked.is_some_and(|asked| replay::is_same_kind(asked, kind))
    }

    fn answer(&mut self, id: EffectId) -> Result<Option<Answer>, ResumeError> {
        match &self.answer {
            Some(answer) if id == self.until => Ok(Some(answer.clone())),
            _ => self.history.answer(id).map_err(ResumeError::Record),
        }
    }

    /// What landed for the new run, too: its own operations, and what tools did.
    fn landed_again(self) -> Vec<Landed> {
        let Self { landed, taken, .. } = self;
        let own = |mut landed: Landed| {
            match taken.get(&landed.access.effect)? {
                EffectKind::Store(call) => landed.identity.clone_from(&call.identity),
                EffectKind::ToolCall(call) => landed.identity.clone_from(call.identity.as_ref()?),
                EffectKind::ModelRound(_) | EffectKind::Timer { .. } => return None,
            }
            Some(landed)
        };
        landed.into_iter().filter_map(own).collect()
    }
}

impl Driver {
    /// Takes the run along the other's course, as far as it asks for the same work, and performs what it asks for there.
    pub(super) async fn follow(
        &mut self,
        fork: Fork,
        observer: &mut dyn Observer,
    ) -> Result<Option<RunOutcome>, ResumeError> {
        let mut course = Followed::new(fork)?;
        while let Some(recorded) = course.history.next_step().map_err(ResumeError::Record)? {
            if self.deadline.is_some() || !self.follows(&recorded, &course) {
                break;
            }
            let mut answers = Vec::new();
            for handed in &recorded.handed {
                answers.push((handed.effect, self.take_answer(*handed, &mut course)?));
            }
            let StepRecord { handed, effects, .. } = recorded;
            course
                .asked
                .extend(effects.into_iter().map(|effect| (effect.id, effect.kind)));
            let step = self.step_heeding_cancel(answers).await?.into_record(handed);
            if let Err(unrecordable) = self.record.keep(|recorder| recorder.stepped(&step)) {
                return Ok(Some(self.end_unrecorded(unrecordable, observer)));
            }
            for event in step.events {
                observer.event(&event);
                self.record.add(event);
            }
            self.hold(step.effects, &step.drops);
            if step.outcome.is_some() {
                return Ok(step.outcome);
            }
        }
        if self.deadline.is_some() {
            // The next step drops all that is open.
            self.open.abandon_work();
            return Ok(None);
        }
        self.leave(course, observer).await.map(|()| None)
    }

    /// Whether the run can be handed what the recorded step was.
    fn follows(&self, recorded: &StepRecord, course: &Followed) -> bool {
        let same = |handed: &Handed| {
            let held = self.open.held(handed.effect);
            held.is_some_and(|(effect, dropped)| {
                let was_stopped = handed.dropped && course.stopped.contains(&handed.effect);
                (was_stopped || dropped == handed.dropped) && course.covers(handed.effect, &effect.kind)
            })
        };
        recorded.cancelled.is_none() && recorded.handed.iter().all(same)
    }

    /// Takes over the answer that a recorded step was handed.
    fn take_answer(&mut self, handed: Handed, course: &mut Followed) -> Result<Answer, ResumeError> {
        let id = handed.effect;
        let answer = course.answer(id)?;
        if answer.is_none() && !handed.dropped {
            return Err(ResumeError::NoAnswer(id));
        }
        if let (Some(answer), Some(effect)) = (&answer, self.open.release(id)) {
            self.keep_taken(effect, answer, course)?;
        }
        course.asked.remove(&id);
        Ok(answer.filter(|_| !handed.dropped).unwrap_or(Answer::Dropped))
    }

    /// Records an answer of the other run as this one's, with what a tool's call did to the store for it.
    fn keep_taken(&mut self, effect: Effect, answer: &Answer, course: &mut Followed) -> Result<(), ResumeError> {
        let id = effect.id;
        let made = |landed: &&Landed| landed.access.effect == id && landed.access.nth > 0;
        for Landed { access, op, reply, .. } in course.landed.iter().filter(made) {
            self.keep(|recorder| {
                recorder.accessing(*access, op)?;
                recorder.accessed(*access, reply)
            })?;
        }
        course.taken.insert(id, effect.kind);
        self.keep_answer(id, answer)
    }

    /// A step that a cancel cuts short, as it would any other.
    async fn step_heeding_cancel(&mut self, answers: Vec<(EffectId, Answer)>) -> Result<Step, ResumeError> {
        self.stepper.step(Order {
            answers,
            cancel_at: None,
        });
        self.due = false;
        loop {
            let patience = self.deadline;
            tokio::select! {
                biased;
                stepped = self.stepper.stepped() => {
                    return stepped.map_err(|panicked| ResumeError::Step(panicked.to_string()));
                }
                () = self.control.cancelled(), if patience.is_none() => self.cancel(),
                () = async { sleep_until(patience.unwrap_or_else(tokio::time::Instant::now)).await }, if patience.is_some() => {
                    return Err(ResumeError::Step("it was cancelled, and its Lua does not come back".to_owned()));
                }
            }
        }
    }

    /// Leaves the course: what the run has of it is in the store, and what it still waits for is answered from there or
    /// performed.
    async fn leave(&mut self, mut course: Followed, observer: &mut dyn Observer) -> Result<(), ResumeError> {
        let mut settled = Vec::new();
        for id in self.open.all_held() {
            let Some((effect, dropped)) = self.open.held(id) else {
                continue;
            };
            let effect = effect.clone();
            let is_store = matches!(effect.kind, EffectKind::Store(_));
            let is_covered = course.covers(id, &effect.kind);
            let dropped = dropped || is_covered && course.stopped.contains(&id);
            let answer = if is_covered { course.answer(id)? } else { None };
            if let Some(answer) = &answer {
                self.keep_taken(effect, answer, &mut course)?;
            }
            settled.push((id, dropped, is_store, answer));
        }
        if let Some(session) = self.record.session.clone() {
            restore(session, course.landed_again()).await?;
        }
        for (id, dropped, is_store, answer) in settled {
            match answer {
                Some(answer) => self.open.settle(id, if dropped { Answer::Dropped } else { answer }),
                None if dropped && !is_store => self.open.settle(id, Answer::Dropped),
                None => self.open.perform_held(id, observer),
            }
        }
        Ok(())
    }
}
