//! Drives a case's run in virtual time.
//!
//! The run is stepped until it has nothing left to run; then one piece of its outstanding work is answered, and so on.
//! A clock stands still as long as anything can be answered without it; when nothing can, the earliest deadline passes.

mod open;
mod watch;

use std::{collections::BTreeMap, sync::Arc};

use runvil_engine::{
    Answer, CompletionError, CompletionErrorKind, Effect, EffectId, EffectKind, Handed, Recorder as _, Run, StepRecord,
    wire::ChatRequest,
};
use runvil_harness::{Performer, Prepared, RunControl, RunRecord, RunReport};
use runvil_pack::Cancellation;
use serde_json::Value;

use self::{
    open::{Open, OpenWork, State},
    watch::LogWatch,
};
use crate::{
    case::{ActionKind, ActionMoment, Case},
    host::{Hang, ReplyTime, ScriptedModel},
    run::CaseError,
    tape::Tape,
};

/// What a run asked of its Harness.
#[derive(Debug, Default)]
pub(crate) struct Driven {
    pub(crate) requests: Vec<ChatRequest>,
    pub(crate) tool_calls: Vec<(String, Value)>,
    pub(crate) effects: usize,
}

/// Drives one run.
pub(crate) struct Driver<'a> {
    case: &'a Case,
    run: Run,
    performer: Arc<Performer>,
    control: RunControl,
    record: RunRecord,
    model: Arc<ScriptedModel>,
    hang: Hang,
    open: OpenWork,
    /// Virtual milliseconds since the run started.
    now: u64,
    /// How often each moment at which the Host can act has come.
    moments: BTreeMap<ActionMoment, u64>,
    log: LogWatch,
    seen: Driven,
    tape: Option<Arc<Tape>>,
    /// What the next step is handed.
    handed: Vec<Handed>,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(
        case: &'a Case,
        prepared: Prepared,
        model: Arc<ScriptedModel>,
        hang: Hang,
        tape: Option<Arc<Tape>>,
    ) -> Self {
        let Prepared {
            mut run,
            performer,
            control,
            record,
        } = prepared;
        let log = LogWatch::new(&case.host.actions, run.cancel_flag());
        log.attach(&mut run);
        Self {
            case,
            run,
            performer,
            control,
            record,
            model,
            hang,
            open: OpenWork::new(case.host.answers),
            now: 0,
            moments: BTreeMap::new(),
            log,
            seen: Driven::default(),
            tape,
            handed: Vec::new(),
        }
    }

    /// Drives the run to its end.
    ///
    /// # Errors
    /// The run waits for something that the case never answers.
    pub(crate) async fn drive(mut self) -> Result<(RunReport, Driven), CaseError> {
        loop {
            let step = self.run.step().into_record(std::mem::take(&mut self.handed));
            if let Some(tape) = &self.tape {
                tape.stepped(&step)
                    .map_err(|fault| CaseError::Broke(fault.to_string()))?;
            }
            let acted = self.take(&step).await;
            for event in step.events {
                self.record.add(event);
            }
            if let Some(outcome) = step.outcome {
                return Ok((self.record.finish(outcome).await, self.seen));
            }
            if !acted {
                self.answer().await?;
            }
        }
    }

    /// Hands the run an answer, which its next step uses.
    fn hand(&mut self, effect: EffectId, answer: Answer) {
        let dropped = matches!(answer, Answer::Dropped);
        self.handed.push(Handed { effect, dropped });
        if let Some(tape) = self.tape.as_ref().filter(|_| !dropped) {
            tape.answered(effect, &answer)
                .expect("a tape keeps all that it is told");
        }
        self.run.answer(effect, answer);
    }

    /// Takes what a step handed out and does what the case has the Host do about it. Tells whether the run has to step
    /// again before anything is answered.
    async fn take(&mut self, step: &StepRecord) -> bool {
        let mut acted = self.drop_all(&step.drops).await;
        if self.log.take_stop() {
            acted |= self.stop().await;
        }
        let mut stops = false;
        for effect in &step.effects {
            match self.start(effect).await {
                Some(ActionKind::Cancel) => {
                    self.run.cancel_flag().cancel();
                    acted = true;
                }
                Some(ActionKind::Stop) => stops = true,
                None => {}
            }
        }
        // A step can drop what it asks for itself.
        acted |= self.drop_all(&step.drops).await;
        if stops {
            acted |= self.stop().await;
        }
        acted
    }

    /// Drops the work of these that is outstanding. Tells whether there was any.
    async fn drop_all(&mut self, drops: &[EffectId]) -> bool {
        let dropped: Vec<Open> = drops.iter().filter_map(|id| self.open.remove(*id)).collect();
        self.hand_dropped(&dropped).await;
        !dropped.is_empty()
    }

    /// Takes one new piece of work. Gives what the Host does now that it is outstanding.
    async fn start(&mut self, effect: &Effect) -> Option<ActionKind> {
        self.seen.effects += 1;
        let (moment, state) = match &effect.kind {
            EffectKind::ModelRound(round) => {
                if self.case.host.model_access {
                    self.seen.requests.push(round.request.clone());
                }
                (ActionMoment::ModelRound, State::Waiting)
            }
            EffectKind::ToolCall(call) => {
                self.seen.tool_calls.push((call.tool.clone(), call.arguments.clone()));
                (ActionMoment::ToolCall, State::Waiting)
            }
            EffectKind::Store(_) => {
                // Store operations land in issue order, whenever they are answered and even when they are dropped.
                let answer = self.perform(effect.id, effect.kind.clone()).await;
                (ActionMoment::StoreCall, answer.map_or(State::Never, State::Answered))
            }
            EffectKind::Timer { millis } => (ActionMoment::Timer, State::Due(self.now.saturating_add(*millis))),
        };
        self.open.add(Open {
            id: effect.id,
            kind: effect.kind.clone(),
            state,
        });
        let count = self.moments.entry(moment).or_default();
        *count += 1;
        let actions = &self.case.host.actions;
        actions
            .iter()
            .find(|action| action.on == moment && action.nth == *count)
            .map(|action| action.r#do)
    }

    /// Stops the calls that wait. Tells whether there were any.
    async fn stop(&mut self) -> bool {
        let stopped = self.open.take_stoppable();
        self.hand_dropped(&stopped).await;
        !stopped.is_empty()
    }

    /// Tells the run that work was dropped. What was sent has used up what the case scripts for it.
    async fn hand_dropped(&mut self, dropped: &[Open]) {
        for Open { id, kind, state } in dropped {
            match (kind, state) {
                (EffectKind::ModelRound(round), State::Waiting) => {
                    let _ = self.model.assign(round);
                }
                (EffectKind::ToolCall(call), State::Waiting) if self.is_scripted(&call.tool) => {
                    let _ = self.perform(*id, kind.clone()).await;
                }
                _ => {}
            }
            self.hand(*id, Answer::Dropped);
        }
    }

    /// Whether a tool's answers stand in the case.
    fn is_scripted(&self, tool: &str) -> bool {
        let pack = tool.split('/').next().unwrap_or_default();
        self.case
            .host
            .packs
            .keys()
            .any(|name| name.rsplit('/').next() == Some(pack))
    }

    /// Performs one effect; `None` if it is never answered.
    async fn perform(&self, id: EffectId, kind: EffectKind) -> Option<Answer> {
        tokio::select! {
            biased;
            answer = self.performer.perform(id, kind, |_: &str| {}, Cancellation::new()) => Some(answer),
            () = self.hang.hung() => None,
            () = self.control.cancelled() => None,
        }
    }

    /// Answers what comes next; everything that can be answered, where the case says so.
    async fn answer(&mut self) -> Result<(), CaseError> {
        let mut answered = false;
        while !answered || self.open.answers_together() {
            match self.open.next() {
                Some(id) => answered |= self.answer_one(id).await?,
                None if answered => break,
                None => {
                    self.pass_time()?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Answers one piece of work, or finds that it is not to be answered now.
    async fn answer_one(&mut self, id: EffectId) -> Result<bool, CaseError> {
        let Some(Open { kind, state, .. }) = self.open.remove(id) else {
            return Ok(false);
        };
        if let State::Answered(answer) = state {
            self.hand(id, answer);
            return Ok(true);
        }
        let time = match (&kind, &state) {
            (EffectKind::ModelRound(round), State::Waiting) if self.case.host.model_access => self
                .model
                .assign(round)
                .ok_or_else(|| no_reply(&round.request, self.seen.requests.len()))?,
            _ => ReplyTime::InTurn,
        };
        let state = match time {
            ReplyTime::Late => State::Late,
            // A backend that never answers misses the receive timeout.
            ReplyTime::Never => State::Due(self.now.saturating_add(self.case.host.limits.request_timeout_ms)),
            ReplyTime::InTurn => match self.perform(id, kind.clone()).await {
                Some(answer) => {
                    self.hand(id, answer);
                    return Ok(true);
                }
                None => State::Never,
            },
        };
        self.open.add(Open { id, kind, state });
        Ok(false)
    }

    /// Lets the earliest deadline pass.
    fn pass_time(&mut self) -> Result<(), CaseError> {
        let Some((due, Open { id, kind, .. })) = self.open.take_due() else {
            return Err(CaseError::Broke(self.stuck()));
        };
        self.now = self.now.max(due);
        let answer = match kind {
            EffectKind::ModelRound(_) => {
                Answer::Model(Box::new(Err(CompletionError::new(CompletionErrorKind::Timeout)).into()))
            }
            _ => Answer::Timer,
        };
        self.hand(id, answer);
        Ok(())
    }

    fn stuck(&self) -> String {
        if self.control.is_cancelled() {
            return "the run did not end after it was cancelled".to_owned();
        }
        let waits = self.open.describe();
        if waits.is_empty() {
            return "the run did not end: it waits for nothing".to_owned();
        }
        format!("the run did not end: the case never answers {}", waits.join(", "))
    }
}

fn no_reply(request: &ChatRequest, sent: usize) -> CaseError {
    let last = request
        .messages
        .last()
        .map(|message| serde_json::json!(message).to_string());
    let last = last.unwrap_or_default();
    CaseError::Broke(format!(
        "no reply is left for a model round ({sent} sent so far); it ends with {last}"
    ))
}
