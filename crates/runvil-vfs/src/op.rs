//! The eight store operations as data, and their replies (book: The `store` table).

use serde::{Deserialize, Serialize};

use crate::{
    failure::{ClaimKind, PathSubject, StoreFailure},
    glob::Glob,
    lines::LineBounds,
    path::check_path,
    policy::PolicyOp,
};

/// One store operation, as a prompt's call asks for it. Paths and patterns are as the prompt wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum StoreOp {
    /// Creates a file, or replaces its whole text.
    Write {
        /// The file.
        path: String,
        /// Its new text.
        contents: String,
    },
    /// Adds text to a file's end, creating the file if it is absent.
    Append {
        /// The file.
        path: String,
        /// The text to add.
        contents: String,
    },
    /// Reads a file whole, or some of its lines.
    Read {
        /// The file.
        path: String,
        /// The lines.
        #[serde(flatten)]
        lines: LineBounds,
    },
    /// Reads a file's lines, each behind its number.
    ReadNumbered {
        /// The file.
        path: String,
        /// The lines.
        #[serde(flatten)]
        lines: LineBounds,
    },
    /// Replaces the single occurrence of an anchor.
    StrReplace {
        /// The file.
        path: String,
        /// The anchor.
        old: String,
        /// What takes its place.
        new: String,
    },
    /// Removes a file or an empty directory; removing what is absent succeeds.
    Delete {
        /// The path.
        path: String,
    },
    /// Lists the paths that match a pattern.
    Glob {
        /// The pattern.
        pattern: String,
    },
    /// Whether anything is at a path.
    Exists {
        /// The path.
        path: String,
    },
}

/// Which of the eight operations it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpName {
    /// `store.write`.
    Write,
    /// `store.append`.
    Append,
    /// `store.read`.
    Read,
    /// `store.read_numbered`.
    ReadNumbered,
    /// `store.str_replace`.
    StrReplace,
    /// `store.delete`.
    Delete,
    /// `store.glob`.
    Glob,
    /// `store.exists`.
    Exists,
}

/// What an operation that landed returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", content = "value", rename_all = "snake_case")]
pub enum StoreReply {
    /// A change was made: nil.
    Done,
    /// The text that a read returns.
    Text(String),
    /// The matches of a glob, in bytewise order.
    Paths(Vec<String>),
    /// Whether something is there.
    Exists(bool),
}

impl OpName {
    /// The name of the call in the `store` table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Append => "append",
            Self::Read => "read",
            Self::ReadNumbered => "read_numbered",
            Self::StrReplace => "str_replace",
            Self::Delete => "delete",
            Self::Glob => "glob",
            Self::Exists => "exists",
        }
    }

    /// The kind of claim that the operation takes.
    #[must_use]
    pub fn claim(self) -> ClaimKind {
        match self {
            Self::Write | Self::Append | Self::StrReplace | Self::Delete => ClaimKind::Write,
            Self::Read | Self::ReadNumbered | Self::Glob | Self::Exists => ClaimKind::Read,
        }
    }

    /// What a policy is asked about.
    #[must_use]
    pub fn policy_op(self) -> PolicyOp {
        match self {
            Self::Write | Self::StrReplace => PolicyOp::Write,
            Self::Append => PolicyOp::Append,
            Self::Delete => PolicyOp::Delete,
            Self::Read | Self::ReadNumbered => PolicyOp::Read,
            Self::Glob => PolicyOp::Glob,
            Self::Exists => PolicyOp::Exists,
        }
    }
}

impl StoreOp {
    /// Which operation it is.
    #[must_use]
    pub fn name(&self) -> OpName {
        match self {
            Self::Write { .. } => OpName::Write,
            Self::Append { .. } => OpName::Append,
            Self::Read { .. } => OpName::Read,
            Self::ReadNumbered { .. } => OpName::ReadNumbered,
            Self::StrReplace { .. } => OpName::StrReplace,
            Self::Delete { .. } => OpName::Delete,
            Self::Glob { .. } => OpName::Glob,
            Self::Exists { .. } => OpName::Exists,
        }
    }

