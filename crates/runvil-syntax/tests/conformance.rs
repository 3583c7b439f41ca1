//! The project's conformance cases, as far as the parser alone answers them: every expected parse error, and that every other
//! prompt parses. For a case of kind `Lua` a stand-in for the compiler refuses the block that the expected message names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use runvil_syntax::{CompileError, Compiler, LuaBlock, ParseError, parse};
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
struct Case {
    id: String,
    prompt: Option<String>,
    prompt_base64: Option<String>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    parse: Option<ParseExpect>,
    error: Option<ErrorExpect>,
    events: Option<Vec<Event>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ParseExpect {
    Ok(#[expect(dead_code, reason = "the word `ok`")] String),
    Error(Box<ParseErrorExpect>),
}

#[derive(Deserialize)]
struct ParseErrorExpect {
    kind: String,
    fence_rule: Option<String>,
    message: Option<String>,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    not_contains: Vec<String>,
    #[serde(default, deserialize_with = "written")]
    line: Option<Option<u32>>,
    #[serde(default, deserialize_with = "written")]
    column: Option<Option<u32>>,
    #[serde(default, deserialize_with = "written")]
    name: Option<Option<String>>,
}

#[derive(Deserialize)]
struct ErrorExpect {
    kind: String,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Event {
    Named(Vec<String>),
    Fields(BTreeMap<String, serde::de::IgnoredAny>),
}

/// Tells a key written as null from one left out.
fn written<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[test]
fn the_parser_answers_every_case_as_expected() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let files = case_files(&suite);
    assert!(!files.is_empty(), "no case files in {}", suite.display());
    let mut failures = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a case file is readable");
        let cases: Vec<Case> =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for case in cases {
            if let Err(failure) = check(&case) {
                failures.push(format!("{}: {failure}", case.id));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn case_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("the suite is readable") {
        let path = entry.expect("the suite is readable").path();
        if path.is_dir() {
            files.extend(case_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn check(case: &Case) -> Result<(), String> {
    let file = match (&case.prompt, &case.prompt_base64) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(encoded)) => BASE64_STANDARD.decode(encoded).expect("valid base64"),
        (None, None) => return Err("no prompt".to_owned()),
    };
    let mut refuses = Refuses(match &case.expect.parse {
        Some(ParseExpect::Error(expected)) if expected.kind == "Lua" => Some(expected),
        _ => None,
    });
    let parsed = parse(&file, &mut refuses);
    match &case.expect.parse {
        Some(ParseExpect::Error(expected)) => match parsed {
            Ok(_) => Err("parses".to_owned()),
            Err(error) => check_error(expected, &error),
        },
        None if may_fail(&case.expect) => Ok(()),
        Some(ParseExpect::Ok(_)) | None => parsed.map(drop).map_err(|error| unexpected(&error)),
    }
}

/// Refuses the first block whose compile error would have the texts that a case expects.
struct Refuses<'a>(Option<&'a ParseErrorExpect>);

impl Compiler for Refuses<'_> {
    fn compile(&mut self, block: &LuaBlock) -> Result<(), CompileError> {
        let LuaBlock { location, line, .. } = block;
        let diagnostic = format!("[string \"line {line}\"]:1: syntax error");
        let message = format!("lua compilation error at {location} (line {line}): {diagnostic}");
        let named = |expected: &&ParseErrorExpect| expected.locations().all(|text| message.contains(text));
        match self.0.filter(named) {
            Some(_) => Err(CompileError::Syntax(diagnostic)),
            None => Ok(()),
        }
    }
}

impl ParseErrorExpect {
    /// The expected texts as far as they are the parser's. In a case of kind `Lua` the compiler's own text follows the location.
    fn locations(&self) -> impl Iterator<Item = &str> {
        let is_lua = self.kind == "Lua";
        let of_parser = move |text: &&str| !is_lua || text.contains('`');
        let location = move |text: &'_ str| match text.find("): ") {
            Some(end) if is_lua => end + 3,
            _ => text.len(),
        };
        let texts = self.contains.iter().chain(self.message.iter().filter(move |_| is_lua));
        let texts = texts.map(String::as_str).filter(of_parser);
        texts.map(move |text| &text[..location(text)])
    }
}

/// Whether a case without an expected parse error may still be one: by its run error, or by its events.
fn may_fail(expect: &Expect) -> bool {
    let by_error = expect.error.as_ref().is_some_and(|error| {
        error.kind == "Parse" && error.message.as_deref() != Some("not a runvil prompt: no runvil version")
    });
    let is_failure = |event: &Event| match event {
        Event::Named(names) => names.first().is_some_and(|kind| kind == "parse_failed"),
        Event::Fields(fields) => fields.contains_key("parse_failed"),
    };
    by_error
        || expect
            .events
            .as_ref()
            .is_some_and(|events| events.iter().any(is_failure))
}

fn unexpected(error: &ParseError) -> String {
    format!("{:?} at {:?}: {error}", error.kind(), error.position)
}

fn check_error(expected: &ParseErrorExpect, error: &ParseError) -> Result<(), String> {
    let message = error.message();
    let mut wrong = Vec::new();
    let mut compare = |what: &str, matches: bool| {
        if !matches {
            wrong.push(what.to_owned());
        }
    };
    compare("kind", format!("{:?}", error.kind()) == expected.kind);
    if let Some(rule) = &expected.fence_rule {
        compare(
            "fence_rule",
            error.fence_rule().map(|rule| format!("{rule:?}")).as_ref() == Some(rule),
        );
    }
    if let Some(exact) = expected.message.as_ref().filter(|_| expected.kind != "Lua") {
        compare("message", *exact == message);
    }
    compare("contains", expected.locations().all(|text| message.contains(text)));
    compare(
        "not_contains",
        !expected.not_contains.iter().any(|text| message.contains(text)),
    );
    compare("line", expected.line.is_none_or(|line| line == error.line()));
    compare("column", expected.column.is_none_or(|column| column == error.column()));
    compare("name", expected.name.as_ref().is_none_or(|name| *name == error.name));
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "wrong {}: {} ({:?})",
            wrong.join(", "),
            unexpected(error),
            error.name
        ))
    }
}
