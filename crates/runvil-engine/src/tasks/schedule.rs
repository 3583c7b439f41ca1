//! Admission: which queued task runs next (book: Concurrency, nesting, and scheduling).

use std::collections::{BTreeMap, VecDeque};

use super::{Slots, Waiting, table::Task};
use crate::{
    ChainId, EventKind,
    chain::{Chain, ChainKind},
    globals::Seeds,
    run::{Resume, Run},
};

/// The tasks that wait for slots.
#[derive(Default)]
pub(super) struct Queues {
    /// Chains whose wait was answered and whose task must retake its slots, in the order of the answers.
    retaking: VecDeque<ChainId>,
    /// Tasks that never ran, in spawn order by owner: those of one owner need the same slots.
    fresh: BTreeMap<ChainId, VecDeque<(u64, ChainId)>>,
}

impl Queues {
    pub(super) fn spawned(&mut self, task: &Task) {
        self.fresh
            .entry(task.owner.clone())
            .or_default()
            .push_back((task.order, task.id.clone()));
    }

    /// Takes a task that ended before it was admitted out of its queue.
    pub(super) fn withdraw(&mut self, task: &Task) {
        if let Some(queue) = self.fresh.get_mut(&task.owner) {
            if let Ok(place) = queue.binary_search_by_key(&task.order, |(order, _)| *order) {
                queue.remove(place);
            }
            if queue.is_empty() {
                self.fresh.remove(&task.owner);
            }
        }
    }
}

impl Run {
    /// Admits the next waiting chain or queued task that fits: first who retakes a slot, then who never ran. Whether
    /// there was one.
    pub(crate) fn admit_next(&mut self) -> bool {
        self.readmit_next() || self.admit_fresh()
    }

    fn readmit_next(&mut self) -> bool {
        let queue = &self.tasks.queues.retaking;
        let Some(place) = queue.iter().position(|waiter| {
            let Some(chain) = self.chains.get(waiter) else {
                return true;
            };
            self.fits(&self.tasks.get(&chain.task).expect("only tasks give slots back").owner)
        }) else {
            return false;
        };
        let waiter = self
            .tasks
            .queues
            .retaking
            .remove(place)
            .expect("the place was just found");
        if self.chains.contains_key(&waiter) {
            let task = self.chain(&waiter).task.clone();
            self.take_slots(&task);
            self.ready.push_back((waiter, Resume::Wait));
        }
        true
    }

    fn admit_fresh(&mut self) -> bool {
        let fitting = self.tasks.queues.fresh.iter().filter(|(owner, _)| self.fits(owner));
        let Some((_, id)) = fitting.filter_map(|(_, queue)| queue.front()).min().cloned() else {
            return false;
        };
        self.admit(&id);
        true
    }

    /// Starts a task's chain.
    fn admit(&mut self, id: &ChainId) {
        self.tasks.withdraw(id);
        self.take_slots(id);
        let task = self.tasks.get_mut(id);
        let start = task.start.take().expect("a task is admitted once");
        let (owner, identity) = (task.owner.clone(), task.identity.clone());
        let event = EventKind::TaskStarted {
            task: id.clone(),
            target: task.target.clone(),
            origin: task.origin,
            input: start.input,
            item: start.item.clone(),
            index: start.index,
            var: (*start.var).clone(),
        };
        let owner = self.chains.get(&owner).expect("the owner of a queued task lives");
        self.shared.report(&owner.task, &start.spawned_from, event);
        let mut chain: Chain = owner.child(id.clone(), ChainKind::Task, start.section, identity);
        chain.args = start.args;
        chain.var = (*start.var).clone();
        chain.seeds = Some(Seeds {
            item: start.item,
            index: start.index,
        });
        self.chains.insert(id.clone(), chain);
        self.ready.push_back((id.clone(), Resume::Begin));
    }

    /// The chains whose slots a task of `owner` needs: the owner and every chain around it.
    fn around<'a>(&self, owner: &'a ChainId) -> impl Iterator<Item = ChainId> + use<'a> {
        (1..=owner.components().len()).rev().map(|depth| owner.ancestor(depth))
    }

    fn fits(&self, owner: &ChainId) -> bool {
        self.around(owner)
            .all(|chain| self.chains.get(&chain).is_none_or(|chain| chain.slots.has_free()))
    }

    /// Takes the slots that a task needs.
    pub(super) fn take_slots(&mut self, id: &ChainId) {
        let task = self.tasks.get_mut(id);
        task.holds_slots = true;
        let owner = task.owner.clone();
        self.each_slot(&owner, Slots::take);
    }

    /// Gives a task's slots back, if it holds them. Whether it did.
    pub(super) fn give_slots_back(&mut self, id: &ChainId) -> bool {
        let task = self.tasks.get_mut(id);
        if !std::mem::take(&mut task.holds_slots) {
            return false;
        }
        let owner = task.owner.clone();
        self.each_slot(&owner, Slots::give_back);
        true
    }

    fn each_slot(&mut self, owner: &ChainId, change: fn(&mut Slots)) {
        for chain in self.around(owner) {
            if let Some(chain) = self.chains.get_mut(&chain) {
                change(&mut chain.slots);
            }
        }
    }

    /// Lets a chain go on after a wait: at once, or once its task has its slots again.
    pub(super) fn wake(&mut self, waiter: &ChainId, gave_back: bool) {
        if gave_back {
            self.chain(waiter).waiting = Some(Waiting::Queued);
            self.tasks.queues.retaking.push_back(waiter.clone());
        } else {
            self.ready.push_back((waiter.clone(), Resume::Wait));
        }
    }

    /// Sets or reads a chain's concurrency limit, which never exceeds that of the chain around it.
    pub(super) fn concurrency(&mut self, id: &ChainId, limit: Option<u64>) -> u64 {
        let run_limit = u64::from(self.shared.facts.limits.concurrency);
        let parent = self.chains.get(&id.ancestor(id.components().len() - 1));
        let ceiling = parent.map_or(run_limit, |parent| parent.slots.limit());
        let slots = &mut self.chain(id).slots;
        if let Some(limit) = limit {
            slots.set_limit(limit.min(ceiling));
        }
        slots.limit()
    }
}
