//! Signals that reach the command while a run goes.

use std::{io, time::Duration};

use tokio::time::Instant;

use crate::{
    cause::{Cause, Grip},
    exit::Exit,
    out,
};

/// How soon after one Ctrl-C another one cancels.
const AGAIN: Duration = Duration::from_secs(2);

/// Acts on signals until the run has ended: Ctrl-C stops the calls that wait, a second one within two seconds cancels the
/// run, a further one ends the process. SIGTERM cancels, and on Windows Ctrl-Break and the closing of the console.
pub(crate) async fn heed(mut signals: Signals, grip: Grip) {
    let mut last: Option<Instant> = None;
    loop {
        match signals.next().await {
            Signal::Interrupt if grip.is_cancelled() => std::process::exit(Exit::Cancelled.code().into()),
            Signal::Interrupt if last.is_some_and(|last| last.elapsed() <= AGAIN) => {
                out::note("cancelling the run");
                grip.cancel(Cause::Interrupted);
            }
            Signal::Interrupt => {
                last = Some(Instant::now());
                out::note(format_args!(
                    "stopping the calls that wait; press Ctrl-C again within {} s to cancel the run",
                    AGAIN.as_secs()
                ));
                grip.stop();
            }
            Signal::Terminate => grip.cancel(Cause::Terminated),
        }
    }
}

enum Signal {
    Interrupt,
    Terminate,
}

/// The signals that the command listens to, from the moment that it does: none is lost between two looks.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            Some(()) = self.terminate.recv() => Signal::Terminate,
            else => std::future::pending().await,
        }
    }
}

/// The signals that the command listens to, from the moment that it does: none is lost between two looks.
#[cfg(windows)]
pub(crate) struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
    ctrl_break: tokio::signal::windows::CtrlBreak,
    close: tokio::signal::windows::CtrlClose,
}

#[cfg(windows)]
impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: tokio::signal::windows::ctrl_c()?,
            ctrl_break: tokio::signal::windows::ctrl_break()?,
            close: tokio::signal::windows::ctrl_close()?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            Some(()) = self.ctrl_break.recv() => Signal::Terminate,
            Some(()) = self.close.recv() => Signal::Terminate,
            else => std::future::pending().await,
        }
    }
}
