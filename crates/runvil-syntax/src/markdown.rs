//! The body read as CommonMark: its headings, its fences and its thematic breaks, and nothing else.

mod shadow;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use crate::lines::Lines;

/// What CommonMark says about a body, in source order.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// The headings outside every block quote and list.
    pub(crate) headings: Vec<Heading>,
    /// The fenced code blocks, those in block quotes and lists included.
    pub(crate) fences: Vec<Fence>,
    /// The offset after each thematic break outside every block quote and list.
    pub(crate) breaks: Vec<usize>,
}

/// A heading outside every block quote and list.
#[derive(Debug)]
pub(crate) struct Heading {
    /// 1 to 6.
    pub(crate) level: u8,
    /// The visible text, trimmed.
    pub(crate) name: String,
    /// The heading's lines in the body, without the line end.
    pub(crate) range: Range<usize>,
    /// The offset after its last line.
    pub(crate) content: usize,
}

/// A fenced code block.
#[derive(Debug)]
pub(crate) struct Fence {
    /// The whole info string, trimmed.
    pub(crate) label: String,
    /// The line that opens it.
    pub(crate) first_line: usize,
    /// The line that closes it, or the last line before its container or the body ends.
    pub(crate) last_line: usize,
}

impl Outline {
    /// Reads `body`, whose lines are `lines`.
    pub(crate) fn read(body: &str, lines: &Lines) -> Self {
        let shadow = shadow::of(body, lines);
        let mut outline = Outline::default();
        let mut depth = 0_usize;
        let mut events = Parser::new_ext(&shadow, Options::empty()).into_offset_iter();
        while let Some((event, range)) = events.next() {
            match event {
                Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                    let name = visible_text(&mut events);
                    outline.headings.push(heading(level as u8, &name, range, body, lines));
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(label))) => {
                    depth += 1;
                    outline.fences.push(Fence {
                        label: label.trim().to_owned(),
                        first_line: lines.at(range.start),
                        last_line: lines.at(range.end - 1),
                    });
                }
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                Event::Rule if depth == 0 => outline.breaks.push(range.end),
                _ => {}
            }
        }
        outline
    }
}

fn heading(level: u8, name: &str, range: Range<usize>, body: &str, lines: &Lines) -> Heading {
    let first = lines.at(range.start);
    let last = lines.at(range.end - 1);
    Heading {
        level,
        name: name.trim().to_owned(),
        range: lines.start(first)..lines.range(last, body).end,
        content: lines.end(last),
    }
}

/// The text of the heading whose start was just read, up to and including its end: no markup, and a line break as a space.
fn visible_text<'a>(events: &mut impl Iterator<Item = (Event<'a>, Range<usize>)>) -> String {
    let mut text = String::new();
    let mut depth = 1_usize;
    for (event, _) in events {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(body: &str) -> Outline {
        Outline::read(body, &Lines::of(body.as_bytes()))
    }

    fn names(body: &str) -> Vec<String> {
        outline(body).headings.into_iter().map(|heading| heading.name).collect()
    }

    #[test]
    fn a_name_is_the_visible_text() {
        let body = "## Run `fetch`\n## *Very* **big** [site](https://x.example)\n##  a  b ##  \n## x <i>y</i> &amp; \\#\n## ![alt](z) {#id}\n";
        assert_eq!(
            names(body),
            ["Run fetch", "Very big site", "a  b", "x y & #", "alt {#id}"]
        );
    }

    #[test]
    fn a_heading_of_several_lines_has_a_name_of_one() {
        assert_eq!(names("one\ntwo  \nthree\n---\n"), ["one two three"]);
    }

    #[test]
    fn a_heading_spans_its_lines_and_its_content_starts_below_them() {
        let body = "x\n\n  ## A ## \n\nsome\nprose\n---\nrest";
        let spans: Vec<(&str, &str)> = outline(body)
            .headings
            .iter()
            .map(|heading| (&body[heading.range.clone()], &body[heading.content..]))
            .collect();
        assert_eq!(
            spans,
            [("  ## A ## ", "\nsome\nprose\n---\nrest"), ("some\nprose\n---", "rest")]
        );
    }

    #[test]
    fn headings_and_breaks_in_quotes_lists_and_code_are_none() {
        let body = "> ## a\n> ---\n\n- ## b\n\n  ---\n\n```\n## c\n---\n```\n\n    ## d\n\n<div>\n## e\n</div>\n";
        let outline = outline(body);
        assert!(outline.headings.is_empty() && outline.breaks.is_empty(), "{outline:?}");
    }

    #[test]
    fn fences_are_found_in_quotes_and_lists_too() {
        let body = "```lua\nx\n```\n> ~~~ py  3 \n> x\n\n- ```\n  x\n";
        let fences: Vec<(String, usize, usize)> = outline(body)
            .fences
            .into_iter()
            .map(|fence| (fence.label, fence.first_line, fence.last_line))
            .collect();
        assert_eq!(
            fences,
            [
                ("lua".to_owned(), 0, 2),
                ("py  3".to_owned(), 3, 4),
                (String::new(), 6, 7)
            ]
        );
    }
}
