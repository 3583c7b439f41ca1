//! Where a run's seed and start instant come from (book: What a run's record holds).

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// A run's seed: 32 bytes.
pub type Seed = [u8; 32];

/// Supplies the two inputs that a run draws before anything else.
pub trait Origin: Send + Sync {
    /// Draws a fresh seed.
    fn seed(&self) -> Seed;

    /// The present in UTC milliseconds since the Unix epoch.
    fn now(&self) -> i64;
}

/// The operating system's secure random source and its wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemOrigin;

impl Origin for SystemOrigin {
    fn seed(&self) -> Seed {
        let mut seed = Seed::default();
        getrandom::fill(&mut seed).expect("the operating system has a secure random source");
        seed
    }

    fn now(&self) -> i64 {
        let millis = |elapsed: std::time::Duration| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => millis(since),
            Err(before) => -millis(before.duration()),
        }
    }
}

/// Start instants that never go back, though the wall clock may.
#[derive(Debug)]
pub(crate) struct StartInstants(AtomicI64);

impl StartInstants {
    pub(crate) fn new() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }

    /// The instant to stamp on a run that starts at `now`.
    pub(crate) fn stamp(&self, now: i64) -> i64 {
        self.0.fetch_max(now, Ordering::SeqCst).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_run_never_starts_earlier() {
        let starts = StartInstants::new();
        assert_eq!([-5, 10, 7, 12].map(|now| starts.stamp(now)), [-5, 10, 10, 12]);
    }

    #[test]
    fn two_seeds_of_the_system_differ() {
        assert_ne!(SystemOrigin.seed(), SystemOrigin.seed());
        assert!(SystemOrigin.now() > 1_600_000_000_000);
    }
}
