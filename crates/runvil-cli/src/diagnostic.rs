//! Shows a parse error with the line that it points at.

use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use runvil_engine::Location;
use runvil_syntax::{ParseError, ParseErrorKind};
use serde_json::{Value, json};

/// Renders the error for a reader, the file's own path in place of the prompt's name.
pub(crate) fn render(path: &Path, source: &[u8], error: &ParseError) -> String {
    let place = error.line().zip(error.column());
    show(path, source, &error.message(), place)
}

/// Renders a run's failure that points into the prompt file.
pub(crate) fn render_located(path: &Path, source: &[u8], message: &str, location: &Location) -> String {
    show(path, source, message, location.line.zip(location.column))
}

fn show(path: &Path, source: &[u8], message: &str, place: Option<(u32, u32)>) -> String {
    let path = path.display().to_string();
    let text = String::from_utf8_lossy(source);
    let title = Level::ERROR.primary_title(message);
    let group = match place.and_then(|(line, column)| caret(&text, line, column).map(|caret| (line, caret))) {
        Some((line, (shown, at))) => title.element(
            Snippet::source(shown)
                .line_start(usize::try_from(line).unwrap_or(usize::MAX))
                .path(path)
                .annotation(AnnotationKind::Primary.span(at..at + width(shown, at))),
        ),
        None => Group::with_title(title).element(annotate_snippets::Origin::path(path)),
    };
    Renderer::styled().render(&[group])
}

/// The line without its end, and the byte in it that the column names. A column counts bytes in the body and characters in
/// the frontmatter; one inside a character, or behind the end, falls back to where it can point.
fn caret(text: &str, line: u32, column: u32) -> Option<(&str, usize)> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let shown = text.lines().nth(line)?;
    let mut at = usize::try_from(column).ok()?.saturating_sub(1).min(shown.len());
    while !shown.is_char_boundary(at) {
        at -= 1;
    }
    Some((shown, at))
}

/// The bytes of the character that the caret stands under; one behind the end.
fn width(shown: &str, at: usize) -> usize {
    shown[at..].chars().next().map_or(1, char::len_utf8)
}

/// The error as data.
pub(crate) fn to_json(error: &ParseError) -> Value {
    json!({
        "code": code(error.kind()),
        "kind": error.kind(),
        "message": error.message(),
        "name": error.name,
        "line": error.line(),
        "column": error.column(),
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
