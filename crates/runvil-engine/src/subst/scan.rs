//! Cutting prose into text, escapes and placeholders.

/// One piece of a prose.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Literal text, escapes resolved.
    Text(&'a str),
    /// What stands between `{{` and the next `}}`.
    Placeholder {
        /// The text between the braces, not trimmed.
        path: &'a str,
        /// The byte of the opening brace.
        offset: usize,
    },
    /// A `{{` that nothing closes.
    Unclosed {
        /// The byte of the opening brace.
        offset: usize,
    },
}

/// Scans a prose once, in linear time.
pub(super) struct Scanner<'a> {
    prose: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(prose: &'a str) -> Self {
        Self { prose, at: 0 }
    }

    /// Takes `len` bytes as a piece of text.
    fn text(&mut self, len: usize) -> Piece<'a> {
        let start = self.at;
        self.at += len;
        Piece::Text(&self.prose[start..self.at])
    }

    fn placeholder(&mut self) -> Piece<'a> {
        let offset = self.at;
        let inside = &self.prose[offset + 2..];
        match inside.find("}}") {
            Some(end) => {
                self.at = offset + 2 + end + 2;
                Piece::Placeholder {
                    path: &inside[..end],
                    offset,
                }
            }
            None => {
                self.at = self.prose.len();
                Piece::Unclosed { offset }
            }
        }
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = &self.prose[self.at..];
        if rest.is_empty() {
            return None;
        }
        if rest.starts_with("{{") {
            return Some(self.placeholder());
        }
        for delimiter in ["{{", "}}", "\\", "{", "}"] {
            if rest
                .strip_prefix('\\')
                .is_some_and(|escaped| escaped.starts_with(delimiter))
            {
                self.at += 1;
                return Some(self.text(delimiter.len()));
            }
        }
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let next = rest[first..].find(['{', '\\']).map_or(rest.len(), |end| first + end);
        Some(self.text(next))
    }
}
