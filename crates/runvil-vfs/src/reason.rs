//! The tags that name store failures (book: Branching on the store reason).

use std::{fmt, str::FromStr};

macro_rules! store_reasons {
    ($($(#[doc = $doc:literal])* $variant:ident = $tag:literal,)+) => {
        /// The tag of a store failure, for prompt code to branch on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum StoreReason {
            $($(#[doc = $doc])* $variant,)+
        }

        impl StoreReason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The tag that an error value's `reason` field holds.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $tag,)+
                }
            }
        }
    };
}

store_reasons! {
    /// No file is there.
    NotFound = "not_found",
    /// Something is there already.
    AlreadyExists = "already_exists",
    /// A file is in the way.
    NotADirectory = "not_a_directory",
    /// A directory is in the way.
    IsADirectory = "is_a_directory",
    /// The directory holds entries.
    DirectoryNotEmpty = "directory_not_empty",
    /// Contents or a name is not UTF-8.
    NotUtf8 = "not_utf8",
    /// The path or pattern breaks a rule.
    InvalidPath = "invalid_path",
    /// The line bounds cannot be honored.
    InvalidRange = "invalid_range",
    /// The anchor does not occur exactly once.
    Anchor = "anchor",
    /// The policy denies the call.
    PermissionDenied = "permission_denied",
    /// The policy wants the call approved.
    ApprovalRequired = "approval_required",
    /// The access has ended.
    ScopeEnded = "scope_ended",
    /// The store takes no changes.
    ReadOnly = "read_only",
    /// The path leaves the mounted directory.
    OutsideRoot = "outside_root",
    /// A mounted root cannot be changed.
    RootProtected = "root_protected",
    /// The run has no store.
    NoStore = "no_store",
    /// Two mounts are involved.
    CrossMount = "cross_mount",
    /// The operating system failed.
    Io = "io",
    /// The store cannot serve the call.
    Unsupported = "unsupported",
    /// A claim is in the way.
    Conflict = "conflict",
    /// The backend failed.
    Backend = "backend",
}

impl fmt::Display for StoreReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is no store reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a store reason")]
pub struct UnknownReason;

impl FromStr for StoreReason {
    type Err = UnknownReason;

    fn from_str(tag: &str) -> Result<Self, UnknownReason> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.as_str() == tag)
            .ok_or(UnknownReason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_tag() {
        assert_eq!(StoreReason::ALL.len(), 21);
        for reason in StoreReason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(*reason));
        }
        assert_eq!("gone".parse::<StoreReason>(), Err(UnknownReason));
    }
}
