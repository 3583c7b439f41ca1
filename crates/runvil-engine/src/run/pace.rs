//! What a step comes to, counted, so that the place of a cancel can be told and found again.
//!
//! What anyone can see of a step hangs on a cancel only by which of the Engine's own looks at the flag found it set, or
//! within which piece of Lua it struck. Between two counts nothing comes out of a step.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use runvil_lua::CancelFlag;

use crate::CancelPlace;

/// Counts the looks at the cancel flag, the pieces of Lua, the events and the effects of a step.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Only the thread that steps the run counts.
    counted: AtomicU64,
    /// Whether a place is due, so that a step without one takes no lock.
    awaits: AtomicBool,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    /// Where the step is to cancel itself.
    due: Option<CancelPlace>,
    /// Where a cancel took effect.
    found: Option<CancelPlace>,
}

impl Pace {
    pub(super) fn begin_step(&self) {
        self.counted.store(0, Relaxed);
    }

    /// Has the step that comes cancel itself at a place.
    pub(super) fn cancel_at(&self, place: CancelPlace, flag: &CancelFlag) {
        flag.expect();
        self.places().due = Some(place);
        self.awaits.store(true, Relaxed);
    }

    pub(super) fn take_place(&self) -> Option<CancelPlace> {
        self.places().found.take()
    }

    /// Counts one thing.
    pub(super) fn count(&self, flag: &CancelFlag) {
        let at = self.advance();
        if let Some(CancelPlace { in_lua: true, .. }) = self.due(at) {
            flag.cancel_at_once();
        }
    }

    /// Counts a look at the flag, and looks.
    pub(super) fn look(&self, flag: &CancelFlag) -> bool {
        let at = self.advance();
        let due = self.due(at);
        if let Some(CancelPlace { in_lua: false, .. }) = due {
            flag.cancel();
        }
        let seen = flag.is_cancelled();
        if due.is_some_and(|place| place.in_lua) {
            flag.cancel_at_once();
        }
        if seen {
            self.places().found.get_or_insert(CancelPlace { at, in_lua: false });
        }
        seen
    }

    pub(super) fn struck_lua(&self) {
        let at = self.counted.load(Relaxed);
        self.places().found.get_or_insert(CancelPlace { at, in_lua: true });
    }

    fn advance(&self) -> u64 {
        self.counted.fetch_add(1, Relaxed) + 1
    }

    /// The place that is due, once the step has come to it.
    fn due(&self, at: u64) -> Option<CancelPlace> {
        if !self.awaits.load(Relaxed) {
            return None;
        }
        self.places().due.take_if(|place| place.at == at)
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
