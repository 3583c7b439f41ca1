//! Running an installed model.

mod attention;
mod backend;
mod calls;
#[cfg(target_arch = "x86_64")]
mod eight;
mod failure;
#[cfg(target_arch = "x86_64")]
mod four;
mod generation;
mod listener;
mod matrix;
mod memory;
mod network;
mod past;
mod pointwise;
mod product;
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
