//! Running an installed model.

mod backend;
mod failure;
mod generation;
mod memory;
mod network;
mod reply_text;
mod sampling;
mod session;
mod template;
mod vocabulary;
mod weights;

#[cfg(test)]
mod tests;

pub use backend::{LocalModels, LocalOptions};
pub use sampling::Sampling;
