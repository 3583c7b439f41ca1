//! One module for each subcommand.

pub(crate) mod check;
pub(crate) mod contract;
pub(crate) mod model;
pub(crate) mod run;
pub(crate) mod test;
