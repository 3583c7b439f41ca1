//! The Packs that come with Runvil and need nothing beyond this crate.

mod subagents;
mod user_input;

pub use subagents::SubagentsPlugin;
pub use user_input::UserInputPlugin;
