//! Writes to the standard streams. A reader that is gone is no reason to panic.

use std::{
    fmt,
    io::{self, Write as _},
};

use crate::{exit::Fault, screen::screen};

/// Writes a line to standard error, for a person. That nobody reads it does not concern the command.
pub(crate) fn note(text: impl fmt::Display) {
    screen().note(&text);
}

/// Writes text to standard output as it is.
///
/// # Errors
/// The text cannot be written.
pub(crate) fn print(text: impl fmt::Display) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    write!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|error| Fault::failure(format_args!("standard output cannot be written: {error}")))
}

/// Writes text that somebody looks through, who may have seen enough before its end.
///
/// # Errors
/// The text cannot be written. That its reader is gone is told to nobody.
pub(crate) fn list(text: impl fmt::Display) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).map_err(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Fault::unread()
        } else {
            Fault::failure(format_args!("standard output cannot be written: {error}"))
        }
    })
}

/// Writes bytes to standard output as they are.
///
/// # Errors
/// The bytes cannot be written.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| Fault::failure(format_args!("standard output cannot be written: {error}")))
}
