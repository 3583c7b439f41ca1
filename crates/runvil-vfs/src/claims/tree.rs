//! The claims on one region, arranged by who forked whom.

use std::{collections::BTreeMap, iter, mem, sync::Arc};

use crate::{identity::Identity, index_set::IndexSet};

/// The claims that the identities of one run hold on one region.
#[derive(Debug, Default)]
pub(super) enum ClaimTree {
    #[default]
    Empty,
    /// One identity's claim, which is all that most regions ever have.
    One(Arc<Identity>),
    Many(Box<Node>),
}

/// A node for each identity that claims, or whose descendant does.
///
/// A search follows the searcher's own lineage from the root and steps over whole rows of joined children at once, so
/// its cost follows the depth of the tree and the number of children still unjoined, and not the number of claims.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The identity's last claim. An earlier one is ordered before all that the last one is ordered before.
    own: Option<Arc<Identity>>,
    children: BTreeMap<u32, Child>,
}

#[derive(Debug)]
struct Child {
    /// What the parent had joined when it forked this child.
    joined: IndexSet,
    node: Node,
}

/// Which claims a search looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Those that come neither before nor after.
    Unordered,
    /// Those that do not come before.
    NotBefore,
}

impl ClaimTree {
    /// Records a claim by `who`.
    pub(super) fn record(&mut self, who: &Arc<Identity>) {
        match self {
            Self::Empty => *self = Self::One(who.clone()),
            Self::One(other) if other.is_same_identity(who) => *other = who.clone(),
            Self::One(_) => {
                let mut node = Box::<Node>::default();
                if let Self::One(other) = mem::take(self) {
                    node.record(&other);
                }
                node.record(who);
                *self = Self::Many(node);
            }
            Self::Many(node) => node.record(who),
        }
    }

    /// A claim that neither comes before this moment of `who` nor after it.
    pub(super) fn unordered(&self, who: &Identity) -> Option<&Identity> {
        self.find(who, Relation::Unordered)
    }

    /// Whether every claim comes before this moment of `who`, as it does unless `who` was cut off and is late.
    pub(super) fn all_precede(&self, who: &Identity) -> bool {
        self.find(who, Relation::NotBefore).is_none()
    }

    fn find(&self, who: &Identity, relation: Relation) -> Option<&Identity> {
        match self {
            Self::Empty => None,
            Self::One(other) => {
                let ordered = other.precedes(who) || (relation == Relation::Unordered && who.precedes(other));
                (!ordered).then_some(&**other)
            }
            Self::Many(node) => node.find(who, relation),
        }
    }

    /// Some claim, if there is one.
    pub(super) fn any(&self) -> Option<&Identity> {
        match self {
            Self::Empty => None,
            Self::One(other) => Some(other),
            Self::Many(node) => node.any(),
        }
    }
}

impl Node {
    fn record(&mut self, who: &Arc<Identity>) {
        let mut node = self;
        for fork in who.lineage() {
            let new = || Child {
                joined: fork.joined.clone(),
                node: Self::default(),
            };
            node = &mut node.children.entry(fork.child).or_insert_with(new).node;
        }
        node.own = Some(who.clone());
    }

    fn find(&self, who: &Identity, relation: Relation) -> Option<&Identity> {
        let comes_after = |is_after: bool| relation == Relation::Unordered && is_after;
        let mut node = self;
        for fork in who.lineage() {
            if let Some(own) = &node.own
                && own.forks() > fork.child
                && !comes_after(own.joined().contains(fork.child))
            {
                return Some(own);
            }
            let beside = |&(index, child): &(u32, &Child)| {
                index != fork.child && !comes_after(child.joined.contains(fork.child))
            };
            if let Some((_, sibling)) = node.outside(&fork.joined).find(beside) {
                return sibling.node.any();
            }
            node = &node.children.get(&fork.child)?.node;
        }
        let beside = |&(index, _): &(u32, &Child)| !comes_after(index >= who.forks());
        node.outside(who.joined())
            .find(beside)
            .and_then(|(_, child)| child.node.any())
    }

    fn any(&self) -> Option<&Identity> {
        let deeper = || self.children.values().find_map(|child| child.node.any());
        self.own.as_deref().or_else(deeper)
    }

    /// The children that a set lacks, in order.
    fn outside<'a, 's>(&'a self, set: &'s IndexSet) -> impl Iterator<Item = (u32, &'a Child)> + use<'a, 's> {
        let mut from = 0;
        iter::from_fn(move || {
            loop {
                let (&index, child) = self.children.range(from..).next()?;
                match set.run_end(index) {
                    Some(end) => from = end,
                    None => {
                        from = index + 1;
                        return Some((index, child));
                    }
                }
            }
        })
    }
}
