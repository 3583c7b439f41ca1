//! The lines of a text. As in CommonMark, YAML and Lua alike, a line ends with LF, with CRLF or with a lone CR.

use std::ops::Range;

use crate::Position;

/// Where each line of a text starts.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    starts: Vec<usize>,
    length: usize,
}

impl Lines {
    /// Finds the lines of `text`. A text that ends with a line end has an empty last line, so that every offset has its line.
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut starts = vec![0];
        for end in memchr::memchr2_iter(b'\n', b'\r', text) {
            if text[end] == b'\n' || text.get(end + 1) != Some(&b'\n') {
                starts.push(end + 1);
            }
        }
        Lines {
            starts,
            length: text.len(),
        }
    }

    /// How many lines there are, at least one.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The number of the line that holds the byte at `offset`, counted from 0.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset) - 1
    }

    /// The offset of the first byte of line `line`.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts[line]
    }

    /// The offset of the first byte after line `line` and its line end.
    pub(crate) fn end(&self, line: usize) -> usize {
        self.starts.get(line + 1).copied().unwrap_or(self.length)
    }

    /// The bytes of line `line` in `text`, without its line end.
    pub(crate) fn range(&self, line: usize, text: &str) -> Range<usize> {
        let start = self.start(line);
        let content = text[start..self.end(line)].trim_end_matches(['\n', '\r']);
        start..start + content.len()
    }

    /// The text of line `line`, without its line end.
    pub(crate) fn text<'a>(&self, line: usize, text: &'a str) -> &'a str {
        &text[self.range(line, text)]
    }

    /// The place of the byte at `offset`, its column counted in bytes, when the first line has the number `first_line`.
    pub(crate) fn position(&self, offset: usize, first_line: u32) -> Position {
        let line = self.at(offset);
        Position {
            line: first_line.saturating_add(saturating(line)),
            column: saturating(offset - self.start(line) + 1),
        }
    }
}

/// The first line of `text` without its line end, and what is below it.
pub(crate) fn split_line(text: &str) -> (&str, &str) {
    let Some(end) = memchr::memchr2(b'\n', b'\r', text.as_bytes()) else {
        return (text, "");
    };
    let line_end = if text[end..].starts_with("\r\n") { 2 } else { 1 };
    (&text[..end], &text[end + line_end..])
}

/// A count as a line or column number.
pub(crate) fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_lf_crlf_or_a_lone_cr() {
        let text = "a\nb\r\nc\rd\n";
        let lines = Lines::of(text.as_bytes());
        let texts: Vec<&str> = (0..lines.count()).map(|line| lines.text(line, text)).collect();
        assert_eq!(texts, ["a", "b", "c", "d", ""]);
    }

    #[test]
    fn every_offset_has_its_line_and_column() {
        let text = "é\nb\n";
        let lines = Lines::of(text.as_bytes());
        let place = |offset| {
            let position = lines.position(offset, 5);
            (position.line, position.column)
        };
        assert_eq!(
            [place(0), place(2), place(3), place(5)],
            [(5, 1), (5, 3), (6, 1), (7, 1)]
        );
    }
}
