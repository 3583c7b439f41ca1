//! Taking a run along its own record before it goes on.

use std::collections::BTreeSet;

use runvil_engine::{
    AccessId, Answer, Effect, EffectId, EffectKind, Handed, History, Landed, Outcome, RecordFault, Recorder,
    RunOutcome, StepRecord, StoreCall,
};
use runvil_vfs::{Session, StoreReply};
use tokio::time::Instant;

use super::{Driver, PATIENCE, left};
use crate::{
    Observer,
    blocking::blocking,
    recording, replay,
    resume::{self, Course, OnChanged, OnUnknown, ResumeError},
    stepper::Order,
    store::SessionAccess,
};

/// What becomes of work that was open.
pub(super) enum Verdict {
    Perform,
    Answer(Answer),
    /// The answer was found out, and is to be kept.
    FoundOut(Answer),
    Unknown,
}

impl Driver {
    /// Makes every recorded step again, then judges what was open. Nothing is performed, and nothing kept.
    pub(super) async fn retrace(
        &mut self,
        course: Course,
    ) -> Result<(Vec<(EffectId, Verdict)>, Option<RunOutcome>), ResumeError> {
        let Course {
            mut history,
            access,
            unknown,
            changed,
            taken,
        } = course;
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
                return Ok((Vec::new(), step.outcome));
            }
        }
        let landed = history.landed().map_err(ResumeError::Record)?;
        if changed == OnChanged::Ask {
            self.check_files(&mut *history, &landed, taken).await?;
        }
        let verdicts = self.judge(&mut *history, unknown).await?;
        if let Some(session) = self.record.session.clone() {
            access.hand_over(Box::new(SessionAccess(session.clone())));
            restore(session, landed).await?;
        }
        Ok((verdicts, None))
    }

    /// Gives each effect that was open what was judged of it.
    pub(super) fn settle(
        &mut self,
        verdicts: Vec<(EffectId, Verdict)>,
        observer: &mut dyn Observer,
    ) -> Result<(), ResumeError> {
        for (id, verdict) in verdicts {
            match verdict {
                Verdict::Answer(answer) => self.open.settle(id, answer),
                Verdict::FoundOut(answer) => {
                    self.keep_answer(id, &answer)?;
                    self.open.settle(id, answer);
                }
                Verdict::Perform | Verdict::Unknown => self.open.perform_held(id, observer),
            }
        }
        Ok(())
    }

    pub(super) async fn step_again(&mut self, order: Order) -> Result<runvil_engine::Step, ResumeError> {
        self.stepper.step(order);
        let stepped = self.stepper.stepped().await;
        stepped.map_err(|panicked| ResumeError::Step(panicked.to_string()))
    }

    pub(super) fn hold(&mut self, effects: Vec<Effect>, drops: &[EffectId]) {
        for effect in effects {
            self.open.hold(effect);
        }
        for &id in drops {
            self.open.drop_effect(id);
        }
    }

    /// Refuses to go on where files are not as the run left them.
    async fn check_files(
        &self,
        history: &mut dyn History,
        landed: &[Landed],
        taken: Option<EffectId>,
    ) -> Result<(), ResumeError> {
        let Some(session) = self.record.session.clone() else {
            return Ok(());
        };
        let mut files = left::Files::of(&session, self.record.staged.as_ref(), landed, taken, history)?;
        for id in self.open.all_held() {
            if let (Some((effect, _)), None) = (self.open.held(id), history.answer(id).map_err(ResumeError::Record)?) {
                files.allow_open(&session, effect, landed, history)?;
            }
        }
        let changed = blocking(move || files.changed(&session)).await;
        match changed.map_err(ResumeError::Store)? {
            changed if changed.is_empty() => Ok(()),
            changed => Err(ResumeError::Changed(changed)),
        }
    }

    /// What becomes of each effect that was open when the process died.
    async fn judge(
        &self,
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
            let answer = history.answer(id).map_err(ResumeError::Record)?;
            let is_store = matches!(effect.kind, EffectKind::Store(_));
            let verdict = match answer {
                _ if stopped.contains(&id) || dropped && !is_store => Verdict::Answer(Answer::Dropped),
                Some(_) if dropped => Verdict::Answer(Answer::Dropped),
                Some(answer) => Verdict::Answer(answer),
                None => self.judge_open(effect, history).await?,
            };
            let verdict = match (verdict, unknown) {
                (Verdict::Unknown, OnUnknown::Ask) => {
                    undecided.push(effect.clone());
                    continue;
                }
                (Verdict::Unknown, OnUnknown::Repeat) => Verdict::Perform,
                (Verdict::Unknown, OnUnknown::Fail) => Verdict::FoundOut(resume::failed_unknown(&effect.kind)),
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
    async fn judge_open(&self, effect: &Effect, history: &mut dyn History) -> Result<Verdict, ResumeError> {
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
        &self,
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
        Ok(if found == change.before {
            Verdict::Perform
        } else if found == change.after {
            Verdict::FoundOut(Answer::Store(Outcome::Ok(StoreReply::Done)))
        } else {
            Verdict::Unknown
        })
    }

    /// Records an answer that was not performed.
    pub(super) fn keep_answer(&mut self, id: EffectId, answer: &Answer) -> Result<(), ResumeError> {
        self.keep(|recorder| recorder.answered(id, answer))
    }

    pub(super) fn keep(
        &mut self,
        tell: impl FnOnce(&dyn Recorder) -> Result<(), RecordFault>,
    ) -> Result<(), ResumeError> {
        let kept = self.record.keep(tell);
        kept.map_err(|unrecordable| ResumeError::Record(unrecordable.to_string().into()))
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

/// Brings a store to where it was: what landed has its claims again, and a store in memory its files.
pub(super) async fn restore(session: Session, landed: Vec<Landed>) -> Result<(), ResumeError> {
    let restored = blocking(move || restore_all(&session, landed)).await;
    restored.map_err(ResumeError::Store)
}

fn restore_all(session: &Session, landed: Vec<Landed>) -> Result<(), runvil_vfs::StoreFailure> {
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
