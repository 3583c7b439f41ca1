//! The ten substitution kinds and their messages (book: Substitution error kinds).

use super::path::{Path, quote};
use crate::Failure;

/// Why a placeholder does not render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubstitutionKind {
    /// A `{{` with no `}}` after it.
    Unclosed,
    /// An empty or space-padded segment.
    EmptySegment,
    /// `var` or `sys` without a key.
    BadPath,
    /// A first segment that is neither a source nor a set global.
    UnknownNamespace,
    /// A key after `args` or `item`.
    NotATable,
    /// An absent key.
    MissingKey,
    /// A path that lands on JSON null.
    NullValue,
    /// `item` where none is seeded.
    NilItem,
    /// `argv` while it is nil.
    NilArgv,
    /// A global that is not JSON data, and `prose` itself.
    Serialize,
}

/// A placeholder that does not render. Displays as the text that Lua and the run's message hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} [{kind:?} at byte {offset}]")]
pub(crate) struct SubstitutionError {
    kind: SubstitutionKind,
    message: String,
    /// The byte of the placeholder's `{{`, counted in the prose that renders.
    offset: usize,
}

impl SubstitutionError {
    pub(super) fn new(kind: SubstitutionKind, path: &Path<'_>, offset: usize) -> Self {
        use SubstitutionKind as K;
        let (root, quoted) = (quote(path.root()), path.quoted());
        let message = match kind {
            K::Unclosed => "unclosed '{{' in prose".to_owned(),
            K::EmptySegment => format!("empty or padded path segment in {{{{ {quoted} }}}}"),
            K::BadPath => format!("bad path: {{{{ {root} }}}}"),
            K::UnknownNamespace => format!("unknown namespace or global '{root}' in {{{{ {quoted} }}}}"),
            K::NotATable => format!("{root} is a string, not a table"),
            K::MissingKey | K::NullValue => format!("missing {{{{ {quoted} }}}}"),
            K::NilItem => "{{ item }} is nil (not inside a fanout arm)".to_owned(),
            K::NilArgv => format!("{{{{ {quoted} }}}} is nil (the args string is not JSON)"),
            K::Serialize => format!("global '{root}' in {{{{ {quoted} }}}} is not JSON data"),
        };
        Self { kind, message, offset }
    }

    pub(super) fn unclosed(offset: usize) -> Self {
        Self::new(SubstitutionKind::Unclosed, &Path::new(""), offset)
    }
}

impl From<SubstitutionError> for Failure {
    fn from(error: SubstitutionError) -> Self {
        Self::Lua(error.to_string())
    }
}
