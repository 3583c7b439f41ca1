//! The tool `web/fetch` (book: Fetching a page).

mod arguments;
mod failure;
mod hops;
mod page;
mod tool;

pub(crate) use tool::FetchTool;

#[cfg(test)]
mod hostile_tests;
