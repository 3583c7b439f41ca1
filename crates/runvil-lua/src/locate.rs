//! From Lua's own positions to lines of the prompt file.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The blocks of one VM by their first prompt line.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    by_first_line: BTreeMap<u32, Arc<str>>,
}

/// A text whose markers were rewritten.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) text: String,
    /// `{label}:{line}` of the first marker that was rewritten.
    pub(crate) first: Option<String>,
}

/// How Lua's marker for a block begins, up to the block's first prompt line.
const MARKER: &str = "[string \"line ";

impl Labels {
    pub(crate) fn register(&mut self, first_line: u32, label: Arc<str>) {
        self.by_first_line.insert(first_line, label);
    }

    /// Rewrites each `[string "line N"]:L` of a known block to `{label}:{N + L - 1}`. Everything else stays,
    /// lines that are already absolute included.
    pub(crate) fn locate(&self, text: &str) -> Located {
        let mut out = String::with_capacity(text.len());
        let mut first = None;
        let mut rest = text;
        while let Some(at) = rest.find(MARKER) {
            let (before, from_marker) = rest.split_at(at);
            out.push_str(before);
            if let Some((location, after)) = self.marker(from_marker) {
                out.push_str(&location);
                first.get_or_insert(location);
                rest = after;
            } else {
                out.push_str(MARKER);
                rest = &from_marker[MARKER.len()..];
            }
        }
        out.push_str(rest);
        Located { text: out, first }
    }

    /// Reads one marker at the start of `text`: its location, and what follows it.
    fn marker<'t>(&self, text: &'t str) -> Option<(String, &'t str)> {
        let (first_line, rest) = number(text.strip_prefix(MARKER)?)?;
        let (line, rest) = number(rest.strip_prefix("\"]:")?)?;
        let label = self.by_first_line.get(&first_line)?;
        let absolute = u64::from(first_line) + u64::from(line) - 1;
        Some((format!("{label}:{absolute}"), rest))
    }
}

/// Splits a positive decimal number off the start of `text`.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let value: u32 = text[..digits].parse().ok()?;
    (value > 0).then_some((value, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        let mut labels = Labels::default();
        labels.register(12, "section `Check` prologue".into());
        labels.register(50, "section `lib` prologue".into());
        labels
    }

    #[test]
    fn a_marker_becomes_label_and_absolute_line() {
        let located = labels().locate("[string \"line 12\"]:3: wrong");
        assert_eq!(located.text, "section `Check` prologue:14: wrong");
        assert_eq!(located.first.as_deref(), Some("section `Check` prologue:14"));
    }

    #[test]
    fn each_marker_maps_by_its_own_block() {
        let located =
            labels().locate("[string \"line 50\"]:2: in\n\t[string \"line 12\"]:1: in <[string \"line 12\"]:1>");
        assert_eq!(
            located.text,
            "section `lib` prologue:51: in\n\tsection `Check` prologue:12: in <section `Check` prologue:12>"
        );
    }

    #[test]
    fn unknown_blocks_and_absolute_lines_stay() {
        for text in [
            "[string \"line 7\"]:2: other",
            "section `lib` prologue:51: deep",
            "[string \"line \"]:1:",
            "[string \"line 12\"] no line",
            "[string \"line 99999999999999\"]:1: huge",
            "[string \"line 12\"]:0: zero",
            "boom",
        ] {
            let located = labels().locate(text);
            assert_eq!(located.text, text);
            assert_eq!(located.first, None);
        }
    }
}
