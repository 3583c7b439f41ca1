//! The rules of a store path, and the order in which a path reports them (book: Store paths).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most bytes that a store path or a glob pattern may have.
pub const MAX_PATH_BYTES: usize = 1024;

/// A rule that a store path or a glob pattern breaks. Displays as the sentence that ends the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathRule {
    /// The path is the empty string.
    Empty,
    /// The path is longer than [`MAX_PATH_BYTES`].
    TooLong,
    /// The path starts with `/`.
    Absolute,
    /// The path holds a byte below 0x20, or 0x7f.
    Control,
    /// The path holds a backslash.
    Backslash,
    /// Two separators meet, or the path ends in one.
    EmptySegment,
    /// A name is `.` or `..`.
    Traversal,
    /// A name ends in a dot or a space.
    UnsafeSuffix,
    /// A name's base is a device name, or the path holds a colon.
    ReservedName,
    /// Three stars in a row, or two beside other characters of their segment. Only a glob pattern can break this one.
    Wildcard,
}

impl PathRule {
    /// The tag that an error value's `rule` field holds.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::Absolute => "absolute",
            Self::Control => "control",
            Self::Backslash => "backslash",
            Self::EmptySegment => "empty_segment",
            Self::Traversal => "traversal",
            Self::UnsafeSuffix => "unsafe_suffix",
            Self::ReservedName => "reserved_name",
            Self::Wildcard => "wildcard",
        }
    }
}

impl fmt::Display for PathRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "path is empty",
            Self::TooLong => "path is too long",
            Self::Absolute => "path is absolute",
            Self::Control => "path contains a control character",
            Self::Backslash => "path contains a backslash",
            Self::EmptySegment => "path contains an empty segment",
            Self::Traversal => "path contains a traversal segment",
            Self::UnsafeSuffix => "path segment ends in an unsafe character",
            Self::ReservedName => "path contains a reserved device name or a colon",
            Self::Wildcard => "pattern contains invalid wildcard grammar",
        })
    }
}

/// Checks a store path, exactly as it was written, against every rule.
///
/// # Errors
/// The first rule that the path breaks: the whole-path rules first, then each name from left to right.
pub fn check_path(path: &str) -> Result<(), PathRule> {
    if path.is_empty() {
        return Err(PathRule::Empty);
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(PathRule::TooLong);
    }
    if path.starts_with('/') {
        return Err(PathRule::Absolute);
    }
    if has_control(path) {
        return Err(PathRule::Control);
    }
    if path.contains('\\') {
        return Err(PathRule::Backslash);
    }
    if path.contains(':') {
        return Err(PathRule::ReservedName);
    }
    path.split('/').try_for_each(check_name)
}

/// Whether the text holds a control character in the store's sense.
pub(crate) fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte < 0x20 || byte == 0x7f)
}

/// The names of a valid path, or none for `""`, the directory that paths are relative to.
pub(crate) fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

fn check_name(name: &str) -> Result<(), PathRule> {
    if name.is_empty() {
        Err(PathRule::EmptySegment)
    } else if name == "." || name == ".." {
        Err(PathRule::Traversal)
    } else if name.ends_with(['.', ' ']) {
        Err(PathRule::UnsafeSuffix)
    } else if is_device(name) {
        Err(PathRule::ReservedName)
    } else {
        Ok(())
    }
}

/// Whether the text before the name's first dot is a device name, in any letter case.
fn is_device(name: &str) -> bool {
    let base = name.split_once('.').map_or(name, |(base, _)| base);
    if ["con", "prn", "aux", "nul"]
        .iter()
        .any(|device| base.eq_ignore_ascii_case(device))
    {
        return true;
    }
    let Some((port, number)) = base.split_at_checked(3) else {
        return false;
    };
    let mut number = number.chars();
    (port.eq_ignore_ascii_case("com") || port.eq_ignore_ascii_case("lpt"))
        && number
            .next()
            .is_some_and(|digit| digit.is_ascii_digit() || matches!(digit, '¹' | '²' | '³'))
        && number.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(path: &str) -> Option<PathRule> {
        check_path(path).err()
    }

    #[test]
    fn ordinary_paths_pass() {
        for path in [
            "a.txt",
            "src/a.rs",
            ".notes/report.v2.md",
            "..x",
            "...x",
            "a b/c d.md",
            "日本/ñ.md",
            "star*.md",
            "[x]{y}?.md",
            "console.md",
            "nullable.txt",
            "com10.md",
            "com¹0.txt",
            "lpt⁴.txt",
            "lpt.md",
            "com",
            "comx",
        ] {
            assert_eq!(rule(path), None, "{path}");
        }
    }

    #[test]
    fn the_limit_counts_bytes() {
        assert_eq!(rule(&"a".repeat(1024)), None);
        assert_eq!(rule(&"é".repeat(512)), None);
        assert_eq!(rule(&"a".repeat(1025)), Some(PathRule::TooLong));
        assert_eq!(rule(&("é".repeat(512) + "a")), Some(PathRule::TooLong));
    }

    #[test]
    fn each_rule_has_its_paths() {
        let table = [
            ("", PathRule::Empty),
            ("/a", PathRule::Absolute),
            ("a\tb", PathRule::Control),
            ("a\0", PathRule::Control),
            ("a\x1f", PathRule::Control),
            ("a\x7f", PathRule::Control),
            ("a\\b", PathRule::Backslash),
            ("a:b", PathRule::ReservedName),
            ("a//b", PathRule::EmptySegment),
            ("a/", PathRule::EmptySegment),
            (".", PathRule::Traversal),
            ("a/../b", PathRule::Traversal),
            ("a.", PathRule::UnsafeSuffix),
            ("...", PathRule::UnsafeSuffix),
            ("a /b", PathRule::UnsafeSuffix),
            ("aux/x", PathRule::ReservedName),
            ("Nul.tar.gz", PathRule::ReservedName),
            ("d/LPT9.log", PathRule::ReservedName),
            ("com².txt", PathRule::ReservedName),
            ("COM0", PathRule::ReservedName),
        ];
        for (path, expected) in table {
            assert_eq!(rule(path), Some(expected), "{path:?}");
        }
    }

    #[test]
    fn whole_path_rules_come_before_names_and_names_go_left_to_right() {
        assert_eq!(rule(&format!("/{}", "a".repeat(1024))), Some(PathRule::TooLong));
        assert_eq!(rule("/a\tb"), Some(PathRule::Absolute));
        assert_eq!(rule("a\\b\tc"), Some(PathRule::Control));
        assert_eq!(rule("a\\b:c"), Some(PathRule::Backslash));
        assert_eq!(rule("a//b:c"), Some(PathRule::ReservedName));
        assert_eq!(rule("con/../x"), Some(PathRule::ReservedName));
        assert_eq!(rule("../con"), Some(PathRule::Traversal));
        assert_eq!(rule("x /.."), Some(PathRule::UnsafeSuffix));
    }
}
