//! A section's message list and its edits (book: Building a message list; Editing a list with `replace`).

use std::sync::Arc;

use super::{
    At, Measured, Snapshot,
    check::{RecordError, RecordFault},
    record::Record,
    running::{Compaction, RunningLoop},
};
use crate::wire::Role;

/// A section's conversation: its list, what it sent, and what runs over it.
#[derive(Default)]
pub(crate) struct Conversation {
    pub(super) records: Vec<Arc<Record>>,
    /// The loop that runs in the section.
    pub(super) running: Option<RunningLoop>,
    /// The compactor that runs in the section.
    pub(super) compaction: Option<Compaction>,
    /// The last request that left.
    pub(super) sent: Option<Snapshot>,
    /// The latest count of a provider.
    pub(super) measured: Option<Measured>,
}

/// Why `replace` refuses an edit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReplaceFault {
    #[error("replace works only inside a compactor; rewrite history with models.compact(compactor, reason)")]
    NoCompactor,
    #[error("replace {bound} must be an integer, got {actual}")]
    Bound {
        /// `first` or `last`.
        bound: &'static str,
        /// The number, or the type of what is none.
        actual: String,
    },
    #[error(
        "replace({first}, {last}) is out of bounds on a list of {count} records: it needs 1 <= first <= last + 1 <= {}",
        count + 1
    )]
    OutOfBounds { first: i64, last: i64, count: usize },
}

impl Conversation {
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The record at a 1-based position.
    pub(crate) fn get(&self, position: i64) -> Option<Arc<Record>> {
        let index = usize::try_from(position).ok()?.checked_sub(1)?;
        self.records.get(index).cloned()
    }

    /// The position that an appended record takes.
    pub(crate) fn next_position(&self) -> usize {
        self.records.len() + 1
    }

    /// Appends a record, unless it is a system record behind another one.
    pub(crate) fn append(&mut self, record: Record) -> Result<(), RecordError> {
        let leads = self.records.last().is_none_or(|last| last.role == Role::System);
        if record.role == Role::System && !leads {
            return Err(At::new(self.next_position(), RecordFault::LateSystem));
        }
        self.push(record);
        Ok(())
    }

    /// Appends a record that the machine made.
    pub(super) fn push(&mut self, record: Record) {
        self.records.push(Arc::new(record));
    }

    /// The index range of a `replace`.
    pub(crate) fn replace_range(&self, first: i64, last: i64) -> Result<std::ops::Range<usize>, ReplaceFault> {
        let count = self.records.len();
        let out_of_bounds = ReplaceFault::OutOfBounds { first, last, count };
        let index = |bound: i64| usize::try_from(bound).ok();
        let start = index(first).and_then(|first| first.checked_sub(1));
        match (start, index(last)) {
            (Some(start), Some(end)) if start <= end && end <= count => Ok(start..end),
            _ => Err(out_of_bounds),
        }
    }

    /// Puts records in the place of a range, all or none.
    pub(crate) fn replace(&mut self, range: std::ops::Range<usize>, records: Vec<Record>) -> Result<(), RecordError> {
        let mut edited = self.records.clone();
        edited.splice(range, records.into_iter().map(Arc::new));
        if let Some(position) = late_system(&edited) {
            return Err(At::new(position, RecordFault::LateSystem));
        }
        self.records = edited;
        Ok(())
    }

    /// Removes every record.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
    }

    /// Whether a compactor runs.
    pub(crate) fn is_compacting(&self) -> bool {
        self.compaction.is_some()
    }

    /// Whether a loop or a compactor runs.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.is_some() || self.compaction.is_some()
    }
}

/// The position of the first system record behind another one.
fn late_system(records: &[Arc<Record>]) -> Option<usize> {
    let is_system = |record: &Arc<Record>| record.role == Role::System;
    let leading = records.iter().take_while(|record| is_system(record)).count();
    let late = records[leading..].iter().position(is_system)?;
    Some(leading + late + 1)
}
