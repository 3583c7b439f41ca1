//! What a run may do with its files, as the Host rules it (book: Store policies, Storage modes).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of access that a policy rules on. Displays as the name that a mode's refusal starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PolicyOp {
    /// A whole write, or an edit.
    Write,
    /// An append.
    Append,
    /// A delete.
    Delete,
    /// A read.
    Read,
    /// A listing; its path is the pattern.
    Glob,
    /// An existence check.
    Exists,
}

impl PolicyOp {
    /// Whether it changes the store.
    #[must_use]
    pub fn is_change(self) -> bool {
        matches!(self, Self::Write | Self::Append | Self::Delete)
    }
}

impl fmt::Display for PolicyOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A policy's ruling on one access. The texts become part of the failure's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// The access goes on.
    Allow,
    /// The access is denied, for this reason.
    Deny(String),
    /// The access would need approval, for this reason. A run cannot give it.
    Ask(String),
}

/// The Host's rule for what a run may do, asked on every access before the claims and the backend.
pub trait Policy: Send + Sync {
    /// Rules on one access. `path` is spelled as the access named it: for a store call, relative to the store root.
    fn rule(&self, op: PolicyOp, path: &str) -> Ruling;
}

/// A storage mode: a policy that decides which changes go through. It never refuses a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Every change is allowed.
    Agent,
    /// Every change waits for an approval, which a run cannot give.
    Ask,
    /// Only changes to paths that end in `.md` are allowed.
    Plan,
}

impl Policy for Mode {
    fn rule(&self, op: PolicyOp, path: &str) -> Ruling {
        match self {
            _ if !op.is_change() => Ruling::Allow,
            Self::Ask => Ruling::Ask(format!(
                "{op} on {path} needs user approval: the Ask mode refuses all mutations"
            )),
            Self::Plan if !path.ends_with(".md") => Ruling::Deny(format!(
                "{op} on {path} is refused: the Plan mode allows mutations only to markdown paths"
            )),
            Self::Agent | Self::Plan => Ruling::Allow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: [PolicyOp; 3] = [PolicyOp::Write, PolicyOp::Append, PolicyOp::Delete];
    const READS: [PolicyOp; 3] = [PolicyOp::Read, PolicyOp::Glob, PolicyOp::Exists];

    #[test]
    fn no_mode_refuses_a_read() {
        for mode in [Mode::Agent, Mode::Ask, Mode::Plan] {
            for op in READS {
                assert_eq!(mode.rule(op, "a.bin"), Ruling::Allow);
            }
        }
    }

    #[test]
    fn agent_allows_every_change() {
        for op in CHANGES {
            assert_eq!(Mode::Agent.rule(op, "a.bin"), Ruling::Allow);
        }
    }

    #[test]
    fn ask_wants_every_change_approved() {
        for (op, name) in CHANGES.into_iter().zip(["Write", "Append", "Delete"]) {
            let why = format!("{name} on a.md needs user approval: the Ask mode refuses all mutations");
            assert_eq!(Mode::Ask.rule(op, "a.md"), Ruling::Ask(why));
        }
    }

    #[test]
    fn plan_looks_at_the_very_end_of_the_path() {
        for path in ["a.md", ".md", "deep/er/a.md"] {
            assert_eq!(Mode::Plan.rule(PolicyOp::Write, path), Ruling::Allow);
        }
        for path in ["a.MD", "a.md.txt", "d.md/a.txt", "amd"] {
            let why = format!("Delete on {path} is refused: the Plan mode allows mutations only to markdown paths");
            assert_eq!(Mode::Plan.rule(PolicyOp::Delete, path), Ruling::Deny(why));
        }
    }
}
