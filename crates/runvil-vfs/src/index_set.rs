//! A set of child numbers, kept as runs so that a long row of joined children costs one entry.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A set of numbers, shared between clones until one of them grows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u32, u32)>", into = "Vec<(u32, u32)>")]
pub(crate) struct IndexSet {
    /// Half-open runs in ascending order with a gap between any two. `None` is the empty set, which most are.
    runs: Option<Arc<Vec<(u32, u32)>>>,
}

impl IndexSet {
    fn runs(&self) -> &[(u32, u32)] {
        self.runs.as_ref().map_or(&[], |runs| runs.as_slice())
    }

    pub(crate) fn contains(&self, index: u32) -> bool {
        self.run_end(index).is_some()
    }

    /// Where the run that holds `index` ends, or `None` when the set lacks it.
    pub(crate) fn run_end(&self, index: u32) -> Option<u32> {
        let runs = self.runs();
        let after = runs.partition_point(|&(start, _)| start <= index);
        let (_, end) = *runs.get(after.checked_sub(1)?)?;
        (index < end).then_some(end)
    }

    /// Adds a number below `u32::MAX`.
    pub(crate) fn insert(&mut self, index: u32) {
        if self.contains(index) {
            return;
        }
        let runs = Arc::make_mut(self.runs.get_or_insert_default());
        let at = runs.partition_point(|&(start, _)| start < index);
        let touches_left = at > 0 && runs[at - 1].1 == index;
        let touches_right = at < runs.len() && runs[at].0 == index + 1;
        match (touches_left, touches_right) {
            (true, true) => {
                runs[at - 1].1 = runs[at].1;
                runs.remove(at);
            }
            (true, false) => runs[at - 1].1 = index + 1,
            (false, true) => runs[at].0 = index,
            (false, false) => runs.insert(at, (index, index + 1)),
        }
    }
}

impl From<Vec<(u32, u32)>> for IndexSet {
    /// Reads recorded runs. Runs that are out of order or overlap are put in order, so that any data gives a sound set.
    fn from(mut recorded: Vec<(u32, u32)>) -> Self {
        recorded.retain(|&(start, end)| start < end);
        recorded.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::with_capacity(recorded.len());
        for (start, end) in recorded {
            match runs.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => runs.push((start, end)),
            }
        }
        Self {
            runs: (!runs.is_empty()).then(|| Arc::new(runs)),
        }
    }
}

impl From<IndexSet> for Vec<(u32, u32)> {
    fn from(set: IndexSet) -> Self {
        set.runs().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_merge_into_one_run() {
        let mut set = IndexSet::default();
        for index in [1, 3, 2, 0] {
            set.insert(index);
        }
        assert_eq!(set.runs(), [(0, 4)]);
        assert_eq!(set.run_end(2), Some(4));
        assert_eq!(set.run_end(4), None);
    }

    #[test]
    fn a_clone_does_not_see_later_numbers() {
        let mut set = IndexSet::default();
        set.insert(0);
        let before = set.clone();
        set.insert(1);
        assert!(set.contains(1) && !before.contains(1));
    }

    proptest! {
        #[test]
        fn behaves_as_a_plain_set(numbers in prop::collection::vec(0u32..40, 0..60)) {
            let mut set = IndexSet::default();
            for &number in &numbers {
                set.insert(number);
            }
            let plain: BTreeSet<u32> = numbers.into_iter().collect();
            for number in 0..42 {
                prop_assert_eq!(set.contains(number), plain.contains(&number));
            }
            prop_assert!(set.runs().windows(2).all(|pair| pair[0].1 < pair[1].0));
            prop_assert_eq!(IndexSet::from(Vec::from(set.clone())), set);
        }

        #[test]
        fn any_recorded_runs_give_a_sound_set(recorded in prop::collection::vec((0u32..30, 0u32..30), 0..12)) {
            let set = IndexSet::from(recorded.clone());
            for number in 0..30 {
                let held = recorded.iter().any(|&(start, end)| (start..end).contains(&number));
                prop_assert_eq!(set.contains(number), held);
            }
        }
    }
}
