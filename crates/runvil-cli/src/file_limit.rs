//! A limit on the size of files, such as `ulimit -f` sets.

/// Has a write past the limit fail like one on a full disk, which is told and costs nothing that was kept. Otherwise the
/// process dies without a word.
#[cfg(unix)]
pub(crate) fn tell() {
    // SAFETY: no other thread runs yet, and no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(crate) fn tell() {}
