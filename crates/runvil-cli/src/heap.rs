//! How the process keeps its memory.

/// Has every thread allocate from one heap.
///
/// The GNU C library gives each thread a heap of its own, which it reserves, grows and gives back by system calls: half of
/// the time that a short run takes. Lua runs on one thread at a time, so threads hardly ever wait for the one heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn share() {
    // SAFETY: no other thread runs yet, and the parameter is one that the library documents.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Other systems' allocators share by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share() {}
