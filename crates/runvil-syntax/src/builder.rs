//! The tree of a body whose H1 and fences are in order: the H1's blocks, then each section in document order.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::blocks::{self, Piece};
use crate::fences::LuaFence;
use crate::markdown::{Heading, Outline};
use crate::{
    Block, BlockPlace, BrokenBlock, CompileError, Compiler, H1, LuaBlock, ParseError, ParseEvent, ParseEventKind,
    Problem, Prose, Section, SectionId, Source, lists,
};

/// What a body parses into.
pub(crate) struct Tree {
    pub(crate) h1: H1,
    pub(crate) sections: Vec<Section>,
    pub(crate) top_level: Vec<SectionId>,
    pub(crate) lua_block_count: usize,
}

/// Builds the tree and compiles the Lua blocks on the way.
pub(crate) struct Builder<'a, C> {
    source: &'a Source<'a>,
    outline: &'a Outline,
    fences: &'a [LuaFence],
    compiler: &'a mut C,
    /// The section names that occur more than once. A location label of such a section carries the heading's line.
    shared_names: BTreeSet<&'a str>,
    /// The heading to read next.
    next: usize,
    sections: Vec<Section>,
    lua_block_count: usize,
}

/// Where blocks stand, for what is said about them.
#[derive(Clone, Copy)]
enum Home<'a> {
    Title(&'a str),
    Section(&'a Heading),
}

impl<'a, C: Compiler> Builder<'a, C> {
    pub(crate) fn new(
        source: &'a Source<'a>,
        outline: &'a Outline,
        fences: &'a [LuaFence],
        compiler: &'a mut C,
    ) -> Self {
        Builder {
            source,
            outline,
            fences,
            compiler,
            shared_names: BTreeSet::new(),
            next: 0,
            sections: Vec::new(),
            lua_block_count: 0,
        }
    }

    /// Builds the tree of the body whose H1 is the heading `title`.
    pub(crate) fn build(mut self, title: usize) -> Result<Tree, ParseError> {
        let heading = &self.outline.headings[title];
        self.next = title + 1;
        self.shared_names = shared_names(&self.outline.headings[self.next..]);
        let h1 = H1 {
            title: heading.name.clone(),
            line: self.source.line(heading.range.start),
            span: heading.range.clone().into(),
            blocks: self.blocks(Home::Title(&heading.name), self.region(heading))?,
        };
        let top_level = self.children(None, heading.level)?;
        Ok(Tree {
            h1,
            sections: self.sections,
            top_level,
            lua_block_count: self.lua_block_count,
        })
    }

    /// Reads the sections below `parent`, a heading of level `level`, up to the next heading that is not below it.
    fn children(&mut self, parent: Option<SectionId>, level: u8) -> Result<Vec<SectionId>, ParseError> {
        let mut children = Vec::new();
        let mut first_lines = BTreeMap::new();
        let outline = self.outline;
        while let Some(heading) = outline.headings.get(self.next)
            && heading.level > level
        {
            let id = self.section(heading, parent, level + 1)?;
            let line = self.sections[id.0].line;
            if let Some(first_line) = first_lines.insert(heading.name.as_str(), line) {
                let name = heading.name.clone();
                let problem = Problem::DuplicateSibling { name, first_line, line };
                return Err(self.at_heading(heading, problem));
            }
            children.push(id);
        }
        Ok(children)
    }

    /// Reads one section with all that is below it. A section at this place has level `level`.
    fn section(&mut self, heading: &'a Heading, parent: Option<SectionId>, level: u8) -> Result<SectionId, ParseError> {
        self.check_heading(heading, level)?;
        self.next += 1;
        let region = self.region(heading);
        let section = Section {
            name: heading.name.clone(),
            level,
            line: self.source.line(heading.range.start),
            span: heading.range.clone().into(),
            markdown: blocks::markdown(self.source.body(), region.clone()).to_owned(),
            blocks: self.blocks(Home::Section(heading), region)?,
            items: None,
            parent,
            children: Vec::new(),
        };
        let id = SectionId(self.sections.len());
        self.sections.push(section);
        let children = self.children(Some(id), level)?;
        let section = &mut self.sections[id.0];
        section.children = children;
        // A section without a Lua block has one prose block at most.
        if let [Block::Prose(prose)] = &section.blocks[..] {
            section.items = lists::items(&prose.text, &section.name)?;
        }
        Ok(id)
    }

    fn check_heading(&self, heading: &Heading, level: u8) -> Result<(), ParseError> {
        let problem = if heading.level > level {
            Problem::OrphanHeading {
                name: heading.name.clone(),
                level: heading.level,
                missing: level,
            }
        } else if heading.name.is_empty() {
            Problem::EmptyHeading(heading.level)
        } else {
            return Ok(());
        };
        Err(self.at_heading(heading, problem))
    }

    /// The blocks of a region, each Lua block compiled.
    fn blocks(&mut self, home: Home<'a>, region: Range<usize>) -> Result<Vec<Block>, ParseError> {
        let body = self.source.body();
        let pieces = blocks::cut(body, region, self.fences, &self.outline.breaks);
        let mut read = Vec::with_capacity(pieces.len());
        for (at, piece) in pieces.iter().enumerate() {
            read.push(match piece {
                Piece::Prose(range) => Block::Prose(Prose {
                    text: body[range.clone()].to_owned(),
                    line: self.source.line(range.start),
                    span: range.clone().into(),
                }),
                Piece::Lua(code) => {
                    let place = match home {
                        Home::Title(_) => BlockPlace::H1,
                        Home::Section(_) => blocks::place(&pieces, at),
                    };
                    Block::Lua(self.lua_block(home, place, code.clone())?)
                }
            });
        }
        Ok(read)
    }

    fn lua_block(&mut self, home: Home<'a>, place: BlockPlace, code: Range<usize>) -> Result<LuaBlock, ParseError> {
        let block = LuaBlock {
            index: self.lua_block_count,
            source: self.source.body()[code.clone()].to_owned(),
            line: self.source.line(code.start),
            location: self.location(home, place),
            place,
            span: code.into(),
        };
        self.lua_block_count += 1;
        self.compile(home, &block)?;
        Ok(block)
    }

    fn compile(&mut self, home: Home<'_>, block: &LuaBlock) -> Result<(), ParseError> {
        let section = match home {
            Home::Title(name) => name,
            Home::Section(heading) => &heading.name,
        };
        let report = |compiler: &mut C, kind| compiler.report(ParseEvent { kind, section });
        report(self.compiler, ParseEventKind::LuaCompilationStarted);
        let compiled = self.compiler.compile(block);
        let kind = match compiled {
            Ok(()) => ParseEventKind::LuaCompilationSucceeded,
            Err(_) => ParseEventKind::LuaCompilationFailed,
        };
        report(self.compiler, kind);
        compiled.map_err(|error| match error {
            CompileError::Internal(message) => Problem::Internal(message).into(),
            CompileError::Syntax(diagnostic) => Problem::Lua(Box::new(BrokenBlock {
                location: block.location.clone(),
                line: block.line,
                diagnostic,
                code: block.source.clone(),
            }))
            .into(),
        })
    }

    /// The location label of the block at `place` (book: Location labels).
    fn location(&self, home: Home<'_>, place: BlockPlace) -> String {
        let heading = match home {
            Home::Title(title) => return format!("H1 `{title}` {place}"),
            Home::Section(heading) => heading,
        };
        let name = &heading.name;
        let line = match self.shared_names.contains(name.as_str()) {
            true => format!(" (line {})", self.source.line(heading.range.start)),
            false => String::new(),
        };
        format!("section `{name}`{line} {place}")
    }

    /// What stands below a heading, up to the next heading of any level. The heading to read next is that one.
    fn region(&self, heading: &Heading) -> Range<usize> {
        let next = self.outline.headings.get(self.next);
        let end = next.map_or(self.source.body().len(), |next| next.range.start);
        heading.content..end
    }

    fn at_heading(&self, heading: &Heading, problem: Problem) -> ParseError {
        ParseError {
            position: Some(self.source.position(heading.range.start)),
            span: Some(heading.range.clone().into()),
            ..problem.into()
        }
    }
}

fn shared_names(headings: &[Heading]) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    let names = headings.iter().map(|heading| heading.name.as_str());
    names.filter(|name| !seen.insert(*name)).collect()
}
