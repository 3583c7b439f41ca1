//! Store access that answers as it did in the recorded run.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use runvil_engine::StoreAccess;
use runvil_vfs::{Identity, StoreFailure};

/// Answers from the record as long as it has answers, then from the store that takes over, if there is one.
#[derive(Clone, Default)]
pub(crate) struct RecordedAccess {
    answers: Arc<Mutex<VecDeque<Option<StoreFailure>>>>,
    after: Arc<Mutex<Option<Box<dyn StoreAccess>>>>,
}

impl RecordedAccess {
    /// Gives these answers to the next questions.
    pub(crate) fn grant(&self, answers: &[Option<StoreFailure>]) {
        let mut queue = lock(&self.answers);
        queue.clear();
        queue.extend(answers.iter().cloned());
    }

    /// Asks this store from here on.
    pub(crate) fn hand_over(&self, store: Box<dyn StoreAccess>) {
        lock(&self.answers).clear();
        *lock(&self.after) = Some(store);
    }

    fn answer(&self, ask: impl FnOnce(&mut dyn StoreAccess) -> Result<(), StoreFailure>) -> Result<(), StoreFailure> {
        if let Some(answer) = lock(&self.answers).pop_front() {
            return answer.map_or(Ok(()), Err);
        }
        match &mut *lock(&self.after) {
            Some(store) => ask(&mut **store),
            // A run that asks more often than it did has diverged, which shows in what it does.
            None => Ok(()),
        }
    }
}

impl StoreAccess for RecordedAccess {
    fn open(&mut self, root: &Identity) -> Result<(), StoreFailure> {
        self.answer(|store| store.open(root))
    }

    fn fork(&mut self, child: &Identity) -> Result<(), StoreFailure> {
        self.answer(|store| store.fork(child))
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
