//! A run's seed and start instant, from the case.

use runvil_harness::{Origin, Seed};

/// Gives every run the same two inputs.
pub(crate) struct ScriptedOrigin {
    pub(crate) seed: Seed,
    pub(crate) now: i64,
}

impl Origin for ScriptedOrigin {
    fn seed(&self) -> Seed {
        self.seed
    }

    fn now(&self) -> i64 {
        self.now
    }
}
