//! The four fence rules, and the Lua fences that keep them (book: Exact fence rules and fence errors).

use std::ops::Range;

use crate::lines::Lines;
use crate::markdown::{Fence, Outline};
use crate::{ParseError, Problem, Source};

const LABEL: &str = "lua";
const OPENER: &str = "```lua";
const CLOSER: &str = "```";

/// A fence with an exact opening and an exact closing line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LuaFence {
    /// The fence, both fence lines included.
    pub(crate) range: Range<usize>,
    /// What stands between them, without the line breaks at its end.
    pub(crate) code: Range<usize>,
}

/// What the fence rules make of a body.
pub(crate) enum Checked {
    /// Every fence keeps them.
    Fences(Vec<LuaFence>),
    /// The last fence runs to the end of the file. Holds the fences before it and where it opens.
    Unclosed(Vec<LuaFence>, usize),
}

/// Checks the whole body, the part above the H1 included.
///
/// # Errors
/// The first line, in source order, that breaks a rule.
pub(crate) fn check(source: &Source<'_>, outline: &Outline) -> Result<Checked, ParseError> {
    let (body, lines) = (source.body(), source.lines());
    let mut checked = Vec::new();
    let mut outside = 0;
    for fence in &outline.fences {
        check_lookalikes(source, outside..fence.first_line)?;
        outside = fence.last_line + 1;
        check_label_and_opener(source, fence)?;
        if fence.label != LABEL {
            continue;
        }
        if fence.last_line == fence.first_line || !closes(lines.text(fence.last_line, body)) {
            return Ok(Checked::Unclosed(checked, lines.start(fence.first_line)));
        }
        if lines.text(fence.last_line, body) != CLOSER {
            return Err(broken(source, fence.last_line, Problem::FenceCloser));
        }
        checked.push(lua_fence(body, lines, fence));
    }
    check_lookalikes(source, outside..lines.count())?;
    Ok(Checked::Fences(checked))
}

fn check_label_and_opener(source: &Source<'_>, fence: &Fence) -> Result<(), ParseError> {
    if !starts_with_lua(&fence.label) {
        return Ok(());
    }
    let problem = if fence.label != LABEL {
        Problem::FenceLabel(fence.label.clone())
    } else if source.lines().text(fence.first_line, source.body()) != OPENER {
        Problem::FenceOpener
    } else {
        return Ok(());
    };
    Err(broken(source, fence.first_line, problem))
}

fn check_lookalikes(source: &Source<'_>, lines: Range<usize>) -> Result<(), ParseError> {
    for line in lines {
        if looks_like_opener(source.lines().text(line, source.body())) {
            return Err(broken(source, line, Problem::FenceLookalike));
        }
    }
    Ok(())
}

/// Whether a line outside every fence is one that a reader would take for the opening line of a Lua fence.
fn looks_like_opener(line: &str) -> bool {
    let blanks = [' ', '\t'];
    let line = line.trim_start_matches(blanks);
    let Some(mark @ ('`' | '~')) = line.chars().next() else {
        return false;
    };
    let rest = line.trim_start_matches(mark);
    line.len() - rest.len() >= 3 && starts_with_lua(rest.trim_start_matches(blanks))
}

fn starts_with_lua(text: &str) -> bool {
    let start = text.as_bytes().get(..LABEL.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(LABEL.as_bytes()))
}

/// Whether CommonMark lets `line` close a fence of three backticks.
fn closes(line: &str) -> bool {
    let rest = line.trim_start_matches(' ');
    let after = rest.trim_start_matches('`');
    line.len() - rest.len() <= 3 && rest.len() - after.len() >= 3 && after.trim_start_matches([' ', '\t']).is_empty()
}

fn lua_fence(body: &str, lines: &Lines, fence: &Fence) -> LuaFence {
    let start = lines.end(fence.first_line);
    let code = body[start..lines.start(fence.last_line)].trim_end_matches(['\n', '\r']);
    LuaFence {
        range: lines.start(fence.first_line)..lines.end(fence.last_line),
        code: start..start + code.len(),
    }
}

/// The error of a broken rule: it points at the whole line.
fn broken(source: &Source<'_>, line: usize, problem: Problem) -> ParseError {
    let range = source.lines().range(line, source.body());
    ParseError {
        position: Some(source.position(range.start)),
        span: Some(range.into()),
        ..problem.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opener_in_disguise_is_a_lookalike() {
        for line in ["```lua", " \t```  lua", "~~~LUA", "````\tLua x", "```luajit`x`"] {
            assert!(looks_like_opener(line), "{line:?}");
        }
        for line in [
            "``lua",
            "x ```lua",
            "> ```lua",
            "``~lua",
            "```lu",
            "```moonlua",
            "",
            "```",
        ] {
            assert!(!looks_like_opener(line), "{line:?}");
        }
    }

    #[test]
    fn three_backticks_or_more_close_a_fence() {
        for line in ["```", "   ````", "``` \t"] {
            assert!(closes(line), "{line:?}");
        }
        for line in ["    ```", "\t```", "``", "~~~", "``` x", "x```"] {
            assert!(!closes(line), "{line:?}");
        }
    }
}
