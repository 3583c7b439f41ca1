//! Everything that can be wrong with a prompt file, one variant for each message.

use crate::{FenceRule, ParseErrorKind};

/// A broken rule. Its `Display` is the parse error's whole message (book: Parse errors and their kinds).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file holds bytes that are no UTF-8.
    #[error("file must be UTF-8 text")]
    NotUtf8,
    /// The first line is not `---`.
    #[error("file must begin with a --- frontmatter delimiter")]
    NoFrontmatter,
    /// No later line closes the frontmatter.
    #[error("frontmatter was not closed with ---")]
    UnclosedFrontmatter,
    /// The YAML does not decode, or the prompt contract rejects a key or value. Holds what the YAML reader says.
    #[error("invalid frontmatter: {0}")]
    InvalidFrontmatter(String),
    /// Two entries name the same Pack id.
    #[error("invalid frontmatter: Pack id {0} is declared more than once under uses")]
    DuplicatePack(String),
    /// The body has no H1.
    #[error("prompt requires an H1 title")]
    NoTitle,
    /// The body has several. Holds the line of each.
    #[error("prompt must contain exactly one H1 title, found {} at lines {}", .0.len(), comma_separated(.0))]
    ManyTitles(Vec<u32>),
    /// The H1 has no visible text.
    #[error("prompt H1 title must not be empty")]
    EmptyTitle,
    /// A fence label starts with `lua` without being exactly that. Holds the label as written.
    #[error("unrecognized fence label `{0}`; the only Lua fence label is `lua`")]
    FenceLabel(String),
    /// The opening line of a fence labelled `lua` is not exact.
    #[error("`lua` fence opening line must be exactly ```lua")]
    FenceOpener,
    /// The closing line of a Lua fence is not exact.
    #[error("`lua` fence closing line must be exactly ```")]
    FenceCloser,
    /// A line outside every fence looks like an opening line; it gets the message of one.
    #[error("{}", Problem::FenceOpener)]
    FenceLookalike,
    /// A Lua fence runs to the end of the file.
    #[error("section `{name}` {} `lua` fence is not closed", if *.opens { "prologue" } else { "epilog" })]
    UnclosedFence {
        /// The section's name, or the H1 title.
        name: String,
        /// Whether the fence opens its section. Nothing can follow it, so otherwise it ends the section.
        opens: bool,
    },
    /// A section heading is more than one level below the section that it stands in.
    #[error("section `{name}` is an orphan H{level} heading with no parent H{missing}")]
    OrphanHeading {
        /// The section's name.
        name: String,
        /// The heading's level.
        level: u8,
        /// The level that its parent would have.
        missing: u8,
    },
    /// A section heading has no visible text. Holds its level.
    #[error("an H{0} section heading must not be empty")]
    EmptyHeading(u8),
    /// Two siblings share a name.
    #[error(
        "duplicate sibling section name `{name}`: first declared at line {first_line}, again at line {line}; \
         sibling section names must be unique"
    )]
    DuplicateSibling {
        /// The name.
        name: String,
        /// The first section's line in the file.
        first_line: u32,
        /// The second one's.
        line: u32,
    },
    /// A list section has an item without text. Holds the section's name.
    #[error("empty bullet item in list section `{0}`")]
    EmptyItem(String),
    /// A Lua block does not compile.
    #[error("{0}")]
    Lua(Box<BrokenBlock>),
    /// The Lua compiler cannot start. Holds what it says.
    #[error("{0}")]
    Internal(String),
    /// The prompt declares no Engine major. A run finds this when it starts; the file parses.
    #[error("not a runvil prompt: no runvil version")]
    NoVersion,
}

/// A Lua block that does not compile. Its message is the parse error's (book: Compile errors).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("lua compilation error at {location} (line {line}): {diagnostic}")]
pub struct BrokenBlock {
    /// The block's location label.
    pub location: String,
    /// The line of the file on which the block's code starts.
    pub line: u32,
    /// The compiler's own text.
    pub diagnostic: String,
    /// The block's code.
    pub code: String,
}

impl Problem {
    /// The class of the rule.
    #[must_use]
    pub fn kind(&self) -> ParseErrorKind {
        match self {
            Problem::NotUtf8
            | Problem::NoFrontmatter
            | Problem::UnclosedFrontmatter
            | Problem::InvalidFrontmatter(_)
            | Problem::DuplicatePack(_) => ParseErrorKind::Frontmatter,
            Problem::NoTitle
            | Problem::ManyTitles(_)
            | Problem::EmptyTitle
            | Problem::OrphanHeading { .. }
            | Problem::EmptyHeading(_)
            | Problem::DuplicateSibling { .. }
            | Problem::NoVersion => ParseErrorKind::Structure,
            Problem::FenceLabel(_)
            | Problem::FenceOpener
            | Problem::FenceCloser
            | Problem::FenceLookalike
            | Problem::UnclosedFence { .. } => ParseErrorKind::Fence,
            Problem::EmptyItem(_) => ParseErrorKind::List,
            Problem::Lua(_) => ParseErrorKind::Lua,
            Problem::Internal(_) => ParseErrorKind::Internal,
        }
    }

    /// Which of the four fence rules it breaks, if it breaks one. An unclosed fence breaks none of them.
    #[must_use]
    pub fn fence_rule(&self) -> Option<FenceRule> {
        match self {
            Problem::FenceLabel(_) => Some(FenceRule::Label),
            Problem::FenceOpener => Some(FenceRule::Opener),
            Problem::FenceCloser => Some(FenceRule::Closer),
            Problem::FenceLookalike => Some(FenceRule::Lookalike),
            _ => None,
        }
    }
}

fn comma_separated(lines: &[u32]) -> String {
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    lines.join(", ")
}
