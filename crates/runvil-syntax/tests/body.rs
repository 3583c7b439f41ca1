//! The body: the tree that it gives, and each structure, fence and list problem with its place.

use runvil_syntax::{
    Block, BlockPlace, CompileError, Compiler, FenceRule, LuaBlock, ParseError, ParseErrorKind, ParseEvent,
    ParseEventKind, Position, Problem, Prompt, Section, Source, parse, parse_structure,
};

/// A file whose body's first line is line 5 of the file.
fn file(body: &str) -> String {
    format!("---\nname: p\ndescription: d\n---\n{body}")
}

fn parsed(body: &str) -> Prompt {
    parse_structure(file(body).as_bytes()).expect(body)
}

fn section(body: &str) -> Section {
    parsed(&format!("# T\n## S\n{body}")).sections.remove(0)
}

fn error(body: &str) -> ParseError {
    parse_structure(file(body).as_bytes()).expect_err(body)
}

/// The message, the line and column, and the text that the span covers.
fn placed(body: &str) -> (String, Option<(u32, u32)>, Option<String>) {
    let error = error(body);
    assert_eq!(error.name.as_deref(), Some("p"), "{body:?}");
    let text = file(body);
    let source = Source::read(text.as_bytes()).expect("has its delimiters");
    let place = error.position.map(|Position { line, column }| (line, column));
    let covered = error.span.map(|span| source.body()[span.start..span.end].to_owned());
    (error.message(), place, covered)
}

/// A body, its message, its line and column, and what its span covers.
type Case<'a> = (&'a str, &'a str, Option<(u32, u32)>, Option<&'a str>);

