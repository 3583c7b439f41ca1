//! Who makes an access, and which accesses come before it (book: Forks and joins between tasks).

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::index_set::IndexSet;

/// The identity that a chain's store accesses, or a tool call's, are tracked under. Displays as `ExecId(...)` around its name.
///
/// A fork orders everything that the parent did before it ahead of the child; a join orders everything that the child
/// and its own children did ahead of the parent's next step. Nothing else orders two identities. An identity is a plain
/// value that carries all it knows of that order: cloning it, which is cheap, freezes this moment, and two frozen moments
/// can be compared without asking anyone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    name: Arc<str>,
    /// The forks that lead from the root to this identity, outermost first.
    lineage: Arc<[Fork]>,
    /// How many children have been forked so far.
    forks: u32,
    /// Which of them have been joined.
    joined: IndexSet,
}

/// One fork on the way from the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fork {
    /// Which child of its parent this is, counted from 0.
    pub(crate) child: u32,
    /// The siblings that the parent had joined by then.
    pub(crate) joined: IndexSet,
}

impl Identity {
    /// The identity of a run's main chain.
    #[must_use]
    pub fn root(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            lineage: Arc::default(),
            forks: 0,
            joined: IndexSet::default(),
        }
    }

    /// Forks off a child, which comes after everything done so far and runs beside what follows.
    pub fn fork(&mut self, name: impl Into<Arc<str>>) -> Self {
        let child = self.forks;
        self.forks = child
            .checked_add(1)
            .expect("an identity forks fewer than 2^32 children");
        let fork = Fork {
            child,
            joined: self.joined.clone(),
        };
        let lineage = self.lineage.iter().cloned().chain([fork]).collect();
        Self {
            name: name.into(),
            lineage,
            forks: 0,
            joined: IndexSet::default(),
        }
    }

    /// Joins a child: all that it and its own children did comes before what follows. Joining twice changes nothing.
    ///
    /// A chain's end joins every task that the chain still owns, so a child is joined with all its descendants.
    ///
    /// # Panics
    /// If `child` was not forked from this identity.
    pub fn join(&mut self, child: &Self) {
        let fork = child
            .lineage
            .last()
            .filter(|fork| fork.child < self.forks && self.is_parent_of(child));
        self.joined
            .insert(fork.expect("an identity joins only a child that it forked").child);
    }

    /// Whether both are moments of one identity.
    pub(crate) fn is_same_identity(&self, other: &Self) -> bool {
        self.lineage.len() == other.lineage.len() && self.common_forks(other) == self.lineage.len()
    }

    fn is_parent_of(&self, other: &Self) -> bool {
        other.lineage.len() == self.lineage.len() + 1 && self.common_forks(other) == self.lineage.len()
    }

    fn common_forks(&self, other: &Self) -> usize {
        self.lineage
            .iter()
            .zip(&*other.lineage)
            .take_while(|(a, b)| a.child == b.child)
            .count()
    }

    /// Whether an access made at this moment comes before one made at the moment `other`. An identity's own moments
    /// always come before each other, since a chain never conflicts with itself.
    #[must_use]
    pub fn precedes(&self, other: &Self) -> bool {
        let common = self.common_forks(other);
        match (self.lineage.get(common), other.lineage.get(common)) {
            (None, None) => true,
            (None, Some(theirs)) => self.forks <= theirs.child,
            (Some(ours), None) => other.joined.contains(ours.child),
            (Some(ours), Some(theirs)) => theirs.joined.contains(ours.child),
        }
    }

    /// The name given to [`Identity::root`] or [`Identity::fork`], such as `0.1`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn lineage(&self) -> &[Fork] {
        &self.lineage
    }

    pub(crate) fn forks(&self) -> u32 {
        self.forks
    }

    pub(crate) fn joined(&self) -> &IndexSet {
        &self.joined
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExecId({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unordered(a: &Identity, b: &Identity) -> bool {
        !a.precedes(b) && !b.precedes(a)
    }

    #[test]
    fn a_fork_comes_after_what_the_parent_did_and_beside_what_it_does_next() {
        let mut parent = Identity::root("0");
        let before = parent.clone();
        let child = parent.fork("0.0");
        assert!(before.precedes(&child) && !child.precedes(&before));
        assert!(unordered(&parent, &child));
    }

    #[test]
    fn a_join_orders_the_child_and_its_descendants_before_the_next_step() {
        let mut parent = Identity::root("0");
        let mut child = parent.fork("0.0");
        let grandchild = child.fork("0.0.0");
        let before = parent.clone();
        parent.join(&child);
        assert!(child.precedes(&parent) && grandchild.precedes(&parent));
        assert!(unordered(&before, &child) && unordered(&before, &grandchild));
    }

    #[test]
    fn a_sibling_forked_after_the_join_comes_after() {
        let mut parent = Identity::root("0");
        let first = parent.fork("0.0");
        let beside = parent.fork("0.1");
        parent.join(&first);
        let after = parent.fork("0.2");
        assert!(first.precedes(&after));
        assert!(unordered(&first, &beside) && unordered(&beside, &after));
    }

    #[test]
    fn an_uncle_joined_before_the_fork_precedes_the_nephew() {
        let mut parent = Identity::root("0");
        let uncle = parent.fork("0.0");
        parent.join(&uncle);
        let mut brother = parent.fork("0.1");
        let nephew = brother.fork("0.1.0");
        assert!(uncle.precedes(&nephew) && !nephew.precedes(&uncle));
    }

    #[test]
    fn displays_as_exec_id() {
        assert_eq!(Identity::root("0").fork("0.3").to_string(), "ExecId(0.3)");
    }

    #[test]
    fn reads_back_from_its_data() {
        let mut parent = Identity::root("0");
        let child = parent.fork("0.0");
        parent.join(&child);
        let later = parent.fork("0.1");
        let text = serde_json::to_string(&later).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), later);
    }

    #[test]
    #[should_panic(expected = "only a child that it forked")]
    fn a_stranger_cannot_be_joined() {
        let mut parent = Identity::root("0");
        let mut child = parent.fork("0.0");
        let grandchild = child.fork("0.0.0");
        parent.join(&grandchild);
    }
}
