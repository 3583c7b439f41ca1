//! From the Packs of a Host to those of one run.

mod changes;
mod installed;
mod pick;
mod ready;
mod snapshot;

pub(crate) use changes::changes;
pub(crate) use installed::InstalledPacks;
pub(crate) use pick::pick;
pub(crate) use ready::wait;
pub use snapshot::RosterEntry;
pub(crate) use snapshot::{RunPacks, ToolTable};
