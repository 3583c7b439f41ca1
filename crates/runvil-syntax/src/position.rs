//! Places in a file and in its body.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A place in the file as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The line, counted from 1: the opening `---` is on line 1.
    pub line: u32,
    /// The column, counted from 1.
    pub column: u32,
}

/// A range of bytes of the body: the text after the frontmatter, with CRLF read as LF. It does not index the file as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Span {
            start: range.start,
            end: range.end,
        }
    }
}

impl From<Span> for Range<usize> {
    fn from(span: Span) -> Self {
        span.start..span.end
    }
}
