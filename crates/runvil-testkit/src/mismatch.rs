//! One difference between what a case expects and what came out.

use std::fmt;

use serde_json::Value;

/// How many characters of a value a line of the report shows.
const SHOWN: usize = 240;

/// One expectation that is not met.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The expectation's key, with an index where it is one of several, such as `requests[1].model`.
    pub what: String,
    /// What was asked of the actual value.
    pub want: Want,
    /// The actual value.
    pub actual: Value,
}

/// What an expectation asks of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// To be this.
    Be(Value),
    /// To contain this text.
    Contain(String),
    /// Not to contain this text.
    Lack(String),
    /// To match this regular expression as a whole.
    Match(String),
    /// To hold this, in order.
    Include(Value),
}

impl Mismatch {
    /// A value that is not the expected one.
    pub fn differs(what: impl Into<String>, expected: impl Into<Value>, actual: impl Into<Value>) -> Self {
        Self {
            what: what.into(),
            want: Want::Be(expected.into()),
            actual: actual.into(),
        }
    }

    /// A value that falls short of `want`.
    pub fn falls_short(what: impl Into<String>, want: Want, actual: impl Into<Value>) -> Self {
        Self {
            what: what.into(),
            want,
            actual: actual.into(),
        }
    }

    /// A line-by-line comparison, where both values are texts of several lines.
    #[must_use]
    pub fn diff(&self) -> Option<String> {
        let (Want::Be(expected), actual) = (&self.want, &self.actual) else {
            return None;
        };
        let (expected, actual) = (lines(expected)?, lines(actual)?);
        if !expected.contains('\n') && !actual.contains('\n') {
            return None;
        }
        let diff = similar::TextDiff::from_lines(&expected, &actual);
        Some(
            diff.unified_diff()
                .context_radius(3)
                .header("expected", "actual")
                .to_string(),
        )
    }
}

/// The value as text to compare by lines: a string as it is, a list or a map as indented JSON.
fn lines(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value).ok(),
        _ => None,
    }
}

/// One line: the key, what was expected, and what came.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected ", self.what)?;
        let around = match &self.want {
            Want::Be(expected) => {
                let at = first_difference(expected, &self.actual);
                f.write_str(&shown(expected, at))?;
                at
            }
            Want::Contain(text) => write!(f, "to contain {}", shown_text(text)).map(|()| 0)?,
            Want::Lack(text) => {
                write!(f, "not to contain {}", shown_text(text))?;
                self.actual.as_str().and_then(|actual| actual.find(text)).unwrap_or(0)
            }
            Want::Match(pattern) => write!(f, "to match {}", shown_text(pattern)).map(|()| 0)?,
            Want::Include(part) => write!(f, "to include {}", shown(part, 0)).map(|()| 0)?,
        };
        write!(f, ", got {}", shown(&self.actual, around))
    }
}

/// The byte where two texts part, so that long ones can be shown from there.
fn first_difference(expected: &Value, actual: &Value) -> usize {
    match (expected, actual) {
        (Value::String(expected), Value::String(actual)) => {
            expected.bytes().zip(actual.bytes()).take_while(|(a, b)| a == b).count()
        }
        _ => 0,
    }
}

fn shown_text(text: &str) -> String {
    Value::from(text).to_string()
}

/// The value as JSON on one line. A long text is cut to what lies around the byte `around`.
fn shown(value: &Value, around: usize) -> String {
    match value {
        Value::String(text) if text.chars().count() > SHOWN => excerpt(text, around),
        Value::String(text) => shown_text(text),
        other => {
            let json = other.to_string();
            match json.char_indices().nth(SHOWN * 4) {
                Some((cut, _)) => format!("{}…", &json[..cut]),
                None => json,
            }
        }
    }
}

fn excerpt(text: &str, around: usize) -> String {
    let starts = text.char_indices().map(|(at, _)| at);
    let before = starts.take_while(|at| *at + SHOWN / 4 < around).last().unwrap_or(0);
    let from = if before == 0 { 0 } else { before };
    let rest = &text[from..];
    let until = rest.char_indices().nth(SHOWN).map_or(rest.len(), |(at, _)| at);
    let (head, tail) = (
        if from > 0 { "…" } else { "" },
        if until < rest.len() { "…" } else { "" },
    );
    format!("{head}{}{tail} ({} bytes)", shown_text(&rest[..until]), text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_is_one_line() {
        let mismatch = Mismatch::differs("result", "a\nb", "a\nc");
        assert_eq!(mismatch.to_string(), r#"result: expected "a\nb", got "a\nc""#);
    }

    #[test]
    fn texts_of_several_lines_are_compared_line_by_line() {
        let diff = Mismatch::differs("result", "a\nb\n", "a\nc\n").diff().expect("a diff");
        assert!(diff.contains("-b\n+c\n"), "{diff}");
        assert_eq!(Mismatch::differs("result", "b", "c").diff(), None);
    }

    #[test]
    fn long_texts_are_shown_around_their_first_difference() {
        let (long, other) = ("é".repeat(1000) + "x", "é".repeat(1000) + "y");
        let line = Mismatch::differs("result", long, other).to_string();
        assert!(line.contains("éx\" (2001 bytes), got "), "{line}");
        assert!(line.len() < 600, "{line}");
    }
}
