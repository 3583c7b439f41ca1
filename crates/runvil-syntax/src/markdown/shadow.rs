//! The text that the Markdown reader is given in place of the body: of the same length, with the same blocks at the same offsets.

use std::borrow::Cow;

use crate::lines::Lines;

/// How many containers one line may open. A line that opens more would make each line below it cost as much.
const MAX_CONTAINERS: usize = 100;

/// Replaces what the reader takes wrongly or at too high a cost:
///
/// - Tabs after a closing fence: in CommonMark it may be followed by spaces or tabs, the reader lets only spaces follow.
/// - The markers of block quotes and list items past the hundredth on one line: they become text.
pub(super) fn of<'a>(body: &'a str, lines: &Lines) -> Cow<'a, str> {
    let mut shadow = Cow::Borrowed(body.as_bytes());
    for line in 0..lines.count() {
        let range = lines.range(line, body);
        let bytes = &body.as_bytes()[range.clone()];
        if let Some(fence) = closing_fence_with_tabs(bytes) {
            shadow.to_mut()[range.start + fence..range.end].fill(b' ');
        }
        if let Some((from, to)) = excess_markers(bytes) {
            shadow.to_mut()[range.start + from..range.start + to].fill(b'x');
        }
    }
    match shadow {
        Cow::Borrowed(_) => Cow::Borrowed(body),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).expect("ASCII was replaced by ASCII")),
    }
}

/// Where the white space behind a run of fence characters starts, when it holds a tab.
fn closing_fence_with_tabs(line: &[u8]) -> Option<usize> {
    if !matches!(line.last(), Some(b' ' | b'\t')) {
        return None;
    }
    let end = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'))? + 1;
    let after_fence = matches!(line[end - 1], b'`' | b'~');
    (after_fence && line[end..].contains(&b'\t')).then_some(end)
}

/// The range of the container markers past [`MAX_CONTAINERS`], when `line` has so many.
fn excess_markers(line: &[u8]) -> Option<(usize, usize)> {
    if line.len() <= MAX_CONTAINERS || is_break(line) {
        return None;
    }
    let mut at = 0;
    let mut excess = None;
    for count in 0.. {
        let Some(marker) = marker(&line[at..]) else {
            break;
        };
        if count == MAX_CONTAINERS {
            excess = Some(at);
        }
        at += marker;
    }
    excess.map(|from| (from, at))
}

/// The length of the container marker that `text` starts with, the white space before it included.
fn marker(text: &[u8]) -> Option<usize> {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let indent = text.iter().take_while(blank).count();
    let rest = &text[indent..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length = match rest.get(digits)? {
        b'>' if digits == 0 => return Some(indent + 1),
        b'-' | b'+' | b'*' if digits == 0 => 1,
        b'.' | b')' if digits > 0 => digits + 1,
        _ => return None,
    };
    let ends = matches!(rest.get(length), None | Some(b' ' | b'\t'));
    ends.then_some(indent + length)
}

/// Whether nothing but one kind of mark and white space is on the line, as in a thematic break.
fn is_break(line: &[u8]) -> bool {
    let mut marks = line.iter().filter(|byte| !matches!(byte, b' ' | b'\t'));
    let Some(first @ (b'-' | b'*' | b'_')) = marks.next() else {
        return false;
    };
    marks.all(|mark| mark == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadow(body: &str) -> String {
        of(body, &Lines::of(body.as_bytes())).into_owned()
    }

    #[test]
    fn an_ordinary_body_is_its_own_shadow() {
        let body = "- a\n> - b\n```\n\tcode\t\n``` \n";
        assert!(matches!(of(body, &Lines::of(body.as_bytes())), Cow::Borrowed(_)));
    }

    #[test]
    fn tabs_behind_a_closing_fence_become_spaces() {
        assert_eq!(shadow("```py\nx\n``` \t\n> ~~~\t\r\n"), "```py\nx\n```  \n> ~~~ \r\n");
    }

    #[test]
    fn markers_past_the_hundredth_become_text() {
        let quote = ">".repeat(100);
        assert_eq!(shadow(&format!("{quote}>> a > b\n")), format!("{quote}xx a > b\n"));
        let list = "1. ".repeat(100);
        assert_eq!(shadow(&format!("{list}2) - a")), format!("{}xxxxx a", list.trim_end()));
    }

    #[test]
    fn a_long_break_stays_a_break() {
        let body = "- ".repeat(150);
        assert_eq!(shadow(&body), body);
    }
}
