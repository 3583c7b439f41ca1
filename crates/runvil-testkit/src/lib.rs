//! Conformance cases and the scripted Host that runs them in virtual time.

mod event_kinds;
mod files;

pub mod case;

pub use files::case_files;