fn check(cases: &[Case<'_>]) {
    for (body, message, place, covered) in cases {
        let expected = ((*message).to_owned(), *place, covered.map(str::to_owned));
        assert_eq!(placed(body), expected, "{body:?}");
    }
}

#[test]
fn a_title_problem_has_no_place() {
    check(&[
        ("words\n", "prompt requires an H1 title", None, None),
        ("> # T\n", "prompt requires an H1 title", None, None),
        (
            "# A\n\nB\n===\n",
            "prompt must contain exactly one H1 title, found 2 at lines 5, 7",
            None,
            None,
        ),
        ("#\n", "prompt H1 title must not be empty", None, None),
        ("# ![](x)\n", "prompt H1 title must not be empty", None, None),
    ]);
}

#[test]
fn a_heading_problem_spans_the_heading() {
    check(&[
        (
            "# T\n### D\n",
            "section `D` is an orphan H3 heading with no parent H2",
            Some((6, 1)),
            Some("### D"),
        ),
        (
            "# T\n## A\n  ##### *D* #\n",
            "section `D` is an orphan H5 heading with no parent H3",
            Some((7, 1)),
            Some("  ##### *D* #"),
        ),
        (
            "# T\n## A\n###### \n",
            "section `` is an orphan H6 heading with no parent H3",
            Some((7, 1)),
            Some("###### "),
        ),
        (
            "# T\n##\n",
            "an H2 section heading must not be empty",
            Some((6, 1)),
            Some("##"),
        ),
        (
            "# T\n## A b\n\nA b\n---\n",
            "duplicate sibling section name `A b`: first declared at line 6, again at line 8; sibling section names must be unique",
            Some((8, 1)),
            Some("A b\n---"),
        ),
        (
            "# T\n## Run `x`\n## Run x\n",
            "duplicate sibling section name `Run x`: first declared at line 6, again at line 7; sibling section names must be unique",
            Some((7, 1)),
            Some("## Run x"),
        ),
    ]);
}

#[test]
fn a_broken_fence_rule_spans_its_line() {
    const OPENER: &str = "`lua` fence opening line must be exactly ```lua";
    const CLOSER: &str = "`lua` fence closing line must be exactly ```";
    const LABEL: &str = "unrecognized fence label `lua x`; the only Lua fence label is `lua`";
    check(&[
        ("# T\n- ~~~  lua x \n", LABEL, Some((6, 1)), Some("- ~~~  lua x ")),
        ("# T\n  ```lua\n```\n", OPENER, Some((6, 1)), Some("  ```lua")),
        ("# T\n> ```lua\n", OPENER, Some((6, 1)), Some("> ```lua")),
        ("# T\n```lua\nx\n  ```\t\nrest\n", CLOSER, Some((8, 1)), Some("  ```\t")),
        ("# T\n<b>\n ~~~ LUA\n", OPENER, Some((7, 1)), Some(" ~~~ LUA")),
    ]);
    let rules = [
        ("```luau\n", FenceRule::Label),
        ("~~~lua\n", FenceRule::Opener),
        ("```lua\n````\n", FenceRule::Closer),
        ("    ```lua\n", FenceRule::Lookalike),
    ];
    for (body, rule) in rules {
        assert_eq!(error(&format!("# T\n\n{body}")).fence_rule(), Some(rule), "{body:?}");
    }
}

#[test]
fn an_unclosed_fence_names_its_section_and_has_no_place() {
    let unclosed = |name: &str, place: &str| format!("section `{name}` {place} `lua` fence is not closed");
    check(&[
        ("# T\n\n```lua\n## A\n", &unclosed("T", "prologue"), None, None),
        (
            "# T\nx\n## A\n\n### B\n```lua\n    ```\n```x\n~~~\n",
            &unclosed("B", "prologue"),
            None,
            None,
        ),
        ("# T\n## A\nx\n\n```lua", &unclosed("A", "epilog"), None, None),
        ("# T\n## A\n```lua\n```\n```lua\n", &unclosed("A", "epilog"), None, None),
        ("# T\n## A\nx\n\n---\n```lua\n", &unclosed("A", "prologue"), None, None),
    ]);
    assert_eq!(error("# T\n```lua\n").fence_rule(), None);
}

#[test]
fn the_first_fence_problem_in_the_file_wins() {
    let problem = |body: &str| error(&format!("# T\n{body}")).problem;
    assert_eq!(problem("    ```lua\n\n```luau\n"), Problem::FenceLookalike);
    assert_eq!(problem("```lua\n ```\n\n```luau\n```\n"), Problem::FenceCloser);
    assert_eq!(
        problem("```py\n```\n```luau\n```\n```lua\n"),
        Problem::FenceLabel("luau".to_owned())
    );
}

#[test]
fn other_fences_close_as_in_commonmark() {
    let body = "```py\nx\n``` \t\n\n```lua\nreturn 1\n```\n";
    assert_eq!(section(body).blocks.len(), 2);
    let quoted = section("> ~~~\n> x\n\n```lua\nreturn 1\n```\n");
    assert_eq!(quoted.blocks.len(), 2);
}

#[test]
fn a_list_problem_has_no_place() {
    check(&[(
        "# T\n## A\n- a\n-\n\n\n",
        "empty bullet item in list section `A`",
        None,
        None,
    )]);
}

#[test]
fn sections_nest_by_level() {
    let prompt = parsed("# T\n## A\n### X\n#### P\n#### Q\n### Y\n## B\n### X\n");
    let tree: Vec<(String, Option<usize>, Vec<usize>)> = prompt
        .sections
        .iter()
        .map(|section| {
            let children = section.children.iter().map(|child| child.0).collect();
            (section.heading(), section.parent.map(|parent| parent.0), children)
        })
        .collect();
    let row = |heading: &str, parent, children: &[usize]| (heading.to_owned(), parent, children.to_vec());
    assert_eq!(
        tree,
        [
            row("## A", None, &[1, 4]),
            row("### X", Some(0), &[2, 3]),
            row("#### P", Some(1), &[]),
            row("#### Q", Some(1), &[]),
            row("### Y", Some(0), &[]),
            row("## B", None, &[6]),
            row("### X", Some(5), &[]),
        ]
    );
    let top_level: Vec<usize> = prompt.top_level.iter().map(|id| id.0).collect();
    assert_eq!(top_level, [0, 5]);
    assert_eq!(
        prompt.family(prompt.sections[0].children[0]),
        prompt.sections[0].children
    );
}

#[test]
fn a_section_owns_what_stands_up_to_the_next_heading() {
    let prompt = parsed("above\n\n# T\n\n  in\n\n## A\n\n  a\n\nb  \n\n### X\nx\n## B\n\n\n");
    let prose = |blocks: &[Block]| -> Vec<String> {
        blocks
            .iter()
            .filter_map(Block::as_prose)
            .map(|prose| prose.text.clone())
            .collect()
    };
    assert_eq!(prose(&prompt.h1.blocks), ["in"]);
    let owned: Vec<(&str, Vec<String>)> = prompt
        .sections
        .iter()
        .map(|section| (section.markdown.as_str(), prose(&section.blocks)))
        .collect();
    assert_eq!(
        owned,
        [
            ("  a\n\nb", vec!["a\n\nb".to_owned()]),
            ("x", vec!["x".to_owned()]),
            ("", vec![])
        ]
    );
    assert_eq!((prompt.h1.title.as_str(), prompt.h1.line), ("T", 7));
}

#[test]
fn fences_cut_a_section_into_blocks() {
    let section = section("one\n\n```lua\n\n  a = 1\n\n\n```\n```lua\n```\n\ntwo\n\n---\n");
    let blocks: Vec<(&str, u32)> = section
        .blocks
        .iter()
        .map(|block| match block {
            Block::Prose(prose) => (prose.text.as_str(), prose.line),
            Block::Lua(lua) => (lua.source.as_str(), lua.line),
        })
        .collect();
    assert_eq!(blocks, [("one", 7), ("\n  a = 1", 10), ("", 15), ("", 16)]);
    let places: Vec<BlockPlace> = section
        .blocks
        .iter()
        .filter_map(Block::as_lua)
        .map(|lua| lua.place)
        .collect();
    assert_eq!(places, [BlockPlace::Numbered(1), BlockPlace::Epilog]);
}

#[test]
fn a_label_names_the_heading_line_where_sections_share_a_name() {
    let lua = "```lua\n```\n";
    let prompt = parsed(&format!(
        "# T\n{lua}{lua}## A\n### H\n{lua}## B\n### H\n{lua}x\n\n{lua}## T\n{lua}x\n\n{lua}{lua}"
    ));
    let labels: Vec<&str> = prompt.lua_blocks().map(|block| block.location.as_str()).collect();
    assert_eq!(
        labels,
        [
            "H1 `T` lua",
            "H1 `T` lua",
            "section `H` (line 11) prologue",
            "section `H` (line 15) prologue",
            "section `H` (line 15) epilog",
            "section `T` prologue",
            "section `T` lua 2",
            "section `T` epilog",
        ]
    );
}

#[test]
fn only_a_section_of_markers_is_a_list() {
    assert_eq!(
        section("- a\n\n  7. b\n").items,
        Some(vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(section("words\n\n---\n\n- a\n").items, Some(vec!["a".to_owned()]));
    assert_eq!(section("- a\n\n```lua\n```\n").items, None);
    assert_eq!(section("").items, None);
    assert_eq!(section("- a\n\n- - -\n").items, None);
    assert_eq!(section("- a\n\n  ---\n").items, None);
}

#[test]
fn a_break_in_a_quote_resets_nothing() {
    let section = section("> a\n>\n> ---\n>\n> b\n\n```lua\n```\n");
    let prose = section.blocks[0].as_prose().expect("prose comes first");
    assert_eq!(prose.text, "> a\n>\n> ---\n>\n> b");
}

/// Refuses one block and writes down what it hears.
struct Recorder {
    refused: Option<(usize, CompileError)>,
    heard: Vec<String>,
}

impl Compiler for Recorder {
    fn compile(&mut self, block: &LuaBlock) -> Result<(), CompileError> {
        self.heard.push(format!("compile {}", block.index));
        match &self.refused {
            Some((index, error)) if *index == block.index => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn report(&mut self, event: ParseEvent<'_>) {
        let kind = match event.kind {
            ParseEventKind::ParseStarted => "started",
            ParseEventKind::ParseSucceeded => "succeeded",
            ParseEventKind::ParseFailed => "failed",
            ParseEventKind::LuaCompilationStarted => "lua started",
            ParseEventKind::LuaCompilationSucceeded => "lua succeeded",
            ParseEventKind::LuaCompilationFailed => "lua failed",
        };
        self.heard.push(format!("{kind} {}", event.section));
    }
}

fn heard(body: &str, refused: Option<(usize, CompileError)>) -> (Vec<String>, Option<ParseError>) {
    let mut recorder = Recorder {
        refused,
        heard: Vec::new(),
    };
    let error = parse(file(body).as_bytes(), &mut recorder).err();
    (recorder.heard, error)
}

const TWO_BLOCKS: &str = "# T\n```lua\na\n```\n## S\n### K\n```lua\nb\n```\n## S\n";

#[test]
fn each_block_is_reported_under_its_section_before_later_problems() {
    let (events, error) = heard(TWO_BLOCKS, None);
    assert_eq!(
        events,
        [
            "started Prompt",
            "lua started T",
            "compile 0",
            "lua succeeded T",
            "lua started K",
            "compile 1",
            "lua succeeded K",
            "failed Prompt",
        ]
    );
    assert_eq!(error.map(|error| error.kind()), Some(ParseErrorKind::Structure));
}

#[test]
fn a_block_that_does_not_compile_ends_the_parse() {
    let refused = (1, CompileError::Syntax("[string \"line 11\"]:1: oops".to_owned()));
    let (events, error) = heard(TWO_BLOCKS, Some(refused));
    assert_eq!(
        events[4..],
        ["lua started K", "compile 1", "lua failed K", "failed Prompt"]
    );
    let error = error.expect("refused");
    assert_eq!(
        error.message(),
        "lua compilation error at section `K` prologue (line 12): [string \"line 11\"]:1: oops"
    );
    assert_eq!(
        (error.kind(), &error.name, error.position, error.span),
        (ParseErrorKind::Lua, &None, None, None)
    );
    assert!(matches!(&error.problem, Problem::Lua(block) if block.code == "b"));
}

#[test]
fn a_compiler_that_cannot_start_is_an_internal_fault() {
    let refused = (0, CompileError::Internal("no memory".to_owned()));
    let (_, error) = heard(TWO_BLOCKS, Some(refused));
    let error = error.expect("refused");
    assert_eq!(
        (error.kind(), error.message().as_str(), &error.name),
        (ParseErrorKind::Internal, "no memory", &None)
    );
}

#[test]
fn nothing_is_compiled_before_the_fences_are_in_order() {
    let (events, _) = heard("# T\n```lua\n```\n## A\n~~~lua\n~~~\n", None);
    assert_eq!(events, ["started Prompt", "failed Prompt"]);
    let mut recorder = Recorder {
        refused: None,
        heard: Vec::new(),
    };
    assert!(parse(b"", &mut recorder).is_err());
    assert_eq!(recorder.heard, ["started Prompt", "failed Prompt"]);
}

#[test]
fn a_missing_version_is_a_structure_error_of_the_prompt() {
    let error = ParseError::no_version("greeter");
    assert_eq!(error.to_string(), "not a runvil prompt: no runvil version");
    assert_eq!(
        (error.kind(), error.name.as_deref()),
        (ParseErrorKind::Structure, Some("greeter"))
    );
}
