//! Conformance cases and the scripted Host that runs them in virtual time.
//!
//! A case is data: a prompt file, what the Host supplies, what must come out. [`run_paths`] reads case files strictly, runs
//! each case against the real Engine and Harness with a Host that answers from the case, and reports what differs.

pub mod case;

mod event_kinds;
mod files;

mod host;

mod drive;
mod guard;
mod observed;
mod run;
mod tape;

mod check;
mod mismatch;

mod report;
mod runner;

pub use files::case_files;
pub use mismatch::{Mismatch, Want};
pub use report::{CaseReport, Report, Summary, Verdict};
pub use runner::{Loaded, RunOptions, load, run_paths};
