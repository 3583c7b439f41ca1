//! Shows a failure with the line of the prompt that it points at.

use std::{ops::Range, path::Path};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use runvil_engine::{RunError, RunErrorKind};
use runvil_syntax::{ParseError, ParseErrorKind, Prompt};
use serde_json::{Value, json};

use crate::screen::harmless;

/// A place in the prompt file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    /// Without it, the whole line is meant.
    pub(crate) column: Option<u32>,
}

impl Place {
    /// The place with the column that is marked where the whole line is meant: that of its first letter.
    pub(crate) fn marked(self, source: &[u8]) -> Self {
        let text = String::from_utf8_lossy(source);
        let first = || {
            let (_, span) = caret(&text, self)?;
            u32::try_from(span.start).ok()?.checked_add(1)
        };
        Self {
            column: self.column.or_else(first),
            ..self
        }
    }
}

/// Renders the error for a reader, the file's own path in place of the prompt's name.
pub(crate) fn render(path: &Path, source: &[u8], error: &ParseError) -> String {
    show(path, source, &error.message(), parse_place(error))
}

/// Where a prompt does not parse: as its error says, or as the message of its Lua does.
fn parse_place(error: &ParseError) -> Option<Place> {
    let own = error.line().map(|line| Place {
        line,
        column: error.column(),
    });
    own.or_else(|| compilation_place(&error.message()))
}

/// Renders a run's failure that is one of the prompt file.
pub(crate) fn render_run_error(path: &Path, source: &[u8], error: &RunError, place: Option<Place>) -> String {
    let title = format!("the run failed ({}): {}", error.kind, error.message);
    show(path, source, &title, place)
}

/// Where in the prompt file a run failed, if its error tells: by its location, or by what its message says of Lua.
pub(crate) fn place(error: &RunError, prompt: Option<&Prompt>) -> Option<Place> {
    match error.kind {
        RunErrorKind::Parse => {
            let location = error.location.as_ref();
            location
                .and_then(|location| {
                    Some(Place {
                        line: location.line?,
                        column: location.column,
                    })
                })
                .or_else(|| compilation_place(&error.message))
        }
        RunErrorKind::Lua | RunErrorKind::RequirementsUnmet => runtime_place(&error.message, prompt?),
        _ => None,
    }
}

/// The line of a Lua error: the compiler counts from the start of the block, `[string "line N"]:L: …`.
fn compilation_place(message: &str) -> Option<Place> {
    let rest = message.strip_prefix("lua compilation error at ")?;
    let (_, rest) = rest.split_once("[string \"line ")?;
    let (first, rest) = rest.split_once("\"]:")?;
    let (within, _) = rest.split_once(':')?;
    let line = first.parse::<u32>().ok()?.checked_add(within.parse().ok()?)?;
    Some(Place {
        line: line.checked_sub(1)?,
        column: None,
    })
}

/// The line of an uncaught Lua error: the message names its block and the line, `{location}:{line}: …`.
fn runtime_place(message: &str, prompt: &Prompt) -> Option<Place> {
    let (_, gate) = message.split_once("- the H1 gate failed: ").unwrap_or(("", message));
    let line = |location: &str| -> Option<u32> {
        let (line, _) = gate.strip_prefix(location)?.strip_prefix(':')?.split_once(':')?;
        line.parse().ok()
    };
    let line = prompt.lua_blocks().find_map(|block| {
        let line = line(&block.location)?;
        let last = block
            .line
            .saturating_add(u32::try_from(block.source.lines().count()).ok()?);
        (block.line..=last).contains(&line).then_some(line)
    })?;
    Some(Place { line, column: None })
}

fn show(path: &Path, source: &[u8], message: &str, place: Option<Place>) -> String {
    let path = path.display().to_string();
    let text = String::from_utf8_lossy(source);
    // A traceback stands below the source.
    let headline = headline(message);
    let traceback = message.get(headline.len() + 1..).unwrap_or_default();
    let traceback = harmless(traceback).replace("\n\t", "\n");
    let title = Level::ERROR.primary_title(headline);
    let shown = place.and_then(|place| Some((place.line, caret(&text, place)?)));
    let mut group = match shown {
        Some((line, (shown, span))) => title.element(
            Snippet::source(shown)
                .line_start(usize::try_from(line).unwrap_or(usize::MAX))
                .path(path)
                .annotation(AnnotationKind::Primary.span(span)),
        ),
        None => Group::with_title(title).element(annotate_snippets::Origin::path(path)),
    };
    if !traceback.is_empty() {
        group = group.element(Level::NOTE.no_name().message(traceback));
    }
    Renderer::styled().render(&[group])
}

