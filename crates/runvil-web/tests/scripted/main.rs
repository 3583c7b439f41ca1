//! The Pack over a scripted network and a scripted search provider, through its public API alone.

mod fetch;
mod pack;
mod search;
mod support;
