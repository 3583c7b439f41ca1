//! Taking a run along a recorded course before it is driven.

use std::collections::{BTreeMap, BTreeSet};

use runvil_engine::{
    AccessId, Answer, Effect, EffectId, EffectKind, Handed, History, Landed, Outcome, RunOutcome, StepRecord, StoreCall,
};
use runvil_vfs::{Session, StoreReply};
use tokio::time::Instant;

use super::{Driver, PATIENCE};
use crate::{
    blocking::blocking,
    recording,
    replay::{self, RecordedAccess},
    resume::{self, Course, Fork, OnUnknown, ResumeError},
    stepper::Order,
    store::SessionAccess,
};

/// What becomes of work that was open.
enum Verdict {
    Perform,
    Answer(Answer),
    Unknown,
}

impl Driver<'_> {
    /// Takes the run along its course. Gives the outcome, where the course leads to one.
    pub(super) async fn retrace(&mut self, course: Course) -> Result<Option<RunOutcome>, ResumeError> {
        match course {
            Course::Resumed {
                history,
                access,
                unknown,
            } => self.retrace_own(history, &access, unknown).await,
            Course::Forked(fork) => self.retrace_other(fork).await,
        }
    }

    /// Makes every recorded step again, then settles what was open.
    async fn retrace_own(
        &mut self,
        mut history: Box<dyn History>,
        access: &RecordedAccess,
        unknown: OnUnknown,
    ) -> Result<Option<RunOutcome>, ResumeError> {
        let mut number = 0;
        while let Some(recorded) = history.next_step().map_err(ResumeError::Record)? {
            let answers = recorded_answers(&recorded, &mut *history)?;
            access.grant(&recorded.openings);
            let cancel_at = recorded.cancelled;
            let step = self.step_again(Order { answers, cancel_at }).await?;
            if let Some(divergence) = replay::steps(number, &recorded, &step) {
                return Err(ResumeError::Diverged(Box::new(divergence)));
            }
            number += 1;
            self.due = false;
            if cancel_at.is_some() {
                self.deadline = Some(Instant::now() + PATIENCE);
            }
            for handed in &recorded.handed {
                self.open.release(handed.effect);
            }
            self.hold(step.effects, &step.drops);
            for event in step.events {
                self.record.add(event);
            }
            if step.outcome.is_some() {
                return Ok(step.outcome);
            }
        }
        let verdicts = self.judge(&mut *history, unknown).await?;
        let landed = history.landed().map_err(ResumeError::Record)?;
        self.restore(landed, access).await?;
        for (id, verdict) in verdicts {
            match verdict {
                Verdict::Answer(answer) => self.open.settle(id, answer),
                Verdict::Perform | Verdict::Unknown => self.open.perform_held(id),
            }
        }
        Ok(None)
    }

    async fn step_again(&mut self, order: Order) -> Result<runvil_engine::Step, ResumeError> {
        self.stepper.step(order);
        let stepped = self.stepper.stepped().await;
        stepped.map_err(|panicked| ResumeError::Step(panicked.to_string()))
    }

    fn hold(&mut self, effects: Vec<Effect>, drops: &[EffectId]) {
        for effect in effects {
            self.open.hold(effect);
        }
        for &id in drops {
            self.open.drop_effect(id);
        }
    }

    /// What becomes of each effect that was open when the process died. Nothing is performed before all is settled.
    async fn judge(
        &mut self,
        history: &mut dyn History,
        unknown: OnUnknown,
    ) -> Result<Vec<(EffectId, Verdict)>, ResumeError> {
        let stopped: BTreeSet<EffectId> = history.stopped().map_err(ResumeError::Record)?.into_iter().collect();
        let mut verdicts = Vec::new();
        let mut undecided = Vec::new();
        for id in self.open.all_held() {
            let Some((effect, dropped)) = self.open.held(id) else {
                continue;
            };
            let effect = effect.clone();
            let answer = history.answer(id).map_err(ResumeError::Record)?;
            let is_store = matches!(effect.kind, EffectKind::Store(_));
            let verdict = match answer {
                _ if stopped.contains(&id) || dropped && !is_store => Verdict::Answer(Answer::Dropped),
                Some(_) if dropped => Verdict::Answer(Answer::Dropped),
                Some(answer) => Verdict::Answer(answer),
                None => self.judge_open(&effect, history).await?,
            };
            let verdict = match (verdict, unknown) {
                (Verdict::Unknown, OnUnknown::Ask) => {
                    undecided.push(effect);
                    continue;
                }
                (Verdict::Unknown, OnUnknown::Repeat) => Verdict::Perform,
                (Verdict::Unknown, OnUnknown::Fail) => {
                    Verdict::Answer(self.keep_answer(id, resume::failed_unknown(&effect.kind))?)
                }
                (verdict, _) => verdict,
            };
            verdicts.push((id, verdict));
        }
        if undecided.is_empty() {
            Ok(verdicts)
        } else {
            Err(ResumeError::Unknown(undecided))
        }
    }

    /// Work without an answer: most is asked again.
    async fn judge_open(&mut self, effect: &Effect, history: &mut dyn History) -> Result<Verdict, ResumeError> {
        match &effect.kind {
            EffectKind::ModelRound(_) | EffectKind::Timer { .. } => Ok(Verdict::Perform),
            EffectKind::ToolCall(call) => Ok(if resume::is_repeat_safe(self.open.tools(), &call.tool) {
                Verdict::Perform
            } else {
                Verdict::Unknown
            }),
            EffectKind::Store(call) => self.judge_store(effect.id, call, history).await,
        }
    }

    /// A change of a real file may have been made: its contents tell.
    async fn judge_store(
        &mut self,
        effect: EffectId,
        call: &StoreCall,
        history: &mut dyn History,
    ) -> Result<Verdict, ResumeError> {
        let change = history
            .change(AccessId { effect, nth: 0 })
            .map_err(ResumeError::Record)?;
        let (Some(change), Some(session)) = (change, self.record.session.clone()) else {
            return Ok(Verdict::Perform);
        };
        let path = call.op.path().to_owned();
        let found = blocking(move || session.contents(&path))
            .await
            .map_err(ResumeError::Store)?;
        let found = found.as_deref().map(recording::state);
        if found == change.before {
            Ok(Verdict::Perform)
        } else if found == change.after {
            let answer = Answer::Store(Outcome::Ok(StoreReply::Done));
            Ok(Verdict::Answer(self.keep_answer(effect, answer)?))
        } else {
            Ok(Verdict::Unknown)
        }
    }

    /// Records an answer that was found out.
    fn keep_answer(&mut self, id: EffectId, answer: Answer) -> Result<Answer, ResumeError> {
        let kept = self.record.keep(|recorder| recorder.answered(id, &answer));
        kept.map_err(|unrecordable| ResumeError::Record(unrecordable.to_string().into()))?;
        Ok(answer)
    }

    /// Brings the store to where it was: what landed has its claims again, and a store in memory its files.
    async fn restore(&mut self, landed: Vec<Landed>, access: &RecordedAccess) -> Result<(), ResumeError> {
        let Some(session) = self.record.session.clone() else {
            return Ok(());
        };
        access.hand_over(Box::new(SessionAccess(session.clone())));
        blocking(move || restore(&session, landed))
            .await
            .map_err(ResumeError::Store)
    }

    /// Takes a forked run along the other's course, as far as it asks for the same work.
    async fn retrace_other(&mut self, fork: Fork) -> Result<Option<RunOutcome>, ResumeError> {
        let Fork {
            mut history,
            until,
            answer,
        } = fork;
        let mut asked: BTreeMap<EffectId, EffectKind> = BTreeMap::new();
        let known = |history: &mut dyn History, id: EffectId| match &answer {
            Some(answer) if id == until => Ok(Some(answer.clone())),
            _ => history.answer(id).map_err(ResumeError::Record),
        };
        while let Some(recorded) = history.next_step().map_err(ResumeError::Record)? {
            let follows = |handed: &Handed| {
                let Some((effect, dropped)) = self.open.held(handed.effect) else {
                    return false;
                };
                let same = asked
                    .get(&handed.effect)
                    .is_some_and(|kind| replay::is_same_kind(kind, &effect.kind));
                same && handed.effect <= until && dropped == handed.dropped
            };
            if recorded.cancelled.is_some() || !recorded.handed.iter().all(follows) {
                break;
            }
            let mut answers = Vec::new();
            for handed in &recorded.handed {
                let id = handed.effect;
                let answer = if handed.dropped {
                    None
                } else {
                    known(&mut *history, id)?
                };
                if let Some(answer) = &answer {
                    self.keep_answer(id, answer.clone())?;
                }
                self.open.release(id);
                asked.remove(&id);
                answers.push((id, answer.unwrap_or(Answer::Dropped)));
            }
            asked.extend(recorded.effects.into_iter().map(|effect| (effect.id, effect.kind)));
            let step = self
                .step_again(Order {
                    answers,
                    cancel_at: None,
                })
                .await?;
            self.due = false;
            let step = step.into_record(recorded.handed);
            if let Err(unrecordable) = self.record.keep(|recorder| recorder.stepped(&step)) {
                return Ok(Some(self.end_unrecorded(unrecordable)));
            }
            for event in step.events {
                self.observer.event(&event);
                self.record.add(event);
            }
            self.hold(step.effects, &step.drops);
            if step.outcome.is_some() {
                return Ok(step.outcome);
            }
        }
        let landed = history.landed().map_err(ResumeError::Record)?;
        let followed = |landed: &Landed| landed.access.effect <= until;
        if let Some(session) = self.record.session.clone() {
            let landed = landed.into_iter().filter(followed).collect();
            blocking(move || restore(&session, landed))
                .await
                .map_err(ResumeError::Store)?;
        }
        for id in self.open.all_held() {
            let Some((effect, dropped)) = self.open.held(id) else {
                continue;
            };
            let same = asked
                .get(&id)
                .is_some_and(|kind| replay::is_same_kind(kind, &effect.kind));
            let is_store = matches!(effect.kind, EffectKind::Store(_));
            let answer = if same && id <= until {
                known(&mut *history, id)?
            } else {
                None
            };
            match answer {
                Some(answer) => {
                    self.keep_answer(id, answer.clone())?;
                    self.open.settle(id, if dropped { Answer::Dropped } else { answer });
                }
                None if dropped && !is_store => self.open.settle(id, Answer::Dropped),
                None => self.open.perform_held(id),
            }
        }
        Ok(None)
    }
}

/// The answers that a recorded step was handed.
fn recorded_answers(recorded: &StepRecord, history: &mut dyn History) -> Result<Vec<(EffectId, Answer)>, ResumeError> {
    let mut answers = Vec::new();
    for &Handed { effect, dropped } in &recorded.handed {
        let answer = if dropped {
            Answer::Dropped
        } else {
            let answer = history.answer(effect).map_err(ResumeError::Record)?;
            answer.ok_or(ResumeError::NoAnswer(effect))?
        };
        answers.push((effect, answer));
    }
    Ok(answers)
}

fn restore(session: &Session, landed: Vec<Landed>) -> Result<(), runvil_vfs::StoreFailure> {
    session.open()?;
    for Landed {
        access,
        identity,
        op,
        reply,
    } in landed
    {
        let reply = match &reply {
            Outcome::Ok(reply) => Ok(reply),
            Outcome::Err(failure) => Err(failure),
        };
        if access.nth == 0 {
            session.restore(&identity, op, reply)?;
        } else {
            session.files(identity).restore(op, reply)?;
        }
    }
    Ok(())
}
