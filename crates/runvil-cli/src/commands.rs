//! One module for each subcommand.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod contract;
pub(crate) mod diff;
pub(crate) mod fork;
pub(crate) mod man;
pub(crate) mod model;
pub(crate) mod models;
pub(crate) mod new;
pub(crate) mod prune;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod show;
pub(crate) mod test;
