//! The one ordered pass over a prompt file (book: Which problem the parser reports).

use crate::blocks;
use crate::builder::{Builder, Tree};
use crate::compiler::Uncompiled;
use crate::fences::{self, Checked, LuaFence};
use crate::frontmatter;
use crate::markdown::{Heading, Outline};
use crate::{Compiler, ParseError, ParseEvent, ParseEventKind, Problem, Prompt, Source};

/// Parses a prompt file and hands each Lua block to `compiler`, which also hears the parse events.
///
/// # Errors
/// The first problem, in the book's order: the delimiters, the YAML and the contract, repeated Pack ids, the H1's presence and
/// count, an empty title, the fence rules, the H1's blocks, each section in document order.
pub fn parse(file: &[u8], compiler: &mut impl Compiler) -> Result<Prompt, ParseError> {
    report(compiler, ParseEventKind::ParseStarted);
    let parsed = parse_file(file, compiler);
    let kind = match parsed {
        Ok(_) => ParseEventKind::ParseSucceeded,
        Err(_) => ParseEventKind::ParseFailed,
    };
    report(compiler, kind);
    parsed
}

/// Parses a prompt file and takes its Lua blocks as they are.
///
/// # Errors
/// As [`parse`], without the Lua problems.
pub fn parse_structure(file: &[u8]) -> Result<Prompt, ParseError> {
    parse(file, &mut Uncompiled)
}

fn report(compiler: &mut impl Compiler, kind: ParseEventKind) {
    compiler.report(ParseEvent {
        kind,
        section: ParseEvent::PROMPT,
    });
}

fn parse_file(file: &[u8], compiler: &mut impl Compiler) -> Result<Prompt, ParseError> {
    let source = Source::read(file)?;
    let frontmatter = frontmatter::decode(source.frontmatter())?;
    match parse_body(&source, compiler) {
        Ok(tree) => Ok(Prompt {
            frontmatter,
            h1: tree.h1,
            sections: tree.sections,
            top_level: tree.top_level,
            lua_block_count: tree.lua_block_count,
        }),
        Err(error) => Err(error.in_prompt(&frontmatter.name)),
    }
}

fn parse_body(source: &Source<'_>, compiler: &mut impl Compiler) -> Result<Tree, ParseError> {
    let outline = Outline::read(source.body(), source.lines());
    let title = title(source, &outline.headings)?;
    match fences::check(source, &outline)? {
        Checked::Fences(fences) => Builder::new(source, &outline, &fences, compiler).build(title),
        Checked::Unclosed(fences, opener) => Err(unclosed(source, &outline, &fences, opener).into()),
    }
}

/// Finds the H1 among the headings.
fn title(source: &Source<'_>, headings: &[Heading]) -> Result<usize, Problem> {
    let is_title = |&at: &usize| headings[at].level == 1;
    let titles: Vec<usize> = (0..headings.len()).filter(is_title).collect();
    match titles[..] {
        [] => Err(Problem::NoTitle),
        [title] if headings[title].name.is_empty() => Err(Problem::EmptyTitle),
        [title] => Ok(title),
        _ => {
            let line = |&at: &usize| source.line(headings[at].range.start);
            Err(Problem::ManyTitles(titles.iter().map(line).collect()))
        }
    }
}

/// The problem of a Lua fence that opens at `opener` and is never closed. `fences` are those before it.
fn unclosed(source: &Source<'_>, outline: &Outline, fences: &[LuaFence], opener: usize) -> Problem {
    let above = |heading: &&Heading| heading.range.start < opener;
    let heading = outline
        .headings
        .iter()
        .rfind(above)
        .expect("the H1 stands above a fence that holds the rest of the file");
    let pieces = blocks::cut(source.body(), heading.content..opener, fences, &outline.breaks);
    Problem::UnclosedFence {
        name: heading.name.clone(),
        opens: pieces.is_empty(),
    }
}
