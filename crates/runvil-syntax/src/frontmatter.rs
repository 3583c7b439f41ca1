//! What the frontmatter declares (book: Optional keys and unknown keys).

mod args;
mod decode;
mod document;
mod scalar;
mod value;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Serialize;

use crate::UsesEntry;

pub(crate) use decode::decode;

/// The nine frontmatter keys, decoded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frontmatter {
    /// The prompt's name, as written.
    pub name: String,
    /// The prompt's summary, as written.
    pub description: String,
    /// The Engine major that the file targets; `None` when it declares none, and then it does not run.
    pub runvil: Option<u32>,
    /// The prompt's round cap, 1 to 1000; `None` leaves the run's own.
    pub max_tool_iterations: Option<u16>,
    /// The store file that the prompt expects to find.
    pub input: Option<FileDeclaration>,
    /// The store file that the prompt leaves behind.
    pub output: Option<FileDeclaration>,
    /// The required Packs in the order written. No Pack id occurs twice.
    pub uses: Vec<UsesEntry>,
    /// The arguments that the prompt takes.
    pub args: Args,
    /// The model roles by label.
    pub models: BTreeMap<String, RoleDeclaration>,
}

/// The file that an `input:` or `output:` key declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDeclaration {
    /// The store path, as written: the store judges it when the run starts.
    pub path: String,
    /// What the file is for.
    pub description: String,
}

/// The arguments that a prompt declares. They are advertised and never enforced.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Args {
    /// Whether the file has an `args:` key, even an empty one. Without it the prompt takes one `prose` argument, and the whole argument
    /// string becomes its value.
    pub structured: bool,
    /// The declarations by arg name.
    pub declarations: BTreeMap<String, ArgDeclaration>,
}

impl Default for Args {
    /// The implicit default declaration (book: Prompts with no `args:` key).
    fn default() -> Self {
        let prose = ArgDeclaration {
            kind: ArgType::String,
            optional: true,
            default: None,
            description: Some("Freeform input for this prompt".to_owned()),
        };
        Args {
            structured: false,
            declarations: BTreeMap::from([("prose".to_owned(), prose)]),
        }
    }
}

/// One argument's declaration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgDeclaration {
    /// The kind of JSON value that the argument is expected to be.
    #[serde(rename = "type")]
    pub kind: ArgType,
    /// Whether the argument string may leave it out.
    pub optional: bool,
    /// The advertised default, of the declared type. A run never fills it in.
    pub default: Option<ArgDefault>,
    /// What the argument is for.
    pub description: Option<String>,
}

/// The four argument types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgType {
    /// A JSON string.
    String,
    /// JSON `true` or `false`.
    Boolean,
    /// A whole JSON number.
    Integer,
    /// Any JSON number.
    Number,
}

impl ArgType {
    /// The four, in the book's order.
    pub const ALL: [ArgType; 4] = [ArgType::String, ArgType::Boolean, ArgType::Integer, ArgType::Number];

    /// The word that declares it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ArgType::String => "string",
            ArgType::Boolean => "boolean",
            ArgType::Integer => "integer",
            ArgType::Number => "number",
        }
    }
}

/// An argument's default value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ArgDefault {
    /// Of a string argument.
    String(String),
    /// Of a boolean argument.
    Boolean(bool),
    /// Of an integer argument, or a whole default of a number argument.
    Integer(i64),
    /// A fractional default of a number argument.
    Number(f64),
}

/// What a model role asks of the model that is bound to it (book: Declaring roles under `models:`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RoleDeclaration {
    /// The keywords in the order written. Repeats and contradictions are kept.
    pub keywords: Vec<Keyword>,
    /// The smallest context window, in tokens.
    pub min_context: Option<NonZeroU32>,
    /// What the role is for.
    pub description: Option<String>,
}

/// The seven model keywords (book: The seven keywords).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keyword {
    /// Hard: the model can think, and thinking is on.
    Thinking,
    /// Hard: the model can run with thinking off, and thinking is off.
    NoThinking,
    /// Soft: a frontier-capability model.
    Frontier,
    /// Soft: a fast model.
    Fast,
    /// Soft: a small model.
    Small,
    /// Soft: a creative model.
    Creative,
    /// Soft: a chat-tuned model.
    Chat,
}

impl Keyword {
    /// The seven, in the book's order.
    pub const ALL: [Keyword; 7] = [
        Keyword::Thinking,
        Keyword::NoThinking,
        Keyword::Frontier,
        Keyword::Fast,
        Keyword::Small,
        Keyword::Creative,
        Keyword::Chat,
    ];

    /// The word that declares it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Keyword::Thinking => "thinking",
            Keyword::NoThinking => "no-thinking",
            Keyword::Frontier => "frontier",
            Keyword::Fast => "fast",
            Keyword::Small => "small",
            Keyword::Creative => "creative",
            Keyword::Chat => "chat",
        }
    }
}