/// The message without the traceback of its Lua, if it has one.
pub(crate) fn headline(message: &str) -> &str {
    match message.find("\nstack traceback:") {
        Some(end) => &message[..end],
        None => message,
    }
}

/// The line without its end, and the bytes in it that the caret stands under: the character that the column names, or
/// all of the line but its indent. A column counts bytes in the body and characters in the frontmatter; one inside a
/// character, or behind the end, falls back to where it can point.
fn caret(text: &str, place: Place) -> Option<(&str, Range<usize>)> {
    let line = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let shown = text.lines().nth(line)?;
    let Some(column) = place.column else {
        let indent = shown.len() - shown.trim_start().len();
        return Some((shown, indent..shown.trim_end().len().max(indent)));
    };
    let mut at = usize::try_from(column).ok()?.saturating_sub(1).min(shown.len());
    while !shown.is_char_boundary(at) {
        at -= 1;
    }
    // One behind the end, where there is no character.
    let width = shown[at..].chars().next().map_or(1, char::len_utf8);
    Some((shown, at..at + width))
}

/// The error as data.
pub(crate) fn to_json(source: &[u8], error: &ParseError) -> Value {
    let place = parse_place(error).map(|place| place.marked(source));
    json!({
        "code": code(error.kind()),
        "kind": error.kind(),
        "message": error.message(),
        "name": error.name,
        "line": place.map(|place| place.line),
        "column": place.and_then(|place| place.column),
        "span": error.span,
        "fence_rule": error.fence_rule(),
    })
}

/// The name that programs know the error's class by.
fn code(kind: ParseErrorKind) -> &'static str {
    match kind {
        ParseErrorKind::Frontmatter => "parse_frontmatter",
        ParseErrorKind::Structure => "parse_structure",
        ParseErrorKind::Fence => "parse_fence",
        ParseErrorKind::List => "parse_list",
        ParseErrorKind::Lua => "parse_lua",
        _ => "parse_internal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str =
        "---\nname: p\ndescription: d\nrunvil: 0\n---\n\n# P\n\n## A: b\n\n```lua\nlocal x\nx()\n```\n";

    fn lua_place(message: &str) -> Option<u32> {
        let prompt = runvil_syntax::parse_structure(PROMPT.as_bytes()).expect("a prompt");
        let error = RunError::new(RunErrorKind::Lua, message);
        place(&error, Some(&prompt)).map(|place| place.line)
    }

    #[test]
    fn a_lua_failure_points_at_the_line_that_its_message_names() {
        assert_eq!(lua_place("section `A: b` prologue:13: runtime error: x"), Some(13));
        assert_eq!(lua_place("section `A: b` prologue:99: runtime error: x"), None);
        assert_eq!(lua_place("section `B` prologue:13: runtime error: x"), None);
        assert_eq!(lua_place("something else"), None);
    }

    #[test]
    fn a_compilation_failure_points_at_the_line_that_the_compiler_counts() {
        let line = |message: &str| compilation_place(message).map(|place| place.line);
        let message =
            "lua compilation error at section `A` prologue (line 12): [string \"line 12\"]:3: unexpected symbol";
        assert_eq!(line(message), Some(14));
        assert_eq!(line("lua compilation error at x (line 1): out of memory"), None);
        assert_eq!(line("[string \"line 12\"]:3: no compilation"), None);
    }

    #[test]
    fn the_caret_stands_where_the_column_can_point() {
        let spans = |column| caret("  aé\n", Place { line: 1, column }).map(|(_, span)| span);
        assert_eq!(spans(None), Some(2..5));
        assert_eq!(spans(Some(3)), Some(2..3));
        // Inside the character, and behind the end.
        assert_eq!(spans(Some(5)), Some(3..5));
        assert_eq!(spans(Some(99)), Some(5..6));
        let beyond = Place { line: 9, column: None };
        assert_eq!(caret("one line", beyond), None);
    }
}
