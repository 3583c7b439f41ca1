//! Line ranges and numbered lines (book: Reading line ranges and numbered lines).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The bounds of a ranged read: 1-based and inclusive, each optional. A negative bound counts as 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineBounds {
    /// The first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// The last line. It counts only alongside a start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<i64>,
}

/// What is wrong with a pair of bounds. Displays as the reason that ends the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeProblem {
    /// The start is 0 or negative.
    StartBelowOne,
    /// The start lies within the file, and the end is before it even after clamping.
    EndBeforeStart,
    /// An end without a start.
    StartRequired,
}

impl fmt::Display for RangeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StartBelowOne => "start must be at least 1",
            Self::EndBeforeStart => "end must not be before start",
            Self::StartRequired => "start is required when end is given",
        })
    }
}

impl LineBounds {
    /// Both bounds left out: the whole file.
    pub const WHOLE: Self = Self { start: None, end: None };

    /// The check that needs no file: an end has a start.
    ///
    /// # Errors
    /// [`RangeProblem::StartRequired`].
    pub fn check(self) -> Result<(), RangeProblem> {
        if self.start.is_none() && self.end.is_some() {
            return Err(RangeProblem::StartRequired);
        }
        Ok(())
    }
}

/// The lines of `text` that the bounds select, and the number of the first. Line endings, `\n` or `\r\n`, are taken off.
fn select(text: &str, bounds: LineBounds) -> Result<Option<(usize, Vec<&str>)>, RangeProblem> {
    bounds.check()?;
    let start = bounds.start.unwrap_or(1);
    let start = usize::try_from(start.max(0)).unwrap_or(usize::MAX);
    let Some(skipped) = start.checked_sub(1) else {
        return Err(RangeProblem::StartBelowOne);
    };
    let mut lines = text.lines().skip(skipped).peekable();
    if lines.peek().is_none() {
        return Ok(None);
    }
    let Some(end) = bounds.end else {
        return Ok(Some((start, lines.collect())));
    };
    let end = usize::try_from(end.max(0)).unwrap_or(usize::MAX);
    if end < start {
        return Err(RangeProblem::EndBeforeStart);
    }
    let count = (end - start).saturating_add(1);
    Ok(Some((start, lines.take(count).collect())))
}

/// What `store.read` returns of the file's text: all of it unchanged, or the lines in range joined with `\n`.
pub(crate) fn read(text: String, bounds: LineBounds) -> Result<String, RangeProblem> {
    if bounds == LineBounds::WHOLE {
        return Ok(text);
    }
    Ok(select(&text, bounds)?.map_or_else(String::new, |(_, lines)| lines.join("\n")))
}

/// What `store.read_numbered` returns: each line in range behind its number, right-aligned to the widest one shown.
pub(crate) fn read_numbered(text: &str, bounds: LineBounds) -> Result<String, RangeProblem> {
    use fmt::Write as _;

    let Some((first, lines)) = select(text, bounds)? else {
        return Ok(String::new());
    };
    let last = first + (lines.len() - 1);
    let width = last.to_string().len();
    let prefixed = lines.iter().map(|line| width + 3 + line.len()).sum();
    let mut numbered = String::with_capacity(prefixed);
    for (number, line) in (first..).zip(&lines) {
        if number > first {
            numbered.push('\n');
        }
        write!(numbered, "{number:>width$}| {line}").expect("a string takes any text");
    }
    Ok(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(start: impl Into<Option<i64>>, end: impl Into<Option<i64>>) -> LineBounds {
        LineBounds {
            start: start.into(),
            end: end.into(),
        }
    }

    fn ranged(text: &str, start: impl Into<Option<i64>>, end: impl Into<Option<i64>>) -> Result<String, RangeProblem> {
        read(text.to_owned(), bounds(start, end))
    }

    #[test]
    fn a_whole_read_changes_nothing() {
        assert_eq!(ranged("a\r\nb\n", None, None).unwrap(), "a\r\nb\n");
    }

    #[test]
    fn a_range_is_inclusive_and_drops_line_endings() {
        assert_eq!(ranged("one\ntwo\nthree\n", 1, 2).unwrap(), "one\ntwo");
        assert_eq!(ranged("one\r\ntwo\r\nthree", 2, None).unwrap(), "two\nthree");
        assert_eq!(ranged("one\n\nthree", 2, 2).unwrap(), "");
        assert_eq!(ranged("a\rb\nc", 1, 1).unwrap(), "a\rb");
    }

    #[test]
    fn bounds_past_the_end_clamp_or_read_empty() {
        assert_eq!(ranged("one\ntwo\nthree", 2, 99).unwrap(), "two\nthree");
        assert_eq!(ranged("one\ntwo\nthree", 99, None).unwrap(), "");
        assert_eq!(ranged("one\ntwo\nthree", 5, 2).unwrap(), "");
        assert_eq!(ranged("", 2, 1).unwrap(), "");
        assert_eq!(ranged("one", 1, i64::MAX).unwrap(), "one");
        assert_eq!(ranged("one", i64::MAX, i64::MIN).unwrap(), "");
    }

    #[test]
    fn each_range_problem_has_its_bounds() {
        assert_eq!(ranged("a\nb\nc", 0, None), Err(RangeProblem::StartBelowOne));
        assert_eq!(ranged("", -1, None), Err(RangeProblem::StartBelowOne));
        assert_eq!(ranged("a", i64::MIN, i64::MIN), Err(RangeProblem::StartBelowOne));
        assert_eq!(ranged("a\nb\nc", 3, 2), Err(RangeProblem::EndBeforeStart));
        assert_eq!(ranged("a\nb\nc", 1, -5), Err(RangeProblem::EndBeforeStart));
        assert_eq!(ranged("a", None, 1), Err(RangeProblem::StartRequired));
    }

    #[test]
    fn numbers_align_to_the_widest_shown() {
        let text = (1..=100).map(|n| format!("line{n}")).collect::<Vec<_>>().join("\n");
        assert_eq!(
            read_numbered(&text, bounds(99, 100)).unwrap(),
            " 99| line99\n100| line100"
        );
        assert_eq!(read_numbered(&text, bounds(8, 9)).unwrap(), "8| line8\n9| line9");
        assert!(
            read_numbered(&text, LineBounds::WHOLE)
                .unwrap()
                .starts_with("  1| line1\n  2| line2\n")
        );
        assert_eq!(read_numbered("a\nb", bounds(1, 1000)).unwrap(), "1| a\n2| b");
    }

    #[test]
    fn a_final_newline_adds_no_numbered_line() {
        assert_eq!(
            read_numbered("first\r\nsecond\n", LineBounds::WHOLE).unwrap(),
            "1| first\n2| second"
        );
        assert_eq!(read_numbered("\n", LineBounds::WHOLE).unwrap(), "1| ");
        assert_eq!(read_numbered("", LineBounds::WHOLE).unwrap(), "");
    }
}
