//! The directory backend of the store: store files as real files in a real directory.
//!
//! No path leads out of the directory, whatever links lie in it. A write replaces a file in one step, so that a kill, a
//! full disk or an I/O error leaves the old file or the new one, and never a part of either.

mod backend;
mod list;
mod replace;
mod root;

pub use backend::DirBackend;
