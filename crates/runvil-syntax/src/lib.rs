//! Text to tree: frontmatter, headings, fences, lists and positions of a prompt file. Pure and total.
//!
//! A prompt file is frontmatter, one H1 title and sections made of prose and Lua blocks. The parser checks the whole of it in one
//! ordered pass, hands each Lua block to the caller's [`Compiler`] on the way, and reports the first problem that it meets.

mod alias;
mod blocks;
mod builder;
mod compiler;
mod error;
mod fences;
mod frontmatter;
mod heading_ref;
mod lines;
mod lists;
mod markdown;
mod parse;
mod position;
mod problem;
mod source;
mod tree;
mod uses;

pub use alias::{InvalidAlias, check_alias, is_alias};
pub use compiler::{CompileError, Compiler, ParseEvent, ParseEventKind, Uncompiled};
pub use error::{FenceRule, ParseError, ParseErrorKind};
pub use frontmatter::{
    ArgDeclaration, ArgDefault, ArgType, Args, FileDeclaration, Frontmatter, Keyword, RoleDeclaration,
};
pub use heading_ref::{HeadingRef, HeadingRefError};
pub use parse::{parse, parse_structure};
pub use position::{Position, Span};
pub use problem::{BrokenBlock, Problem};
pub use runvil_pack::UsesEntry;
pub use source::Source;
pub use tree::{Block, BlockPlace, H1, LuaBlock, Prompt, Prose, Section, SectionId};
