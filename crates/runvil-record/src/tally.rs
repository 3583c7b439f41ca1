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
    /// The rounds that reported both counts.
    reported: i64,
    prompt_tokens: Option<i64>,
    completion_tokens: Option<i64>,
}

fn add(sum: &mut Option<i64>, tokens: Option<i64>) {
    if let Some(tokens) = tokens {
        *sum = Some(sum.unwrap_or(0).saturating_add(tokens.min(MAX_TOKENS)));
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
            add(&mut self.prompt_tokens, prompt_tokens);
            add(&mut self.completion_tokens, completion_tokens);
            self.reported += i64::from(prompt_tokens.is_some() && completion_tokens.is_some());
        }
    }

    /// The sums of a run that has ended.
    pub(crate) fn sums(&self) -> Sums {
        let sent = self.rounds - self.unsent;
        Sums {
            effects: self.effects,
            rounds: sent,
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            // What was cut short used something, too.
            unreported: sent - self.reported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_of_which_one_count_is_unknown_is_unreported() {
        let mut tally = Tally::default();
        let reports = [
            Some((Some(5), None)),
            Some((None, Some(7))),
            Some((Some(1), Some(2))),
            None,
        ];
        for (effect, report) in (1..).zip(reports) {
            tally.effect(effect, MODEL_ROUND);
            if let Some((prompt, completion)) = report {
                tally.answer(effect, prompt, completion);
            }
        }
        tally.effect(5, MODEL_ROUND);
        tally.unsent();
        let sums = Sums {
            effects: 5,
            rounds: 4,
            prompt_tokens: Some(6),
            completion_tokens: Some(9),
            unreported: 3,
        };
        assert_eq!(tally.sums(), sums);
    }
}
