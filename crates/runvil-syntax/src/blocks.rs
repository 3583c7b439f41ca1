//! A body cut at its fences: which blocks it holds, and what each is called (book: Prologue, prose, and epilog).

use std::ops::Range;

use crate::BlockPlace;
use crate::fences::LuaFence;

/// One block, as ranges of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The prose that counts.
    Prose(Range<usize>),
    /// The code of a fence.
    Lua(Range<usize>),
}

/// The pieces of `region`, given the Lua fences and the offsets after the thematic breaks of the whole body, in order.
pub(crate) fn cut(body: &str, region: Range<usize>, fences: &[LuaFence], breaks: &[usize]) -> Vec<Piece> {
    let first = fences.partition_point(|fence| fence.range.start < region.start);
    let inside = fences[first..]
        .iter()
        .take_while(|fence| fence.range.start < region.end);
    let mut pieces = Vec::new();
    let mut at = region.start;
    for fence in inside {
        let prose = pending(body, at..fence.range.start, breaks);
        // Only text stands before the first fence as a block, but between two fences there is always one.
        if !prose.is_empty() || !pieces.is_empty() {
            pieces.push(Piece::Prose(prose));
        }
        pieces.push(Piece::Lua(fence.code.clone()));
        at = fence.range.end;
    }
    let prose = pending(body, at..region.end, breaks);
    if !prose.is_empty() {
        pieces.push(Piece::Prose(prose));
    }
    pieces
}

/// The part of `range` that prose capture keeps: what is below its last break, trimmed.
fn pending(body: &str, range: Range<usize>, breaks: &[usize]) -> Range<usize> {
    let last = breaks.partition_point(|&end| end <= range.end);
    let start = match breaks[..last].last() {
        Some(&end) if end > range.start => end,
        _ => range.start,
    };
    let text = &body[start..range.end];
    let trimmed = text.trim_start();
    let start = range.end - trimmed.len();
    start..start + trimmed.trim_end().len()
}

/// The place of the Lua piece `pieces[at]` among the pieces of its section.
pub(crate) fn place(pieces: &[Piece], at: usize) -> BlockPlace {
    if at == 0 {
        BlockPlace::Prologue
    } else if at + 1 == pieces.len() {
        // A Lua block that is not the first has prose before it, if only empty prose.
        BlockPlace::Epilog
    } else {
        // Every other piece is a Lua block.
        BlockPlace::Numbered(at / 2 + 1)
    }
}

/// A section's own Markdown: `region` without the blank lines that open it and the white space that ends it.
pub(crate) fn markdown(body: &str, region: Range<usize>) -> &str {
    let text = body[region].trim_end();
    let blank = &text[..text.len() - text.trim_start().len()];
    let content = blank.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    &text[content..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_keeps_the_first_lines_indentation() {
        let body = "\n \t\n\r  a\n\n b \n\n";
        assert_eq!(markdown(body, 0..body.len()), "  a\n\n b");
        assert_eq!(markdown("  a", 0..3), "  a");
        assert_eq!(markdown("\n \n", 0..3), "");
    }

    #[test]
    fn text_above_the_last_break_is_dropped() {
        let body = "a\n\n---\n\n b \n";
        assert_eq!(&body[pending(body, 0..body.len(), &[7])], "b");
        assert_eq!(&body[pending(body, 0..7, &[7])], "");
        assert_eq!(&body[pending(body, 8..body.len(), &[7])], "b");
    }

    #[test]
    fn the_place_follows_from_the_position() {
        let lua = || Piece::Lua(0..0);
        let prose = || Piece::Prose(0..0);
        let places = |pieces: &[Piece]| -> Vec<BlockPlace> {
            let is_lua = |&at: &usize| matches!(pieces[at], Piece::Lua(_));
            (0..pieces.len()).filter(is_lua).map(|at| place(pieces, at)).collect()
        };
        use BlockPlace::{Epilog, Numbered, Prologue};
        assert_eq!(places(&[lua()]), [Prologue]);
        assert_eq!(places(&[lua(), prose()]), [Prologue]);
        assert_eq!(places(&[prose(), lua()]), [Epilog]);
        assert_eq!(places(&[prose(), lua(), prose()]), [Numbered(1)]);
        assert_eq!(
            places(&[lua(), prose(), lua(), prose(), lua()]),
            [Prologue, Numbered(2), Epilog]
        );
        assert_eq!(places(&[lua(), prose(), lua(), prose()]), [Prologue, Numbered(2)]);
    }
}
