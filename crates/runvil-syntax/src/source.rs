//! A prompt file's text, cut at its frontmatter delimiters (book: Frontmatter delimiters, byte-order mark, and line endings).

use std::borrow::Cow;
use std::ops::Range;

use crate::lines::{Lines, saturating, split_line};
use crate::{ParseError, Position, Problem};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
const DELIMITER: &str = "---";

/// A prompt file's text: its frontmatter and its body, without a byte-order mark and with CRLF read as LF.
///
/// It maps the [`Span`](crate::Span)s of a parsed prompt and of a parse error back to places in the file as written.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    text: Cow<'a, str>,
    frontmatter: Range<usize>,
    body_start: usize,
    body_line: u32,
    lines: Lines,
}

impl<'a> Source<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// The file is no UTF-8, or a frontmatter delimiter is missing.
    pub fn read(file: &'a [u8]) -> Result<Self, ParseError> {
        let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
        let text = std::str::from_utf8(file).map_err(|error| not_utf8(file, error.valid_up_to()))?;
        let text = match text.contains("\r\n") {
            true => Cow::Owned(text.replace("\r\n", "\n")),
            false => Cow::Borrowed(text),
        };
        let (first, yaml) = split_line(&text);
        if first.trim() != DELIMITER {
            return Err(Problem::NoFrontmatter.into());
        }
        let (mut rest, mut yaml_lines) = (yaml, 0);
        let (closer, body) = loop {
            let (line, below) = split_line(rest);
            if closes(line) {
                break (rest, below);
            }
            if below.is_empty() {
                return Err(Problem::UnclosedFrontmatter.into());
            }
            (rest, yaml_lines) = (below, yaml_lines + 1);
        };
        let offset = |part: &str| text.len() - part.len();
        Ok(Source {
            frontmatter: offset(yaml)..offset(closer),
            body_start: offset(body),
            body_line: saturating(yaml_lines).saturating_add(3),
            lines: Lines::of(body.as_bytes()),
            text,
        })
    }

    /// The YAML between the delimiter lines. Its first line is line 2 of the file.
    #[must_use]
    pub fn frontmatter(&self) -> &str {
        &self.text[self.frontmatter.clone()]
    }

    /// The Markdown after the closing delimiter line.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.text[self.body_start..]
    }

    /// The place in the file of the byte at `offset` in the body. An offset past the end is taken as the end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        self.lines.position(offset.min(self.body().len()), self.body_line)
    }

    /// The lines of the body.
    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The file line of the byte at `offset` in the body.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        self.position(offset).line
    }
}

fn closes(line: &str) -> bool {
    let rest = line.strip_prefix(DELIMITER);
    rest.is_some_and(|rest| rest.trim().is_empty())
}

fn not_utf8(file: &[u8], offset: usize) -> ParseError {
    ParseError {
        position: Some(Lines::of(file).position(offset, 1)),
        ..Problem::NotUtf8.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(file: &[u8]) -> Problem {
        Source::read(file).expect_err("no delimiters").problem
    }

    #[test]
    fn the_delimiters_cut_the_file() {
        let source = Source::read(b" \t---\t\nname: x\n --- \n--- \t\nbody\n").expect("has both");
        assert_eq!(source.frontmatter(), "name: x\n --- \n");
        assert_eq!(source.body(), "body\n");
        assert_eq!(source.position(1), Position { line: 5, column: 2 });
    }

    #[test]
    fn the_closing_line_may_be_the_last_and_the_first_line_of_yaml() {
        let source = Source::read(b"---\n---").expect("has both");
        assert_eq!((source.frontmatter(), source.body()), ("", ""));
        assert_eq!(source.position(9), Position { line: 3, column: 1 });
    }

    #[test]
    fn a_byte_order_mark_and_crlf_leave_no_trace() {
        let source = Source::read(b"\xEF\xBB\xBF---\r\na\r\n---\r\nb\r\nc\r\n").expect("has both");
        assert_eq!((source.frontmatter(), source.body()), ("a\n", "b\nc\n"));
        assert_eq!(source.position(2), Position { line: 5, column: 1 });
    }

    #[test]
    fn a_missing_delimiter_is_named() {
        for file in [
            "",
            "\n---\n---\n",
            "----\n---\n",
            "--- x\n---\n",
            "\u{feff}\u{feff}---\n---\n",
        ] {
            assert_eq!(problem(file.as_bytes()), Problem::NoFrontmatter, "{file:?}");
        }
        for file in ["---", "---\n ---\n", "---\n--- x\n", "---\n----\n"] {
            assert_eq!(problem(file.as_bytes()), Problem::UnclosedFrontmatter, "{file:?}");
        }
    }

    #[test]
    fn a_byte_that_is_no_utf_8_is_located() {
        let error = Source::read(b"---\nna\xE9: x\n---\n").expect_err("no UTF-8");
        assert_eq!(error.problem, Problem::NotUtf8);
        assert_eq!(error.position, Some(Position { line: 2, column: 3 }));
    }
}
