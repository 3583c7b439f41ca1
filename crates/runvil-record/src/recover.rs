//! Bringing into the database what the journals of dead processes hold.

use crate::{Database, RecordError, RunId, apply::Applier, change::Frame, connect::PATIENCE, journal::Journal};

impl Database {
    /// Brings in all that was left behind. What cannot be brought in stays: for want of room or of permission until somebody
    /// has them, and a damaged journal until somebody has looked at it.
    pub(crate) fn recover(&self) {
        let Some(path) = self.path().filter(|_| self.is_writable()) else {
            return;
        };
        for (run, mut journal) in Journal::left_behind(path) {
            match self.fold_in(run, &mut journal) {
                Ok(()) => journal.remove(),
                Err(error) => self.note(run, error),
            }
        }
    }

    /// Brings in what the journal of a run holds, and empties it. The database has its first frames, maybe all, already.
    ///
    /// # Errors
    /// The journal is damaged: what stands before that is brought in, and it stays as it is. Or either cannot be read or
    /// written.
    pub(crate) fn fold_in(&self, run: RunId, journal: &mut Journal) -> Result<(), RecordError> {
        let contents = journal.read()?;
        let damaged = |detail: String| RecordError::DamagedJournal {
            path: journal.path().to_owned(),
            run,
            detail,
        };
        let mut applier = self.reading(|connection| Applier::of(connection, run))?;
        let new = follow_on(&contents.frames, applier.applied());
        applier.apply(self, PATIENCE, new)?;
        let last = contents.frames.last().map_or(0, |frame| frame.sequence);
        if last > applier.applied() {
            return Err(damaged("frames are missing".to_owned()));
        }
        match contents.damage {
            Some(detail) => Err(damaged(detail)),
            None => journal.clear(),
        }
    }
}

/// The frames that come next without a gap.
fn follow_on(frames: &[Frame], applied: u64) -> &[Frame] {
    let first = frames.partition_point(|frame| frame.sequence <= applied);
    let new = &frames[first..];
    let fit = new
        .iter()
        .zip(applied + 1..)
        .take_while(|(frame, next)| frame.sequence == *next);
    &new[..fit.count()]
}
