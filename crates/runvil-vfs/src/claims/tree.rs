//! The claims on one region, arranged by who forked whom.

use std::{collections::BTreeMap, iter, sync::Arc};

use crate::{identity::Identity, index_set::IndexSet};

/// The claims that the identities of one run hold on one region.
///
/// A node for each identity that claims, or whose descendant does. A search follows the searcher's own lineage from the
/// root and steps over whole rows of joined children at once, so its cost follows the depth of the tree and the
/// number of children still unjoined, and not the number of claims.
#[derive(Debug, Default)]
pub(super) struct ClaimTree {
    /// The identity's last claim. An earlier one is ordered before all that the last one is ordered before.
    own: Option<Arc<Identity>>,
    children: BTreeMap<u32, Child>,
}

#[derive(Debug)]
struct Child {
    /// What the parent had joined when it forked this child.
    joined: IndexSet,
    claims: ClaimTree,
}

impl ClaimTree {
    /// Records a claim by `who`.
    pub(super) fn record(&mut self, who: &Arc<Identity>) {
        let mut node = self;
        for fork in who.lineage() {
            let child = node.children.entry(fork.child).or_insert_with(|| Child {
                joined: fork.joined.clone(),
                claims: Self::default(),
            });
            node = &mut child.claims;
        }
        node.own = Some(who.clone());
    }

    /// A claim that neither comes before this moment of `who` nor after it.
    pub(super) fn unordered(&self, who: &Identity) -> Option<&Identity> {
        let mut node = self;
        for fork in who.lineage() {
            if let Some(own) = &node.own
                && own.forks() > fork.child
                && !own.joined().contains(fork.child)
            {
                return Some(own);
            }
            let beside = |&(index, child): &(u32, &Child)| {
                index != fork.child && !child.joined.contains(fork.child)
            };
            if let Some((_, sibling)) = node.outside(&fork.joined).find(beside) {
                return sibling.claims.any();
            }
            node = &node.children.get(&fork.child)?.claims;
        }
        let started = |&(index, _): &(u32, &Child)| index < who.forks();
        node.outside(who.joined())
            .find(started)
            .and_then(|(_, child)| child.claims.any())
    }

    /// Some claim, if there is one.
    pub(super) fn any(&self) -> Option<&Identity> {
        let deeper = || self.children.values().find_map(|child| child.claims.any());
        self.own.as_deref().or_else(deeper)
    }

    /// The children that a set lacks, in order.
    fn outside<'a, 's>(
        &'a self,
        set: &'s IndexSet,
    ) -> impl Iterator<Item = (u32, &'a Child)> + use<'a, 's> {
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
