//! One module for each subcommand.

pub(crate) mod check;
pub(crate) mod contract;
pub(crate) mod fork;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod test;
