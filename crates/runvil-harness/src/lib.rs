//! Prepares a run, drives it on tokio and performs its effects.
//!
//! A [`Host`] is set up once. Each [`Launch`] is *prepared*: parsed, its input staged, its Packs and models
//! checked. The run that comes out is *driven*: stepped on a thread of its own, its effects performed side by side,
//! their answers handed back. What it leaves is a [`RunReport`].
//!
//! ```text
//! Host + Launch ─▶ prepare ─▶ Prepared ─▶ drive ─▶ RunReport
//!                     │                     ├─▶ Observer: events, live text, effects, answers
//!                     └─▶ RunReport         └◀─ RunControl: cancel, stop
//! ```

mod host;
mod launch;
mod origin;
mod store;

mod packs;
mod prepare;
mod requirements;
mod staging;

mod blocking;
mod perform;
mod recording;

mod control;
mod drive;
mod observer;
mod replay;
mod report;
mod resume;
mod stepper;

pub use control::RunControl;
pub use drive::drive;
pub use host::{Host, HostBuilder, HostError, ModelAccess};
pub use launch::Launch;
pub use observer::{LiveText, Observer};
pub use origin::{Origin, Seed, SystemOrigin};
pub use packs::RosterEntry;
pub use perform::Performer;
pub use prepare::{Preparation, Prepared, prepare};
pub use replay::{Divergence, Part, Recorded, ReplayError, Replayed, is_same_kind, replay, replay_watched};
pub use report::{OutputError, RunRecord, RunReport};
pub use requirements::{MissingService, RequirementsReport, UnavailablePack};
pub use resume::{ChangedFile, Continuation, FileIs, Fork, GivenOrigin, OnChanged, OnUnknown, ResumeError, Resumption};
pub use store::LaunchStore;
