//! The store's core: paths, globs, mounts, claims, policies and the memory backend.
//!
//! A run asks for a [`StoreOp`] under an [`Identity`], both plain data; a [`Session`] performs it on the [`Store`] that the
//! Host declared and replies with a [`StoreReply`] or a [`StoreFailure`]. This crate knows no run, no Lua and no real
//! file: a [`Backend`] serves the bytes.

mod failure;
mod glob;
mod index_set;
mod lines;
mod op;
mod path;
mod policy;
mod reason;

mod claims;
mod identity;

mod backend;
mod memory;
mod mounts;

mod perform;
mod restore;
mod session;
mod store;

pub use backend::{Backend, BackendFailure};
pub use failure::{ClaimKind, FieldValue, PathSubject, StoreFailure};
pub use glob::{Glob, GlobState};
pub use identity::Identity;
pub use lines::{LineBounds, RangeProblem};
pub use memory::MemoryBackend;
pub use mounts::{Mount, MountError, Mounts};
pub use op::{OpName, StoreOp, StoreReply};
pub use path::{MAX_PATH_BYTES, PathRule, check_path};
pub use perform::{Change, ChangeWatch};
pub use policy::{Mode, Policy, PolicyOp, Ruling};
pub use reason::{StoreReason, UnknownReason};
pub use restore::FileKey;
pub use session::{FileAccess, Session};
pub use store::Store;
