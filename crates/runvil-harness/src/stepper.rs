//! The thread that steps a run.

use std::{io, sync::mpsc as orders, thread};

use runvil_engine::{Answer, CancelFlag, CancelPlace, EffectId, Run, Step};
use tokio::sync::mpsc;

/// Stack for a run's thread: Lua and the JSON functions recurse deeper than the platform's default bears
/// everywhere.
pub(crate) const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Steps a run on a thread of its own.
///
/// Lua may spin for as long as it likes, so a step runs on no async worker. Nor does it run in the runtime's
/// blocking pool, where it could hold up store operations and the runtime's shutdown. A step that does not come
/// back even after a cancel is left behind with its thread.
pub(crate) struct Stepper {
    orders: orders::Sender<Order>,
    steps: mpsc::UnboundedReceiver<Step>,
    cancel: CancelFlag,
}

/// What a step is to begin with.
#[derive(Default)]
pub(crate) struct Order {
    /// The answers to hand the run.
    pub(crate) answers: Vec<(EffectId, Answer)>,
    /// Where the step is to cancel itself.
    pub(crate) cancel_at: Option<CancelPlace>,
}

/// The run's thread is gone, though the run has not ended: a step panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a step of the run panicked")]
pub(crate) struct StepPanicked;

impl Stepper {
    /// Takes the run to a thread of its own.
    pub(crate) fn start(run: Run) -> io::Result<Self> {
        let cancel = run.cancel_flag();
        let (orders, inbox) = orders::channel();
        let (outbox, steps) = mpsc::unbounded_channel();
        thread::Builder::new()
            .name("runvil-run".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || work(run, &inbox, &outbox))?;
        Ok(Self { orders, steps, cancel })
    }

    /// Has the run take a step.
    pub(crate) fn step(&self, order: Order) {
        // A thread that is gone is reported where its step is awaited.
        let _ = self.orders.send(order);
    }

    /// The step that was ordered, once it is done. Cancel safe.
    pub(crate) async fn stepped(&mut self) -> Result<Step, StepPanicked> {
        self.steps.recv().await.ok_or(StepPanicked)
    }

    /// Sets the run's cancel flag, which running Lua sees by itself.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Drop for Stepper {
    /// A run that nobody drives any more must not spin on.
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn work(mut run: Run, inbox: &orders::Receiver<Order>, outbox: &mpsc::UnboundedSender<Step>) {
    while let Ok(Order { answers, cancel_at }) = inbox.recv() {
        for (id, answer) in answers {
            run.answer(id, answer);
        }
        if let Some(place) = cancel_at {
            run.cancel_at(place);
        }
        if outbox.send(run.step()).is_err() {
            return;
        }
    }
}
