//! The table of every task of a run.

/// Every task that the run started.
#[derive(Default)]
pub(crate) struct Tasks {}
