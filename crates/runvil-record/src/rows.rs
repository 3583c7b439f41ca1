//! What each call of the recorder changes in a run's record.

use std::borrow::Cow;

use runvil_engine::{
    AccessId, Answer, Effect, EffectId, EffectKind, Event, FORMAT_VERSION, FileChange, Outcome, RunOutcome,
    RunPrepared, RunStart, StepRecord,
};
use runvil_vfs::{StoreFailure, StoreOp, StoreReply};

use crate::{
    HostFacts, OutcomeKind,
    change::{Change, Start, Step},
    course::Course,
    fold::Folder,
    tally::Tally,
};

/// The step that parse events are written under.
pub(crate) const PARSE_STEP: i64 = -1;

/// What a model round is called among the effects.
pub(crate) const MODEL_ROUND: &str = "model_round";

/// What a store operation is called among the effects.
pub(crate) const STORE: &str = "store";

/// Makes changes of what the recorder is told.
#[derive(Default)]
pub(crate) struct RowMaker {
    folder: Folder,
    next: Counters,
    tally: Tally,
}

/// The numbers that the run's next rows get.
#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    step: i64,
    event: i64,
    place: i64,
    stop: i64,
}

impl RowMaker {
    /// Goes on behind what the database has of a run.
    pub(crate) fn of(course: &Course) -> Self {
        Self {
            folder: Folder::of(course),
            next: Counters::of(course),
            tally: Tally::of(course),
        }
    }

    /// The changes since this was last asked, in order.
    pub(crate) fn take(&mut self) -> Vec<Change> {
        self.folder.take()
    }

    /// A fork starts from the instant of its parent, and `began` when it was made.
    pub(crate) fn start(&mut self, facts: &HostFacts, start: &RunStart, source: &[u8], began: Option<i64>) {
        let row = Start {
            name: start.facts.name.clone(),
            prompt_hash: start.prompt_hash.clone(),
            prompt: self.folder.text(source),
            file: facts.file.clone(),
            started_at: facts.parent.and(began).unwrap_or(start.facts.started_at),
            format: FORMAT_VERSION,
            host: facts.host.to_string(),
            start: self.folder.fold(start),
            parent: facts.parent.map(|parent| parent.run.to_string()),
            parent_effect: facts.parent.map(|parent| number(parent.effect)),
        };
        // The run's own row comes first.
        let texts = self.folder.take();
        self.folder.add(Change::Start(Box::new(row)));
        texts.into_iter().for_each(|text| self.folder.add(text));
    }

    pub(crate) fn resume(&mut self) {
        self.folder.add(Change::Resume);
    }

    pub(crate) fn parse(&mut self, name: Option<&str>, events: &[Event]) {
        let name = name.map(str::to_owned);
        self.folder.add(Change::Parse { name });
        self.events(PARSE_STEP, events);
    }

    pub(crate) fn prepare(&mut self, prepared: &RunPrepared) {
        let body = self.folder.fold(prepared);
        self.folder.add(Change::Prepare { body });
    }

    pub(crate) fn step(&mut self, record: &StepRecord) {
        let step = self.next.step;
        self.next.step += 1;
        let row = Step {
            step,
            handed: some(&record.handed).map(|handed| self.folder.fold(handed)),
            first_event: self.next.event,
            events: count(record.events.len()),
            first_effect: record.effects.first().map_or(0, |effect| number(effect.id)),
            effects: count(record.effects.len()),
            drops: some(&record.drops).map(|drops| self.folder.fold(drops)),
            openings: some(&record.openings).map(|openings| self.folder.fold(openings)),
            cancelled: record.cancelled.as_ref().map(|place| self.folder.fold(place)),
            outcome: record.outcome.as_ref().map(|outcome| self.folder.fold(outcome)),
        };
        self.folder.add(Change::Step(Box::new(row)));
        for handed in &record.handed {
            self.folder.add(Change::Hand {
                effect: number(handed.effect),
                step,
                dropped: handed.dropped,
            });
        }
        self.events(step, &record.events);
        for effect in &record.effects {
            self.effect(step, effect);
        }
    }

    fn effect(&mut self, step: i64, effect: &Effect) {
        let body = self.folder.fold(effect);
        let kind = kind(&effect.kind);
        self.tally.effect(number(effect.id), kind);
        self.folder.add(Change::Effect {
            effect: number(effect.id),
            step,
            kind: Cow::Borrowed(kind),
            body,
        });
    }

