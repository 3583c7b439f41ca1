//! The course of one run, as its chunks tell it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    change::{Change, ListKey, Step, TextNumber},
    chunk::Entry,
};

/// The lists of a run: each as the list before it, and the text of its last item.
pub(crate) type Lists = HashMap<ListKey, (ListKey, TextNumber)>;

/// The texts of a run, each with the hash that it is known by. Whether it fits is seen when the text is used.
pub(crate) type Texts = HashMap<TextNumber, ([u8; 32], Arc<[u8]>)>;

/// What happened in a run, and what it holds. Bodies are folded values.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// In order, without a gap.
    pub(crate) steps: Vec<Step>,
    /// In order of their numbers.
    pub(crate) events: Vec<EventRow>,
    /// In order of their numbers.
    pub(crate) effects: Vec<EffectRow>,
    /// What performing each effect brought.
    pub(crate) answers: BTreeMap<i64, AnswerRow>,
    /// Which step each effect's answer was handed to, and whether as dropped.
    pub(crate) hands: BTreeMap<i64, (i64, bool)>,
    /// The accesses to the store that tool calls made, by effect and number from 1; under 0 the run's own changes of files.
    pub(crate) accesses: BTreeMap<(i64, i64), AccessRow>,
    /// What each of the Host's stops dropped.
    pub(crate) stops: Vec<String>,
    /// Why the Host cancelled the run.
    pub(crate) cause: Option<String>,
    /// How many rounds the Host kept from being sent.
    pub(crate) unsent: i64,
    pub(crate) lists: Lists,
    pub(crate) texts: Texts,
}

#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) event: i64,
    pub(crate) step: i64,
    pub(crate) at: i64,
    pub(crate) body: String,
}

#[derive(Debug)]
pub(crate) struct EffectRow {
    pub(crate) effect: i64,
    pub(crate) step: i64,
    pub(crate) at: i64,
    pub(crate) kind: String,
    pub(crate) body: String,
}

#[derive(Debug)]
pub(crate) struct AnswerRow {
    /// Where it stands among the answers and accesses that landed.
    pub(crate) place: i64,
    pub(crate) at: i64,
    pub(crate) body: String,
    pub(crate) prompt_tokens: Option<i64>,
    pub(crate) completion_tokens: Option<i64>,
}

#[derive(Debug, Default)]
pub(crate) struct AccessRow {
    pub(crate) op: Option<String>,
    pub(crate) change: Option<String>,
    /// Its place and what it came to, once it has landed.
    pub(crate) reply: Option<(i64, String)>,
}

impl Course {
    /// Goes on with what another entry tells.
    pub(crate) fn extend(&mut self, Entry { at, changes }: Entry) {
        for change in changes {
            self.apply(at, change);
        }
    }

    fn apply(&mut self, at: i64, change: Change) {
        match change {
            Change::Node { key, before, item } => {
                self.lists.insert(key, (before, item));
            }
            Change::Step(step) => self.steps.push(*step),
            Change::Hand { effect, step, dropped } => {
                self.hands.insert(effect, (step, dropped));
            }
            Change::Event { event, step, body } => self.events.push(EventRow { event, step, at, body }),
            Change::Effect {
                effect,
                step,
                kind,
                body,
            } => self.effects.push(EffectRow {
                effect,
                step,
                at,
                kind: kind.into_owned(),
                body,
            }),
            Change::Answer {
                effect,
                place,
                body,
                prompt_tokens,
                completion_tokens,
            } => {
                let answer = AnswerRow {
                    place,
                    at,
                    body,
                    prompt_tokens,
                    completion_tokens,
                };
                self.answers.insert(effect, answer);
            }
            Change::Access {
                effect,
                nth,
                op,
                change,
            } => {
                let access = self.accesses.entry((effect, nth)).or_default();
                access.op = op.or_else(|| access.op.take());
                access.change = change;
            }
            Change::Reply {
                effect,
                nth,
                place,
                body,
            } => self.accesses.entry((effect, nth)).or_default().reply = Some((place, body)),
            Change::Stop { effects, .. } => self.stops.push(effects),
            Change::Cause { cause } => self.cause = Some(cause),
            Change::Unsent => self.unsent += 1,
            // These stand in columns and tables of their own.
            Change::Start(_)
            | Change::Resume
            | Change::Text { .. }
            | Change::Parse { .. }
            | Change::Prepare { .. }
            | Change::End { .. }
            | Change::Sums(_) => {}
        }
    }

    /// Whether nothing is missing between what is there, and nothing is there twice.
    pub(crate) fn is_whole(&self) -> bool {
        let steps = self.steps.iter().map(|step| step.step);
        let events = self.events.iter().map(|row| row.event);
        steps.zip(0..).all(|(number, next)| number == next)
            && events.zip(0..).all(|(number, next)| number == next)
            && self.effects.is_sorted_by(|one, next| one.effect < next.effect)
    }

    /// The place that the next answer or access gets.
    pub(crate) fn next_place(&self) -> i64 {
        let answers = self.answers.values().map(|answer| answer.place);
        let accesses = self.accesses.values().filter_map(|access| access.reply.as_ref());
        let last = answers.chain(accesses.map(|(place, _)| *place)).max();
        last.map_or(0, |last| last + 1)
    }
}
