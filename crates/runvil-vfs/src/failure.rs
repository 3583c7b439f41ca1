//! How a store call fails: every reason, its fields and its message (book: When a store call fails).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{lines::RangeProblem, path::PathRule, reason::StoreReason};

/// Why a store operation failed. Displays as the message that a prompt and a model read.
///
/// Paths are spelled as the failing call named them, relative to the store root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum StoreFailure {
    /// Nothing is at the path, and the call needs a file there.
    #[error("file not found in store: {path}")]
    NotFound {
        /// The path.
        path: String,
    },
    /// The store refuses to create a path that is there already.
    #[error("file already exists in store: {path}")]
    AlreadyExists {
        /// The path.
        path: String,
    },
    /// A file sits where a directory is needed.
    #[error("not a directory in store: {path}")]
    NotADirectory {
        /// The file in the way.
        path: String,
    },
    /// A directory sits where a file is needed.
    #[error("is a directory in store: {path}")]
    IsADirectory {
        /// The path.
        path: String,
    },
    /// A delete of a directory that holds entries.
    #[error("directory not empty in store: {path}")]
    DirectoryNotEmpty {
        /// The path.
        path: String,
    },
    /// A file's contents, or a name in a real directory, is not UTF-8.
    #[error("file in store is not UTF-8 after byte {valid_up_to}: {path}")]
    NotUtf8 {
        /// The file, or the directory that holds the bad name.
        path: String,
        /// The length in bytes of the longest valid prefix of the contents or the name.
        valid_up_to: u64,
    },
    /// The path or the pattern breaks a rule.
    #[error("invalid {subject} {path:?}: {rule}")]
    InvalidPath {
        /// The path or the pattern, as passed.
        path: String,
        /// The first rule that it breaks.
        rule: PathRule,
        /// Which of the two it is.
        subject: PathSubject,
    },
    /// The line bounds cannot be honored.
    #[error("invalid line range for {path}: {problem}")]
    InvalidRange {
        /// The path.
        path: String,
        /// What is wrong with them.
        problem: RangeProblem,
    },
    /// The anchor of an edit does not occur exactly once.
    #[error("{}", AnchorMessage { path, anchor, count: *count })]
    Anchor {
        /// The path.
        path: String,
        /// The anchor, as passed.
        anchor: String,
        /// How often it occurs. An empty anchor counts 0.
        count: u64,
    },
    /// The policy denies the call.
    #[error("permission denied for store path {path}: {why}")]
    PermissionDenied {
        /// The path.
        path: String,
        /// The policy's own text.
        why: String,
    },
    /// The policy wants the call approved.
    #[error("store path {path} needs approval, which this run cannot give: {why}")]
    ApprovalRequired {
        /// The path.
        path: String,
        /// The policy's own text.
        why: String,
    },
    /// The access that the call was made through has ended.
    #[error("store access has ended: {path}")]
    ScopeEnded {
        /// The path.
        path: String,
    },
    /// A change reached a read-only store.
    #[error("store path is read-only: {path}")]
    ReadOnly {
        /// The path.
        path: String,
    },
    /// The path resolves outside the real directory that serves it.
    #[error("store path {path} is outside the mounted root: {detail}")]
    OutsideRoot {
        /// The path.
        path: String,
        /// How it gets out.
        detail: String,
    },
    /// A change of a mount's own root.
    #[error("store path is a mounted root, which cannot be changed: {path}")]
    RootProtected {
        /// The path.
        path: String,
    },
    /// The run has no store.
    #[error("this run declares no store, so no store operation can run")]
    NoStore,
    /// The operation would span two mounts.
    #[error("store operation on {path} crosses mounts: {detail}")]
    CrossMount {
        /// The path.
        path: String,
        /// The store's own text.
        detail: String,
    },
    /// The operating system failed the operation.
    #[error("store I/O failure on {path}: {message}")]
    Io {
        /// The path.
        path: String,
        /// The system's error text, without its category and number.
        message: String,
    },
    /// The store cannot serve such a call.
    #[error("unsupported store operation on {path}: {detail}")]
    Unsupported {
        /// The path.
        path: String,
        /// The store's own text.
        detail: String,
    },
    /// The access meets a claim that no fork or join orders it against. It ends the run and is never raised at the call.
    #[error(
        "store determinism violation: {claim} on {path} by {identity} conflicts with a {other_claim} claim by {other_identity}"
    )]
    Conflict {
        /// The path or pattern that the detecting access named.
        path: String,
        /// The claim of the detecting access.
        claim: ClaimKind,
        /// Who made it, as `ExecId(...)`.
        identity: String,
        /// The earlier claim.
        other_claim: ClaimKind,
        /// Who made that one.
        other_identity: String,
    },
    /// The storage behind the store failed.
    #[error("store backend failure: {message}")]
    Backend {
        /// The backend's own text.
        message: String,
    },
    /// Setting up store access failed: for the run as it starts, or for an identity that forks.
    #[error("store operation failed: {cause}")]
    Setup {
        /// The storage layer's failure.
        cause: Box<StoreFailure>,
    },
}

