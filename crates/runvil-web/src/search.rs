//! The tool `web/search` and the search provider behind a gateway (book: Searching the web).

mod arguments;
mod gateway;
mod tool;

pub use gateway::GatewaySearch;
pub(crate) use tool::SearchTool;
