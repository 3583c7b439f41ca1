//! The parsed prompt: what a prompt file says, in the shape that a run needs it.

use std::fmt;
use std::ops::Index;

use serde::{Deserialize, Serialize};

use crate::{Frontmatter, Span};

/// One prompt file, read in full (book: Runs and run events). Nothing in it needs to be read again from the text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prompt {
    /// What the prompt declares about itself.
    pub frontmatter: Frontmatter,
    /// The title and what stands between it and the first section.
    pub h1: H1,
    /// Every section of the file, in document order: a parent stands before its children.
    pub sections: Vec<Section>,
    /// The H2 sections, in document order.
    pub top_level: Vec<SectionId>,
    /// How many Lua blocks the file holds, the H1 body's included. Their [`LuaBlock::index`] runs from 0 to this.
    pub lua_block_count: usize,
}

impl Prompt {
    /// The sections that share `id`'s parent, `id` itself included, in document order.
    #[must_use]
    pub fn family(&self, id: SectionId) -> &[SectionId] {
        self.children(self[id].parent)
    }

    /// The children of `parent`, in document order; the top-level sections where `parent` is `None`.
    #[must_use]
    pub fn children(&self, parent: Option<SectionId>) -> &[SectionId] {
        match parent {
            Some(parent) => &self[parent].children,
            None => &self.top_level,
        }
    }

    /// Every section with its id, in document order.
    pub fn ids(&self) -> impl Iterator<Item = SectionId> + use<> {
        (0..self.sections.len()).map(SectionId)
    }

    /// Every Lua block of the file in source order, the H1 body's first.
    pub fn lua_blocks(&self) -> impl Iterator<Item = &LuaBlock> {
        let sections = self.sections.iter().flat_map(|section| &section.blocks);
        self.h1.blocks.iter().chain(sections).filter_map(Block::as_lua)
    }
}

impl Index<SectionId> for Prompt {
    type Output = Section;

    fn index(&self, id: SectionId) -> &Section {
        &self.sections[id.0]
    }
}

/// A section's place in document order, counted from 0: its index into [`Prompt::sections`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SectionId(pub usize);

/// The H1 title and the H1 body (book: The H1 title and H1 body).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct H1 {
    /// The visible text of the H1 heading, never empty.
    pub title: String,
    /// The heading's line in the file, counted from 1.
    pub line: u32,
    /// The heading, in the body.
    pub span: Span,
    /// The H1 body's blocks, in file order.
    pub blocks: Vec<Block>,
}

/// A heading at level 2 to 6 below the H1, and what it owns (book: Section headings and nesting).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The visible text of the heading, never empty and unique among the siblings.
    pub name: String,
    /// How many `#` marks the heading has, 2 to 6.
    pub level: u8,
    /// The heading's line in the file, counted from 1.
    pub line: u32,
    /// The heading, in the body.
    pub span: Span,
    /// The section's own Markdown as written: without its heading, its children, the blank lines before the first
    /// content line, and the whitespace at the end.
    pub markdown: String,
    /// The section's own blocks, in file order.
    pub blocks: Vec<Block>,
    /// The items of a list section, in order and never empty; `None` for every other section.
    pub items: Option<Vec<String>>,
    /// The section one level up, `None` for a top-level section.
    pub parent: Option<SectionId>,
    /// The sections one level down, in document order.
    pub children: Vec<SectionId>,
}

impl Section {
    /// The section's canonical heading reference, such as `## Name`.
    #[must_use]
    pub fn heading(&self) -> String {
        format!("{} {}", "#".repeat(usize::from(self.level)), self.name)
    }
}

/// One block of the H1 body or of a section.
///
/// A body's blocks alternate: between two Lua blocks stands a prose block, even an empty one. A prose block before the first or
/// after the last Lua block is there only when it is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Text for a model.
    Prose(Prose),
    /// Code.
    Lua(LuaBlock),
}

impl Block {
    /// The Lua block, if it is one.
    #[must_use]
    pub fn as_lua(&self) -> Option<&LuaBlock> {
        match self {
            Block::Lua(block) => Some(block),
            Block::Prose(_) => None,
        }
    }

    /// The prose block, if it is one.
    #[must_use]
    pub fn as_prose(&self) -> Option<&Prose> {
        match self {
            Block::Prose(prose) => Some(prose),
            Block::Lua(_) => None,
        }
    }
}

/// A run of Markdown between fences: the part below its last thematic break, trimmed, as written and not rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prose {
    /// The Markdown.
    pub text: String,
    /// The line of the file on which the text starts, counted from 1.
    pub line: u32,
    /// Where the text stands in the body; empty for an empty block between two fences.
    pub span: Span,
}

/// The code of one Lua fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LuaBlock {
    /// The block's place among all Lua blocks of the file, counted from 0: the order in which they are compiled.
    pub index: usize,
    /// The text between the fence lines, without the line breaks at its end.
    pub source: String,
    /// The line of the file on which the source starts, counted from 1.
    pub line: u32,
    /// Where the source stands in the body.
    pub span: Span,
    /// The block's place in its section or in the H1 body.
    pub place: BlockPlace,
    /// The location label that error messages carry, such as ``section `Name` prologue``.
    pub location: String,
}

/// The place that a location label names (book: Location labels).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockPlace {
    /// Any block of the H1 body.
    H1,
    /// A section's first block.
    Prologue,
    /// The last block of a section that also has prose.
    Epilog,
    /// Any other Lua block, by its place among the section's Lua blocks, counted from 1.
    Numbered(usize),
}

impl fmt::Display for BlockPlace {
    /// The last part of the location label.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockPlace::H1 => formatter.write_str("lua"),
            BlockPlace::Prologue => formatter.write_str("prologue"),
            BlockPlace::Epilog => formatter.write_str("epilog"),
            BlockPlace::Numbered(number) => write!(formatter, "lua {number}"),
        }
    }
}