    fn events(&mut self, step: i64, events: &[Event]) {
        for event in events {
            let body = self.folder.fold(event);
            self.folder.add(Change::Event {
                event: self.next.event,
                step,
                body,
            });
            self.next.event += 1;
        }
    }

    pub(crate) fn answer(&mut self, effect: EffectId, answer: &Answer) {
        let usage = match answer {
            Answer::Model(reply) => match &**reply {
                Outcome::Ok(reply) => reply.usage,
                Outcome::Err(error) => error.usage,
            },
            _ => None,
        };
        let tokens = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let prompt_tokens = tokens(usage.and_then(|usage| usage.prompt_tokens));
        let completion_tokens = tokens(usage.and_then(|usage| usage.completion_tokens));
        let effect = number(effect);
        self.tally.answer(effect, prompt_tokens, completion_tokens);
        let body = self.folder.fold(answer);
        let place = self.place();
        self.folder.add(Change::Answer {
            effect,
            place,
            body,
            prompt_tokens,
            completion_tokens,
        });
    }

    pub(crate) fn access(&mut self, access: AccessId, op: &StoreOp) {
        let op = Some(self.folder.fold(op));
        self.change_access(access, op, None);
    }

    pub(crate) fn change(&mut self, access: AccessId, change: &FileChange) {
        let change = Some(self.folder.fold(change));
        self.change_access(access, None, change);
    }

    fn change_access(&mut self, access: AccessId, op: Option<String>, change: Option<String>) {
        self.folder.add(Change::Access {
            effect: number(access.effect),
            nth: nth(access),
            op,
            change,
        });
    }

    pub(crate) fn reply(&mut self, access: AccessId, reply: &Outcome<StoreReply, StoreFailure>) {
        let body = self.folder.fold(reply);
        let place = self.place();
        self.folder.add(Change::Reply {
            effect: number(access.effect),
            nth: nth(access),
            place,
            body,
        });
    }

    pub(crate) fn stop(&mut self, dropped: &[EffectId]) {
        let effects = self.folder.fold(dropped);
        self.folder.add(Change::Stop {
            stop: self.next.stop,
            step: self.next.step - 1,
            effects,
        });
        self.next.stop += 1;
    }

    pub(crate) fn cause(&mut self, cause: String) {
        self.folder.add(Change::Cause { cause });
    }

    pub(crate) fn unsent(&mut self) {
        self.tally.unsent();
        self.folder.add(Change::Unsent);
    }

    pub(crate) fn end(&mut self, outcome: &RunOutcome, lost: &[Event]) {
        self.events(self.next.step - 1, lost);
        let body = self.folder.fold(outcome);
        self.folder.add(Change::Sums(self.tally.sums()));
        self.folder.add(Change::End {
            outcome: Cow::Borrowed(OutcomeKind::of(outcome).as_str()),
            body,
        });
    }

    /// The next place in the order in which answers and accesses landed.
    fn place(&mut self) -> i64 {
        let place = self.next.place;
        self.next.place += 1;
        place
    }
}

impl Counters {
    fn of(course: &Course) -> Self {
        Self {
            step: count(course.steps.len()),
            event: course.events.last().map_or(0, |last| last.event + 1),
            place: course.next_place(),
            stop: count(course.stops.len()),
        }
    }
}

/// An id as SQLite counts. A run never comes to as many effects as an i64 does not hold.
pub(crate) fn number(effect: EffectId) -> i64 {
    i64::try_from(effect.0).unwrap_or(i64::MAX)
}

/// The number of an access as SQLite counts.
pub(crate) fn nth(access: AccessId) -> i64 {
    i64::try_from(access.nth).unwrap_or(i64::MAX)
}

fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

fn kind(kind: &EffectKind) -> &'static str {
    match kind {
        EffectKind::ModelRound(_) => MODEL_ROUND,
        EffectKind::ToolCall(_) => "tool_call",
        EffectKind::Store(_) => STORE,
        EffectKind::Timer { .. } => "timer",
    }
}

/// The items, unless there are none.
fn some<T>(items: &[T]) -> Option<&[T]> {
    (!items.is_empty()).then_some(items)
}
