//! Embedded models: GGUF files that are installed on this machine and answer model rounds without a server.
//!
//! A [`Library`] is the folder of the installed models. With the feature `inference`, `LocalModels` is the model
//! backend that runs them.
//!
//! ```text
//! FILE.gguf ─▶ gguf ─▶ facts ─▶ Library
//!                                  │ load
//! ModelRound ─▶ template ─▶ vocabulary ─▶ network ─▶ sampler ─▶ text ─▶ ModelReply
//! ```

mod name;

mod architecture;
mod facts;
mod gguf;
mod library;

#[cfg(feature = "inference")]
mod inference;

#[cfg(test)]
#[path = "../tests/common/tiny.rs"]
mod tiny;

pub use architecture::Unsupported;
pub use facts::{ModelFacts, ModelFileError};
pub use gguf::GgufError;
#[cfg(feature = "inference")]
pub use inference::{LocalModels, LocalOptions, Sampling};
pub use library::{InstalledModel, Library, LibraryError};
pub use name::{InvalidName, LOCAL_SERVER, LocalName};
