//! How much work one conversion may do (book: Size and nesting limits).

use super::walk::Stop;
use crate::cancel::CancelFlag;

/// A table can be reachable from many places while the heap holds it once, so a walk is bounded by what it visits.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    values: usize,
    bytes: usize,
    keys: usize,
    cancel: CancelFlag,
}

/// The most keys on one path that are neither numbers nor booleans.
const PATH_KEYS: usize = 100_000;

/// How many values pass between two looks at the cancel flag, less one.
const LOOK_MASK: usize = 0xffff;

impl Budget {
    /// The budget of a VM with that memory ceiling.
    pub(crate) fn new(memory_bytes: usize, cancel: CancelFlag) -> Self {
        Self {
            values: memory_bytes / 8,
            bytes: memory_bytes,
            keys: PATH_KEYS,
            cancel,
        }
    }

    /// The same without a bound on the keys of one path.
    pub(crate) fn without_key_bound(self) -> Self {
        Self {
            keys: usize::MAX,
            ..self
        }
    }

    pub(crate) fn spend_value(&mut self) -> Result<(), Stop> {
        self.values = self.values.checked_sub(1).ok_or(Stop::TooLarge)?;
        if self.values & LOOK_MASK == 0 && self.cancel.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        Ok(())
    }

    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Result<(), Stop> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Stop::TooLarge)?;
        Ok(())
    }

    /// Takes up keys for the table that is being walked; [`give_back_keys`](Self::give_back_keys) returns them.
    pub(crate) fn take_keys(&mut self, keys: usize) -> Result<(), Stop> {
        self.keys = self.keys.checked_sub(keys).ok_or(Stop::TooLarge)?;
        Ok(())
    }

    pub(crate) fn give_back_keys(&mut self, keys: usize) {
        self.keys = self.keys.saturating_add(keys);
    }
}
