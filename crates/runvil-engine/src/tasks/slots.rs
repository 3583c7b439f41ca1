//! Concurrency slots: the places under a chain's limit (book: Concurrency slots).

/// One chain's concurrency limit for the tasks below it, and how many of its slots are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    limit: u64,
    taken: u64,
}

impl Slots {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, taken: 0 }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets the limit. Tasks that hold a slot keep it.
    pub(super) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    pub(super) fn has_free(&self) -> bool {
        self.taken < self.limit
    }

    pub(super) fn take(&mut self) {
        self.taken += 1;
    }

    pub(super) fn give_back(&mut self) {
        self.taken -= 1;
    }
}