/// What an invalid path was meant to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathSubject {
    /// A store path.
    Path,
    /// A glob pattern.
    GlobPattern,
}

impl fmt::Display for PathSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Path => "path",
            Self::GlobPattern => "glob pattern",
        })
    }
}

/// The two kinds of claim, as a conflict names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// Reads, existence checks and globs.
    Read,
    /// Writes, appends, edits and deletes.
    Write,
}

impl fmt::Display for ClaimKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// The three messages of a refused edit.
struct AnchorMessage<'a> {
    path: &'a str,
    anchor: &'a str,
    count: u64,
}

impl fmt::Display for AnchorMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, anchor, count } = self;
        match (anchor.is_empty(), count) {
            (true, _) => write!(f, "str_replace requires a non-empty anchor: {path}"),
            (false, 0) => write!(f, "anchor {anchor:?} was not found in {path}, expected exactly one"),
            (false, _) => write!(
                f,
                "anchor {anchor:?} occurs {count} times in {path}, expected exactly one; \
                 include more surrounding text so it matches once"
            ),
        }
    }
}

/// A value of an error value's field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// A string.
    Text(String),
    /// An integer, at most the largest that Lua has.
    Count(i64),
}

impl StoreFailure {
    /// The failure's tag. A refused setup has its cause's.
    #[must_use]
    pub fn reason(&self) -> StoreReason {
        match self {
            Self::NotFound { .. } => StoreReason::NotFound,
            Self::AlreadyExists { .. } => StoreReason::AlreadyExists,
            Self::NotADirectory { .. } => StoreReason::NotADirectory,
            Self::IsADirectory { .. } => StoreReason::IsADirectory,
            Self::DirectoryNotEmpty { .. } => StoreReason::DirectoryNotEmpty,
            Self::NotUtf8 { .. } => StoreReason::NotUtf8,
            Self::InvalidPath { .. } => StoreReason::InvalidPath,
            Self::InvalidRange { .. } => StoreReason::InvalidRange,
            Self::Anchor { .. } => StoreReason::Anchor,
            Self::PermissionDenied { .. } => StoreReason::PermissionDenied,
            Self::ApprovalRequired { .. } => StoreReason::ApprovalRequired,
            Self::ScopeEnded { .. } => StoreReason::ScopeEnded,
            Self::ReadOnly { .. } => StoreReason::ReadOnly,
            Self::OutsideRoot { .. } => StoreReason::OutsideRoot,
            Self::RootProtected { .. } => StoreReason::RootProtected,
            Self::NoStore => StoreReason::NoStore,
            Self::CrossMount { .. } => StoreReason::CrossMount,
            Self::Io { .. } => StoreReason::Io,
            Self::Unsupported { .. } => StoreReason::Unsupported,
            Self::Conflict { .. } => StoreReason::Conflict,
            Self::Backend { .. } => StoreReason::Backend,
            Self::Setup { cause } => cause.reason(),
        }
    }

