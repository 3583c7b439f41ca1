//! The token by which a tool call learns that nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use event_listener::Event;

/// A shared flag that is raised once and that can be awaited. It needs no async runtime.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<State>);

#[derive(Debug, Default)]
struct State {
    raised: AtomicBool,
    event: Event,
}

impl Cancellation {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag, for every clone of the token. Raising it again changes nothing.
    pub fn cancel(&self) {
        self.0.raised.store(true, Ordering::SeqCst);
        self.0.event.notify(usize::MAX);
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.raised.load(Ordering::SeqCst)
    }

    /// Ends once the flag is raised.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            let listener = self.0.event.listen();
            // A flag raised before the listener stood in line notified nobody.
            if self.is_cancelled() {
                return;
            }
            listener.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_sees_the_flag_and_every_waiter_wakes() {
        let token = Cancellation::new();
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let token = token.clone();
                std::thread::spawn(move || pollster::block_on(token.cancelled()))
            })
            .collect();
        assert!(!token.is_cancelled());
        token.cancel();
        for waiter in waiters {
            waiter.join().expect("a waiter wakes");
        }
        assert!(token.clone().is_cancelled());
        pollster::block_on(token.cancelled());
    }
}
