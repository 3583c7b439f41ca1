//! The sums that a list of runs shows.

use std::collections::BTreeSet;

use crate::{change::Sums, course::Course, rows::MODEL_ROUND};

/// A count that no server can mean must not spoil the sum: more than this many tokens of a round count as so many.
const MAX_TOKENS: i64 = 1 << 40;

/// Counts effects, and the tokens of the rounds among them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    effects: i64,
    /// The rounds that were asked for.
    rounds: i64,
    /// How many of them were not sent.
    unsent: i64,
    /// The rounds that are not answered.
    open: BTreeSet<i64>,
    prompt: Count,
    completion: Count,
}

/// Tokens, as far as they were reported.
#[derive(Debug, Default)]
struct Count {
    sum: i64,
    reports: i64,
}

impl Count {
    fn add(&mut self, tokens: Option<i64>) {
        if let Some(tokens) = tokens {
            self.sum = self.sum.saturating_add(tokens.min(MAX_TOKENS));
            self.reports += 1;
        }
    }

    fn sum(&self) -> Option<i64> {
        (self.reports > 0).then_some(self.sum)
    }
}

impl Tally {
    /// What the run has come to.
    pub(crate) fn of(course: &Course) -> Self {
        let mut tally = Self {
            unsent: course.unsent,
            ..Self::default()
        };
        for row in &course.effects {
            tally.effect(row.effect, &row.kind);
            if let Some(answer) = course.answers.get(&row.effect) {
                tally.answer(row.effect, answer.prompt_tokens, answer.completion_tokens);
            }
        }
        tally
    }

    pub(crate) fn effect(&mut self, effect: i64, kind: &str) {
        self.effects += 1;
        if kind == MODEL_ROUND {
            self.rounds += 1;
            self.open.insert(effect);
        }
    }

    /// One of the rounds is not sent.
    pub(crate) fn unsent(&mut self) {
        self.unsent += 1;
    }

    pub(crate) fn answer(&mut self, effect: i64, prompt_tokens: Option<i64>, completion_tokens: Option<i64>) {
        if self.open.remove(&effect) {
            self.prompt.add(prompt_tokens);
            self.completion.add(completion_tokens);
        }
    }

    /// The sums of a run that has ended.
    pub(crate) fn sums(&self) -> Sums {
        let sent = self.rounds - self.unsent;
        Sums {
            effects: self.effects,
            rounds: sent,
            prompt_tokens: self.prompt.sum(),
            completion_tokens: self.completion.sum(),
            // What was cut short used something, too.
            unreported: sent - self.prompt.reports.min(self.completion.reports),
        }
    }
}
