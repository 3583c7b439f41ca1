//! Concurrency slots: the places under a chain's limit (book: Concurrency slots).

/// One chain's concurrency limit for the tasks below it, and how many of its slots are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    limit: u64,
}

impl Slots {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }
}
