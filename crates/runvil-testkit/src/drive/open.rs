//! The work that a run waits for, and which of it comes next.

use std::collections::BTreeMap;

use runvil_engine::{Answer, EffectId, EffectKind};

use crate::case::AnswerOrder;

/// One piece of outstanding work.
pub(super) struct Open {
    pub(super) id: EffectId,
    pub(super) kind: EffectKind,
    pub(super) state: State,
}

/// When a piece of work is answered.
pub(super) enum State {
    /// In its turn.
    Waiting,
    /// Once nothing else can be answered.
    Late,
    /// At this virtual millisecond, once nothing else can be answered.
    Due(u64),
    /// Never.
    Never,
    /// In its turn, with an answer that is there already.
    Answered(Answer),
}

/// The outstanding work in issue order.
pub(super) struct OpenWork {
    work: BTreeMap<EffectId, Open>,
    order: AnswerOrder,
    /// The state of the generator that shuffles.
    random: u64,
}

impl OpenWork {
    pub(super) fn new(order: AnswerOrder) -> Self {
        let random = match order {
            AnswerOrder::Shuffled(seed) => seed,
            _ => 0,
        };
        Self {
            work: BTreeMap::new(),
            order,
            random,
        }
    }

    pub(super) fn add(&mut self, open: Open) {
        self.work.insert(open.id, open);
    }

    pub(super) fn remove(&mut self, id: EffectId) -> Option<Open> {
        self.work.remove(&id)
    }

    /// Whether everything that can be answered is, before the run steps again.
    pub(super) fn answers_together(&self) -> bool {
        self.order == AnswerOrder::Together
    }

    /// The work to answer next: any that waits for its turn, else the oldest that is late.
    pub(super) fn next(&mut self) -> Option<EffectId> {
        let waits = |open: &&Open| matches!(open.state, State::Waiting | State::Answered(_));
        let waiting: Vec<EffectId> = self.work.values().filter(waits).map(|open| open.id).collect();
        if waiting.is_empty() {
            let late = self.work.values().find(|open| matches!(open.state, State::Late));
            return late.map(|open| open.id);
        }
        let index = match self.order {
            AnswerOrder::Issued | AnswerOrder::Together => 0,
            AnswerOrder::Newest => waiting.len() - 1,
            AnswerOrder::Shuffled(_) => self.draw(waiting.len()),
        };
        Some(waiting[index])
    }

    /// A number below `bound`, by SplitMix64.
    fn draw(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let bound = bound as u64;
        usize::try_from(mixed % bound).expect("a remainder of a usize fits a usize")
    }

    /// Takes the work whose deadline is the earliest; among equals the oldest.
    pub(super) fn take_due(&mut self) -> Option<(u64, Open)> {
        let due = |open: &Open| match open.state {
            State::Due(at) => Some((at, open.id)),
            _ => None,
        };
        let (at, id) = self.work.values().filter_map(due).min()?;
        Some((at, self.work.remove(&id)?))
    }

    /// Takes the calls that a stop drops, in issue order (book: Stopping the round in flight).
    pub(super) fn take_stoppable(&mut self) -> Vec<Open> {
        let stoppable = |open: &&Open| match &open.kind {
            EffectKind::ModelRound(_) | EffectKind::Timer { .. } => true,
            EffectKind::ToolCall(call) => !call.survives_stop,
            EffectKind::Store(_) => false,
        };
        let ids: Vec<EffectId> = self.work.values().filter(stoppable).map(|open| open.id).collect();
        ids.iter().filter_map(|id| self.work.remove(id)).collect()
    }

    /// What is outstanding, in words.
    pub(super) fn describe(&self) -> Vec<String> {
        let words = |open: &Open| match &open.kind {
            EffectKind::ModelRound(round) => format!("model round {}", round.round.as_str()),
            EffectKind::ToolCall(call) => format!("a call of {}", call.tool),
            EffectKind::Store(_) => "a store call".to_owned(),
            EffectKind::Timer { .. } => "a timer".to_owned(),
        };
        self.work.values().map(words).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(id: u64, state: State) -> Open {
        Open {
            id: EffectId(id),
            kind: EffectKind::Timer { millis: 0 },
            state,
        }
    }

    fn work(order: AnswerOrder, states: Vec<State>) -> OpenWork {
        let mut open = OpenWork::new(order);
        for (id, state) in (1..).zip(states) {
            open.add(timer(id, state));
        }
        open
    }

    fn drain(mut open: OpenWork) -> Vec<u64> {
        let next = || {
            let id = open.next()?;
            open.remove(id);
            Some(id.0)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn work_is_answered_in_issue_order_and_late_work_last() {
        let states = || vec![State::Late, State::Waiting, State::Never, State::Waiting];
        assert_eq!(drain(work(AnswerOrder::Issued, states())), [2, 4, 1]);
        assert_eq!(drain(work(AnswerOrder::Newest, states())), [4, 2, 1]);
    }

    #[test]
    fn a_shuffle_answers_everything_once_and_repeats() {
        let order = || drain(work(AnswerOrder::Shuffled(7), (0..9).map(|_| State::Waiting).collect()));
        let mut sorted = order();
        assert_eq!(sorted, order());
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=9).collect::<Vec<_>>());
    }

    #[test]
    fn the_earliest_deadline_passes_first_and_the_oldest_among_equals() {
        let mut open = work(AnswerOrder::Issued, vec![State::Due(9), State::Due(5), State::Due(5)]);
        let mut next = || open.take_due().map(|(at, open)| (at, open.id.0));
        assert_eq!(
            [next(), next(), next(), next()],
            [Some((5, 2)), Some((5, 3)), Some((9, 1)), None]
        );
    }
}
