//! Paths: segments joined by dots, and how messages quote them.

/// The most characters of a path that a message shows.
const QUOTED_CHARS: usize = 80;

/// The trimmed text of a placeholder.
pub(super) struct Path<'a> {
    text: &'a str,
    segments: Vec<&'a str>,
}

impl<'a> Path<'a> {
    pub(super) fn new(inside: &'a str) -> Self {
        let text = inside.trim();
        Self {
            text,
            segments: text.split('.').collect(),
        }
    }

    /// Whether every segment is nonempty and has no white space at its ends.
    pub(super) fn is_well_formed(&self) -> bool {
        self.segments
            .iter()
            .all(|segment| !segment.is_empty() && segment.trim() == *segment)
    }

    /// The first segment, which names the source.
    pub(super) fn root(&self) -> &'a str {
        self.segments[0]
    }

    /// The segments after the first.
    pub(super) fn keys(&self) -> &[&'a str] {
        &self.segments[1..]
    }

    /// The path as a message shows it.
    pub(super) fn quoted(&self) -> String {
        quote(self.text)
    }
}

/// At most the first 80 characters, with control characters escaped.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == QUOTED_CHARS {
            quoted.push_str("...");
            break;
        }
        match character {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\u{{{:04x}}}", u32::from(control))),
            plain => quoted.push(plain),
        }
    }
    quoted
}
