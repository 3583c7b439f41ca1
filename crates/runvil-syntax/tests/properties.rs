//! What holds for every file: it parses, or its error points into it, and the tree says what the file says.

use proptest::prelude::*;
use proptest::sample::select;
use runvil_syntax::{
    Block, CompileError, Compiler, LuaBlock, ParseError, ParseEvent, ParseEventKind, Position, Prompt, Source, Span,
    parse, parse_structure,
};

const FRONTMATTER: &str = "---\nname: p\ndescription: d\n---\n";

/// Pieces of Markdown that mean something, among them those of every fence rule.
const MARKDOWN: &[&str] = &[
    "# T\n",
    "# ",
    "## ",
    "### ",
    "###### ",
    "#",
    "A",
    "B",
    "text",
    " ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "```lua\n",
    "```\n",
    "```",
    "````",
    "~~~",
    "``` \t\n",
    "lua",
    "Lua\n",
    " ```\n",
    "> ",
    "- ",
    "* ",
    "1. ",
    "-\n",
    "---\n",
    "***\n",
    "===\n",
    "<div>\n",
    "<!--\n",
    "-->\n",
    "[a]: b\n",
    "*",
    "`",
    "&#10;",
    "\\",
    "é",
    "\u{2028}",
    "\u{feff}",
    "return 1\n",
    "{{ x }}",
];

/// Pieces of frontmatter, right and wrong.
const YAML: &[&str] = &[
    "name: p\n",
    "description: d\n",
    "runvil: 0\n",
    "max_tool_iterations: ",
    "uses: ",
    "args: ",
    "models:\n",
    "input: ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    ":",
    "- ",
    "web",
    "acme/kit\n",
    "  ",
    "\n",
    "type: ",
    "string",
    "default: ",
    "'",
    "\"",
    "|\n",
    "&a ",
    "*a",
    "!x ",
    "#",
    "? ",
    "\t",
    "0",
    "1001",
    "1.5",
    "null",
    "~",
    "é",
    "\u{85}",
    "\u{1}",
    "---\n",
    "...\n",
    "keywords: [fast]",
    "min_context: 1\n",
];

fn pieces(of: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(select(of), 0..most).prop_map(|pieces| pieces.concat())
}

fn near_prompt() -> impl Strategy<Value = String> {
    pieces(MARKDOWN, 60).prop_map(|body| format!("{FRONTMATTER}{body}"))
}

/// A file that has its H1, so that more of it is read.
fn titled_prompt() -> impl Strategy<Value = String> {
    pieces(&MARKDOWN[2..], 60).prop_map(|body| format!("{FRONTMATTER}# T\n\n{body}"))
}

fn near_frontmatter() -> impl Strategy<Value = String> {
    pieces(YAML, 30).prop_map(|yaml| format!("---\n{yaml}\n---\n# T\n"))
}

fn near_file() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        near_prompt().prop_map(String::into_bytes),
        titled_prompt().prop_map(String::into_bytes),
        near_frontmatter().prop_map(String::into_bytes),
    ]
}

/// Whether `position` is on a line of `file`, at a byte of it or right behind it.
fn is_inside(file: &[u8], position: Position) -> bool {
    let text = String::from_utf8_lossy(file).replace("\r\n", "\n");
    let lines: Vec<&str> = text.split(['\n', '\r']).collect();
    let line = (position.line as usize).checked_sub(1).and_then(|line| lines.get(line));
    line.is_some_and(|line| (1..=line.len() + 1).contains(&(position.column as usize)))
}

#[derive(Default)]
struct Listener {
    events: Vec<(ParseEventKind, String)>,
    compiled: Vec<LuaBlock>,
    refused: Option<usize>,
}

impl Compiler for Listener {
    fn compile(&mut self, block: &LuaBlock) -> Result<(), CompileError> {
        if self.refused == Some(block.index) {
            return Err(CompileError::Syntax("refused".to_owned()));
        }
        self.compiled.push(block.clone());
        Ok(())
    }

    fn report(&mut self, event: ParseEvent<'_>) {
        self.events.push((event.kind, event.section.to_owned()));
    }
}

