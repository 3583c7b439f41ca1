//! Heading references: the strings by which Lua names a section (book: Heading references).

use serde::{Deserialize, Serialize};

/// A section's level and name, as Lua writes them: `## Name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadingRef {
    /// How many `#` marks it has, at least 1. No section has more than 6.
    pub level: usize,
    /// The name, trimmed at its ends.
    pub name: String,
}

impl HeadingRef {
    /// Reads a reference. Whitespace around the whole of it and around the name does not count.
    ///
    /// # Errors
    /// `text` is not one or more `#` marks, then whitespace, then a name.
    pub fn parse(text: &str) -> Result<Self, HeadingRefError> {
        let text = text.trim();
        let rest = text.trim_start_matches('#');
        let level = text.len() - rest.len();
        let name = rest.trim_start();
        if level == 0 {
            return Err(HeadingRefError::BareName(text.to_owned()));
        }
        if name.is_empty() {
            return Err(HeadingRefError::NoName(text.to_owned()));
        }
        if name.len() == rest.len() {
            return Err(HeadingRefError::NoWhitespace {
                markers: "#".repeat(level),
                text: text.to_owned(),
            });
        }
        Ok(HeadingRef {
            level,
            name: name.to_owned(),
        })
    }

    /// Whether it names a section with this level and name.
    #[must_use]
    pub fn matches(&self, level: u8, name: &str) -> bool {
        self.level == usize::from(level) && self.name == name
    }
}

/// A malformed heading reference. Each variant holds the reference, trimmed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadingRefError {
    /// It starts with no `#`.
    #[error("section heading must include ### markers, got bare name: {0}")]
    BareName(String),
    /// Nothing follows the marks.
    #[error("section heading has no name: {0}")]
    NoName(String),
    /// The name follows the marks at once.
    #[error("section heading must have whitespace after the {markers} markers: {text}")]
    NoWhitespace {
        /// The marks as written.
        markers: String,
        /// The reference.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (usize, String) {
        let reference = HeadingRef::parse(text).expect(text);
        (reference.level, reference.name)
    }

    fn message(text: &str) -> String {
        HeadingRef::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn marks_whitespace_and_a_name_are_a_reference() {
        assert_eq!(parsed("## Rules"), (2, "Rules".to_owned()));
        assert_eq!(parsed("  ###\t \n Worker one \t"), (3, "Worker one".to_owned()));
        assert_eq!(parsed("# # x"), (1, "# x".to_owned()));
        assert_eq!(parsed("####### far"), (7, "far".to_owned()));
    }

    #[test]
    fn whitespace_inside_the_name_is_kept() {
        assert_eq!(parsed("## a  b").1, "a  b");
    }

    #[test]
    fn a_malformed_reference_says_what_is_wrong() {
        assert_eq!(
            message(" Nums "),
            "section heading must include ### markers, got bare name: Nums"
        );
        assert_eq!(message(""), "section heading must include ### markers, got bare name: ");
        assert_eq!(message("###"), "section heading has no name: ###");
        assert_eq!(message("### \t"), "section heading has no name: ###");
        assert_eq!(
            message("##Nums"),
            "section heading must have whitespace after the ## markers: ##Nums"
        );
    }

    #[test]
    fn level_and_name_match_exactly() {
        let reference = HeadingRef::parse("## Worker").expect("well-formed");
        assert!(reference.matches(2, "Worker"));
        assert!(!reference.matches(3, "Worker"));
        assert!(!reference.matches(2, "worker"));
    }
}
