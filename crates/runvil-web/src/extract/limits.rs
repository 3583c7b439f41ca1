//! How much of a page is looked at. No page that a person reads comes near these limits; they bound the time and the
//! memory that a hostile one costs.

use std::time::Duration;

/// The limits on one page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The nodes of the tree. The page ends with the node that reaches it.
    pub(super) nodes: usize,
    /// The bytes of text, scripts and styles not counted. The page ends with the text that reaches it.
    pub(super) text: usize,
    /// How deep elements nest. What lies deeper becomes a sibling of what lies at this depth.
    pub(super) depth: usize,
    /// How deep lists and quotes nest, each of which indents every line within it.
    pub(super) indents: usize,
    /// The bytes of an attribute's value. A longer attribute is left out.
    pub(super) attribute: usize,
    /// The bytes of the address that a page declares as the base of its links, each of which repeats it.
    pub(super) base: usize,
    /// How long parsing may take. It stops the page that makes the parser itself slow, such as a tag with a million
    /// attributes, for which there is no limit to count.
    pub(super) time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            nodes: 250_000,
            text: 2 * 1024 * 1024,
            depth: 128,
            indents: 12,
            attribute: 2048,
            base: 512,
            time: Duration::from_secs(5),
        }
    }
}