    /// The path or pattern, as written.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. }
            | Self::Append { path, .. }
            | Self::Read { path, .. }
            | Self::ReadNumbered { path, .. }
            | Self::StrReplace { path, .. }
            | Self::Delete { path }
            | Self::Exists { path }
            | Self::Glob { pattern: path } => path,
        }
    }

    pub(crate) fn path_mut(&mut self) -> &mut String {
        match self {
            Self::Write { path, .. }
            | Self::Append { path, .. }
            | Self::Read { path, .. }
            | Self::ReadNumbered { path, .. }
            | Self::StrReplace { path, .. }
            | Self::Delete { path }
            | Self::Exists { path }
            | Self::Glob { pattern: path } => path,
        }
    }

    /// The checks that need no store: the path or pattern rules, then an end without a start and an empty anchor.
    ///
    /// Performing the operation makes them too, ahead of the policy.
    ///
    /// # Errors
    /// The first failure in that order.
    pub fn check(&self) -> Result<(), StoreFailure> {
        self.check_as(self.path(), self.path()).map(drop)
    }

    /// [`StoreOp::check`] with `path` in place of the operation's own, and failures that spell it as `named`. Returns the
    /// parsed pattern of a glob.
    pub(crate) fn check_as(&self, path: &str, named: &str) -> Result<Option<Glob>, StoreFailure> {
        let (checked, subject) = match self {
            Self::Glob { .. } => (Glob::parse(path).map(Some), PathSubject::GlobPattern),
            _ => (check_path(path).map(|()| None), PathSubject::Path),
        };
        let named = || named.to_owned();
        let glob = checked.map_err(|rule| StoreFailure::InvalidPath {
            path: named(),
            rule,
            subject,
        })?;
        match self {
            Self::Read { lines, .. } | Self::ReadNumbered { lines, .. } => {
                lines
                    .check()
                    .map_err(|problem| StoreFailure::InvalidRange { path: named(), problem })?;
            }
            Self::StrReplace { old, .. } if old.is_empty() => {
                return Err(StoreFailure::Anchor {
                    path: named(),
                    anchor: String::new(),
                    count: 0,
                });
            }
            _ => {}
        }
        Ok(glob)
    }
}

/// The text with the single occurrence of `old` replaced.
///
/// # Errors
/// How often `old` occurs, counted without overlap, when that is not once.
pub(crate) fn replace_once(text: &str, old: &str, new: &str) -> Result<String, u64> {
    let mut matches = text.match_indices(old);
    let (Some((at, _)), None) = (matches.next(), matches.next()) else {
        return Err(text.matches(old).count().try_into().unwrap_or(u64::MAX));
    };
    let mut edited = String::with_capacity(text.len() - old.len() + new.len());
    edited.push_str(&text[..at]);
    edited.push_str(new);
    edited.push_str(&text[at + old.len()..]);
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::StoreReason;

    fn reason(op: &StoreOp) -> Option<StoreReason> {
        op.check().err().map(|failure| failure.reason())
    }

    fn path() -> String {
        "a".to_owned()
    }

    #[test]
    fn the_path_is_checked_before_the_anchor_and_the_range() {
        let edit = |path: &str| StoreOp::StrReplace {
            path: path.into(),
            old: String::new(),
            new: String::new(),
        };
        assert_eq!(reason(&edit("a//b")), Some(StoreReason::InvalidPath));
        assert_eq!(reason(&edit("a")), Some(StoreReason::Anchor));
        let read = |path: &str| StoreOp::Read {
            path: path.into(),
            lines: LineBounds {
                start: None,
                end: Some(1),
            },
        };
        assert_eq!(reason(&read("a/")), Some(StoreReason::InvalidPath));
        assert_eq!(reason(&read("a")), Some(StoreReason::InvalidRange));
    }

    #[test]
    fn a_start_below_one_is_left_to_the_read() {
        let lines = LineBounds {
            start: Some(0),
            end: None,
        };
        assert_eq!(reason(&StoreOp::ReadNumbered { path: path(), lines }), None);
    }

    #[test]
    fn an_anchor_is_replaced_only_when_it_occurs_once() {
        assert_eq!(
            replace_once("café résumé café", "résumé", "CV").unwrap(),
            "café CV café"
        );
        assert_eq!(replace_once("all", "all", "").unwrap(), "");
        assert_eq!(replace_once("x", "x", "xxx").unwrap(), "xxx");
        assert_eq!(replace_once("aaaa", "aa", "b"), Err(2));
        assert_eq!(replace_once("", "a", "b"), Err(0));
    }

    #[test]
    fn operations_and_replies_read_back_from_their_data() {
        let read = StoreOp::Read {
            path: path(),
            lines: LineBounds {
                start: Some(2),
                end: None,
            },
        };
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(text, r#"{"op":"read","path":"a","start":2}"#);
        assert_eq!(serde_json::from_str::<StoreOp>(&text).unwrap(), read);
        for reply in [
            StoreReply::Done,
            StoreReply::Text(path()),
            StoreReply::Paths(vec![path()]),
            StoreReply::Exists(true),
        ] {
            let text = serde_json::to_string(&reply).unwrap();
            assert_eq!(serde_json::from_str::<StoreReply>(&text).unwrap(), reply);
        }
    }
}