    /// Whether this is a claims conflict, which ends the run as `Determinism` and never reaches Lua.
    #[must_use]
    pub fn is_determinism(&self) -> bool {
        self.reason() == StoreReason::Conflict
    }

    /// The path or pattern that the failure names.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::NotFound { path }
            | Self::AlreadyExists { path }
            | Self::NotADirectory { path }
            | Self::IsADirectory { path }
            | Self::DirectoryNotEmpty { path }
            | Self::NotUtf8 { path, .. }
            | Self::InvalidPath { path, .. }
            | Self::InvalidRange { path, .. }
            | Self::Anchor { path, .. }
            | Self::PermissionDenied { path, .. }
            | Self::ApprovalRequired { path, .. }
            | Self::ScopeEnded { path }
            | Self::ReadOnly { path }
            | Self::OutsideRoot { path, .. }
            | Self::RootProtected { path }
            | Self::CrossMount { path, .. }
            | Self::Io { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Conflict { path, .. } => Some(path),
            Self::NoStore | Self::Backend { .. } => None,
            Self::Setup { cause } => cause.path(),
        }
    }

    /// The fields of the error value beside its kind and message, in a fixed order.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, FieldValue)> {
        let text = |text: &str| FieldValue::Text(text.to_owned());
        let count = |count: u64| FieldValue::Count(i64::try_from(count).unwrap_or(i64::MAX));
        let mut fields = vec![("reason", text(self.reason().as_str()))];
        fields.extend(self.path().map(|path| ("path", text(path))));
        match self {
            Self::InvalidPath { rule, .. } => fields.push(("rule", text(rule.as_str()))),
            Self::NotUtf8 { valid_up_to, .. } => fields.push(("valid_up_to", count(*valid_up_to))),
            Self::Anchor {
                anchor, count: times, ..
            } => {
                fields.extend([("anchor", text(anchor)), ("count", count(*times))]);
            }
            _ => {}
        }
        fields
    }

    /// This failure as that of setting up store access. A run that declares no store says so in its own words.
    #[must_use]
    pub fn in_setup(self) -> Self {
        match self {
            Self::NoStore | Self::Setup { .. } => self,
            cause => Self::Setup { cause: Box::new(cause) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d() -> String {
        "d".to_owned()
    }

    fn samples() -> Vec<(StoreFailure, &'static str)> {
        use StoreFailure as F;
        vec![
            (F::NotFound { path: d() }, "file not found in store: d"),
            (F::AlreadyExists { path: d() }, "file already exists in store: d"),
            (F::NotADirectory { path: d() }, "not a directory in store: d"),
            (F::IsADirectory { path: d() }, "is a directory in store: d"),
            (F::DirectoryNotEmpty { path: d() }, "directory not empty in store: d"),
            (
                F::NotUtf8 {
                    path: "a.bin".into(),
                    valid_up_to: 4,
                },
                "file in store is not UTF-8 after byte 4: a.bin",
            ),
            (
                F::InvalidPath {
                    path: "a\\\tb".into(),
                    rule: PathRule::Control,
                    subject: PathSubject::Path,
                },
                r#"invalid path "a\\\tb": path contains a control character"#,
            ),
            (
                F::InvalidPath {
                    path: "a**b".into(),
                    rule: PathRule::Wildcard,
                    subject: PathSubject::GlobPattern,
                },
                r#"invalid glob pattern "a**b": pattern contains invalid wildcard grammar"#,
            ),
            (
                F::InvalidRange {
                    path: d(),
                    problem: RangeProblem::StartBelowOne,
                },
                "invalid line range for d: start must be at least 1",
            ),
            (
                F::Anchor {
                    path: d(),
                    anchor: String::new(),
                    count: 0,
                },
                "str_replace requires a non-empty anchor: d",
            ),
            (
                F::Anchor {
                    path: d(),
                    anchor: "a\nb".into(),
                    count: 0,
                },
                r#"anchor "a\nb" was not found in d, expected exactly one"#,
            ),
            (
                F::Anchor {
                    path: d(),
                    anchor: "na".into(),
                    count: 3,
                },
                "anchor \"na\" occurs 3 times in d, expected exactly one; \
                 include more surrounding text so it matches once",
            ),
            (
                F::PermissionDenied {
                    path: d(),
                    why: "read-only mount".into(),
                },
                "permission denied for store path d: read-only mount",
            ),
            (
                F::ApprovalRequired {
                    path: d(),
                    why: "ask first".into(),
                },
                "store path d needs approval, which this run cannot give: ask first",
            ),
            (F::ScopeEnded { path: d() }, "store access has ended: d"),
            (F::ReadOnly { path: d() }, "store path is read-only: d"),
            (
                F::OutsideRoot {
                    path: d(),
                    detail: "d escapes the mounted root".into(),
                },
                "store path d is outside the mounted root: d escapes the mounted root",
            ),
            (
                F::RootProtected { path: d() },
                "store path is a mounted root, which cannot be changed: d",
            ),
            (F::NoStore, "this run declares no store, so no store operation can run"),
            (
                F::CrossMount {
                    path: d(),
                    detail: "to e".into(),
                },
                "store operation on d crosses mounts: to e",
            ),
            (
                F::Io {
                    path: d(),
                    message: "access is denied".into(),
                },
                "store I/O failure on d: access is denied",
            ),
            (
                F::Unsupported {
                    path: d(),
                    detail: "no rename".into(),
                },
                "unsupported store operation on d: no rename",
            ),
            (
                F::Conflict {
                    path: d(),
                    claim: ClaimKind::Read,
                    identity: "ExecId(0.1)".into(),
                    other_claim: ClaimKind::Write,
                    other_identity: "ExecId(0.0)".into(),
                },
                "store determinism violation: read on d by ExecId(0.1) conflicts with a write claim by ExecId(0.0)",
            ),
            (
                F::Backend {
                    message: "disk gone".into(),
                },
                "store backend failure: disk gone",
            ),
            (
                F::Backend {
                    message: "disk gone".into(),
                }
                .in_setup(),
                "store operation failed: store backend failure: disk gone",
            ),
        ]
    }

    #[test]
    fn every_failure_has_its_message() {
        for (failure, message) in samples() {
            assert_eq!(failure.to_string(), message);
        }
    }

    #[test]
    fn every_reason_has_a_failure() {
        for reason in StoreReason::ALL {
            assert!(
                samples().iter().any(|(failure, _)| failure.reason() == *reason),
                "{reason}"
            );
        }
    }

    #[test]
    fn fields_are_those_of_the_reason() {
        for (failure, _) in samples() {
            let names: Vec<_> = failure.fields().into_iter().map(|(name, _)| name).collect();
            let expected: &[&str] = match failure.reason() {
                StoreReason::NoStore | StoreReason::Backend => &["reason"],
                StoreReason::InvalidPath => &["reason", "path", "rule"],
                StoreReason::NotUtf8 => &["reason", "path", "valid_up_to"],
                StoreReason::Anchor => &["reason", "path", "anchor", "count"],
                _ => &["reason", "path"],
            };
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn counts_stop_at_the_largest_lua_integer() {
        let failure = StoreFailure::NotUtf8 {
            path: d(),
            valid_up_to: u64::MAX,
        };
        assert!(failure.fields().contains(&("valid_up_to", FieldValue::Count(i64::MAX))));
    }

    #[test]
    fn a_run_without_a_store_says_so_in_its_own_words() {
        assert_eq!(StoreFailure::NoStore.in_setup(), StoreFailure::NoStore);
    }

    #[test]
    fn failures_read_back_from_their_data() {
        for (failure, _) in samples() {
            let text = serde_json::to_string(&failure).unwrap();
            assert_eq!(serde_json::from_str::<StoreFailure>(&text).unwrap(), failure);
        }
    }
}