fn blocks(prompt: &Prompt) -> impl Iterator<Item = &[Block]> {
    let sections = prompt.sections.iter().map(|section| &section.blocks[..]);
    std::iter::once(&prompt.h1.blocks[..]).chain(sections)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_file_parses_or_errs_at_a_place_inside_it(file in near_file()) {
        if let Err(error) = parse_structure(&file) {
            prop_assert!(error.position.is_none_or(|position| is_inside(&file, position)), "{error:?}");
            if let (Some(span), Ok(source)) = (error.span, Source::read(&file)) {
                prop_assert!(span.start < span.end && span.end <= source.body().len(), "{error:?}");
                prop_assert_eq!(Some(source.position(span.start)), error.position);
            }
        }
    }

    #[test]
    fn crlf_and_a_byte_order_mark_change_nothing(text in prop_oneof![near_prompt(), titled_prompt(), near_frontmatter()]) {
        let parsed = parse_structure(text.as_bytes());
        prop_assert_eq!(&parse_structure(text.replace('\n', "\r\n").as_bytes()), &parsed);
        prop_assert_eq!(&parse_structure(format!("\u{feff}{text}").as_bytes()), &parsed);
    }

    #[test]
    fn every_block_is_the_text_that_it_spans(text in titled_prompt()) {
        let Ok(prompt) = parse_structure(text.as_bytes()) else { return Ok(()) };
        let source = Source::read(text.as_bytes()).expect("the file parsed");
        let slice = |span: Span| &source.body()[span.start..span.end];
        for block in blocks(&prompt).flatten() {
            let (text, span, line) = match block {
                Block::Prose(prose) => (&prose.text, prose.span, prose.line),
                Block::Lua(lua) => (&lua.source, lua.span, lua.line),
            };
            prop_assert_eq!(slice(span), text);
            prop_assert_eq!(source.position(span.start).line, line);
        }
        for section in &prompt.sections {
            prop_assert!(!slice(section.span).trim().is_empty());
            prop_assert_eq!(source.position(section.span.start), Position { line: section.line, column: 1 });
        }
    }

    #[test]
    fn blocks_alternate_and_only_inner_prose_is_empty(text in titled_prompt()) {
        let Ok(prompt) = parse_structure(text.as_bytes()) else { return Ok(()) };
        for blocks in blocks(&prompt) {
            for pair in blocks.windows(2) {
                prop_assert!(pair[0].as_lua().is_some() != pair[1].as_lua().is_some());
            }
            for end in blocks.first().into_iter().chain(blocks.last()) {
                prop_assert!(end.as_prose().is_none_or(|prose| !prose.text.is_empty()));
            }
        }
    }

    #[test]
    fn sections_stand_one_level_below_their_parents(text in titled_prompt()) {
        let Ok(prompt) = parse_structure(text.as_bytes()) else { return Ok(()) };
        for id in prompt.ids() {
            let section = &prompt[id];
            let above = section.parent.map_or(1, |parent| prompt[parent].level);
            prop_assert_eq!(section.level, above + 1);
            prop_assert!(prompt.family(id).contains(&id));
            let twins = prompt.family(id).iter().filter(|&&other| prompt[other].name == section.name);
            prop_assert_eq!(twins.count(), 1);
            prop_assert!(section.items.as_ref().is_none_or(|items| !items.is_empty()));
        }
    }

    #[test]
    fn blocks_are_compiled_in_source_order_and_events_pair_up(text in titled_prompt(), refused in 0..4_usize) {
        let mut listener = Listener { refused: Some(refused), ..Listener::default() };
        let parsed = parse(text.as_bytes(), &mut listener);
        let kinds: Vec<ParseEventKind> = listener.events.iter().map(|(kind, _)| *kind).collect();
        let end = if parsed.is_ok() { ParseEventKind::ParseSucceeded } else { ParseEventKind::ParseFailed };
        prop_assert_eq!((kinds.first(), kinds.last()), (Some(&ParseEventKind::ParseStarted), Some(&end)));
        for pair in kinds[1..kinds.len() - 1].chunks(2) {
            prop_assert_eq!(pair[0], ParseEventKind::LuaCompilationStarted);
            prop_assert!(matches!(pair[1], ParseEventKind::LuaCompilationSucceeded | ParseEventKind::LuaCompilationFailed));
        }
        let indices: Vec<usize> = listener.compiled.iter().map(|block| block.index).collect();
        prop_assert_eq!(&indices, &(0..indices.len()).collect::<Vec<_>>());
        if let Ok(prompt) = &parsed {
            prop_assert_eq!(prompt.lua_block_count, indices.len());
            prop_assert!(prompt.lua_blocks().eq(&listener.compiled));
        }
    }

    #[test]
    fn only_structure_fence_and_list_errors_name_the_prompt(file in near_file()) {
        let Err(error) = parse_structure(&file) else { return Ok(()) };
        let ParseError { name, .. } = &error;
        let kind = format!("{:?}", error.kind());
        prop_assert_eq!(name.is_some(), ["Structure", "Fence", "List"].contains(&kind.as_str()));
    }
}
