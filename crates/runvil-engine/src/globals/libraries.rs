//! `require`: sections as libraries (book: Sharing code with `require`).

/// The libraries that a section entry loaded.
#[derive(Default)]
pub(crate) struct Libraries {}
