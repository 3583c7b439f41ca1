//! Reaching a thread that runs Lua by a signal.
//!
//! A cancel must not touch a Lua thread that runs elsewhere. So it sends `SIGURG`, which nobody misses, to the system
//! threads that run Lua of the run, and the handler, on that thread, does what Lua's sources allow a signal handler
//! to do: it sets a hook on the Lua thread that it interrupted.
//!
//! - A system thread is signalled only while it is on the run's list, under the list's lock, which it takes to leave
//!   the list: it cannot end in between.
//! - A signal that comes late, when the thread is past its Lua, finds no frame, or one of another run, and does
//!   nothing: the handler looks at the flag of each frame.
//! - A thread that enters looks at the flag after it is on the list, and a cancel sets the flag before it reads the
//!   list: one of the two sees the other.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering, compiler_fence};
use std::sync::{Mutex, OnceLock, PoisonError};

use libc::pthread_t;
use mlua::ffi::lua_State;

use super::{Inner, Level};
use crate::raw::{AT_ONCE, INTERVAL, arm};

/// Lua that runs on this system thread: the innermost frame, each with the one that it interrupted.
struct Frame {
    state: *mut lua_State,
    level: *const AtomicU8,
    outer: *const Self,
}

thread_local! {
    /// The innermost frame. It needs no set-up and no destructor, so that a signal handler may read it.
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// The system threads that run Lua of one run; one thread may be there more than once.
#[derive(Debug, Default)]
pub(super) struct Threads(Mutex<Vec<pthread_t>>);

impl Threads {
    pub(super) fn interrupt(&self) {
        let threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for &thread in threads.iter() {
            // SAFETY: the thread is on the list, so it lives; it leaves the list under the lock.
            unsafe { libc::pthread_kill(thread, libc::SIGURG) };
        }
    }

    fn enter(&self, thread: pthread_t) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    fn leave(&self, thread: pthread_t) {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = threads.iter().rposition(|&other| other == thread) {
            threads.remove(at);
        }
    }
}

/// Takes a thread off the list and its frame off the thread, also when a panic passes.
struct Entered<'a> {
    threads: &'a Threads,
    thread: pthread_t,
    outer: *const Frame,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.threads.leave(self.thread);
        INNERMOST.set(self.outer);
        compiler_fence(Ordering::SeqCst);
    }
}

/// Runs `run` with the thread on the run's list.
///
/// # Safety
///
/// As [`CancelFlag::watch`](super::CancelFlag::watch).
pub(super) unsafe fn watch<R>(inner: &Inner, state: *mut lua_State, run: impl FnOnce() -> R) -> R {
    let handled = install();
    let frame = Frame {
        state,
        level: &raw const inner.level,
        outer: INNERMOST.get(),
    };
    compiler_fence(Ordering::SeqCst);
    INNERMOST.set(&raw const frame);
    // SAFETY: it names the calling thread.
    let thread = unsafe { libc::pthread_self() };
    inner.threads.enter(thread);
    let entered = Entered {
        threads: &inner.threads,
        thread,
        outer: frame.outer,
    };
    let interval = match inner.level() {
        Level::AtOnce => Some(AT_ONCE),
        Level::Cancelled => Some(INTERVAL),
        // Without a handler nobody can be told later.
        Level::Expected if !handled => Some(AT_ONCE),
        Level::Clear if !handled => Some(INTERVAL),
        Level::Clear | Level::Expected => None,
    };
    if let Some(interval) = interval {
        // SAFETY: the caller lets this thread alone run the Lua thread.
        unsafe { arm(state, interval) };
    }
    let result = run();
    drop(entered);
    result
}

/// Installs the handler once in the process; says whether it is there.
fn install() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        // SAFETY: the handler only reads this thread's frames and sets a hook, which needs no lock and no memory.
        unsafe { signal_hook_registry::register(libc::SIGURG, handle) }.is_ok()
    })
}

fn handle() {
    let mut frame = INNERMOST.get();
    // SAFETY: a frame lies on this thread's stack and is the innermost only while it lives, as are those below it;
    // its flag outlives it. The Lua thread is run by this system thread alone, which is here and not in it.
    unsafe {
        while let Some(running) = frame.as_ref() {
            match Level::of((*running.level).load(Ordering::SeqCst)) {
                Level::Clear | Level::Expected => {}
                Level::Cancelled => arm(running.state, INTERVAL),
                Level::AtOnce => arm(running.state, AT_ONCE),
            }
            frame = running.outer;
        }
    }
}
