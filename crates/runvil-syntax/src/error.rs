//! Parse errors: what is wrong with a prompt file, and where (book: Parse errors and their kinds).

use serde::{Deserialize, Serialize};

use crate::{Position, Problem, Span};

/// Why a prompt file does not parse: the first problem met, and its place as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ParseError {
    /// The rule that the file breaks.
    pub problem: Problem,
    /// The prompt's frontmatter name. Only a structure, fence or list problem has one.
    pub name: Option<String>,
    /// The place in the file as written.
    pub position: Option<Position>,
    /// The offending bytes of the body. Only a heading problem and a broken fence rule have one.
    pub span: Option<Span>,
}

impl ParseError {
    /// The error of a run whose prompt, by the name `name`, declares no Engine major.
    #[must_use]
    pub fn no_version(name: &str) -> Self {
        ParseError::from(Problem::NoVersion).in_prompt(name)
    }

    /// The error as one of the prompt `name`, where its kind names the prompt: a frontmatter failure happens before the name is known, a
    /// Lua failure says everything in its message, and an internal fault is not the prompt's.
    pub(crate) fn in_prompt(mut self, name: &str) -> Self {
        let names_it = matches!(
            self.kind(),
            ParseErrorKind::Structure | ParseErrorKind::Fence | ParseErrorKind::List
        );
        self.name = names_it.then(|| name.to_owned());
        self
    }

    /// The class of the broken rule.
    #[must_use]
    pub fn kind(&self) -> ParseErrorKind {
        self.problem.kind()
    }

    /// Which of the four fence rules is broken, if one is.
    #[must_use]
    pub fn fence_rule(&self) -> Option<FenceRule> {
        self.problem.fence_rule()
    }

    /// The message, the whole of it: the error has no further cause.
    #[must_use]
    pub fn message(&self) -> String {
        self.problem.to_string()
    }

    /// The line in the file, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.position.map(|position| position.line)
    }

    /// The column on that line, counted from 1: in bytes for a problem of the body, in characters for one of the YAML.
    #[must_use]
    pub fn column(&self) -> Option<u32> {
        self.position.map(|position| position.column)
    }
}

impl From<Problem> for ParseError {
    /// The error of a problem that has no place.
    fn from(problem: Problem) -> Self {
        ParseError {
            problem,
            name: None,
            position: None,
            span: None,
        }
    }
}

/// The parse error kinds. The set is open: a Host needs a catch-all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The frontmatter is missing, unclosed, not valid YAML, or breaks the prompt contract.
    Frontmatter,
    /// The H1 title or the heading tree is invalid.
    Structure,
    /// A Lua fence is left open, or a line breaks a fence rule.
    Fence,
    /// A list section has an empty item.
    List,
    /// A Lua block does not compile.
    Lua,
    /// The parser fails through no fault of the prompt.
    Internal,
}

/// The four fence rules (book: The four fence rules).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FenceRule {
    /// A label that starts with `lua` is exactly `lua`.
    Label,
    /// The opening line of a fence labelled `lua` is exact.
    Opener,
    /// The closing line of a Lua fence is exact.
    Closer,
    /// No line outside every fence looks like an opening line of a Lua fence.
    Lookalike,
}
