//! Whoever waits for a reply.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::mpsc;

use super::failure::Failure;

/// What is heard of a generation while it goes.
#[derive(Debug)]
pub(super) enum Progress {
    /// It goes on.
    Alive,
    /// The next piece of the reply.
    Text(String),
}

/// Whoever waits for a reply. A computation looks often whether anyone still does.
#[derive(Debug)]
pub(super) struct Listener {
    gone: Arc<AtomicBool>,
    progress: mpsc::UnboundedSender<Progress>,
}

impl Listener {
    /// A listener that sets the flag when it goes, and what it hears.
    pub(super) fn new(gone: Arc<AtomicBool>) -> (Self, mpsc::UnboundedReceiver<Progress>) {
        let (progress, heard) = mpsc::unbounded_channel();
        (Self { gone, progress }, heard)
    }

    /// Whether the work may go on, for the inner loops.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        Ok(())
    }

    /// Tells that the work goes on, if it may.
    pub(super) fn go_on(&self) -> Result<(), Failure> {
        self.tell(Progress::Alive)
    }

    /// Tells the next piece of the reply.
    pub(super) fn say(&self, piece: String) -> Result<(), Failure> {
        if piece.is_empty() {
            return Ok(());
        }
        self.tell(Progress::Text(piece))
    }

    fn tell(&self, progress: Progress) -> Result<(), Failure> {
        self.check()?;
        // A listener that is gone has set the flag, too.
        let _ = self.progress.send(progress);
        Ok(())
    }
}

#[cfg(test)]
impl Listener {
    /// A listener that lets everything go on and hears nothing.
    pub(super) fn nobody() -> Self {
        Self::new(Arc::default()).0
    }

    /// A listener that is gone.
    pub(super) fn gone() -> Self {
        Self::new(Arc::new(AtomicBool::new(true))).0
    }
}
