//! Case files are read strictly, and a mistake in one is reported with its place.

use std::path::Path;

use runvil_testkit::case::{CaseFile, LoadError};

const HEAD: &str = "\
- id: chapter/first
  spec: A heading
  rule: A rule.
  prompt: x
  expect: {}
";

fn refused(tail: &str) -> LoadError {
    let text = format!("{HEAD}- id: chapter/second\n  spec: s\n  rule: r\n{tail}");
    CaseFile::parse(Path::new("cases.yaml"), &text).expect_err("the file is refused")
}

#[test]
fn every_case_file_of_the_project_is_read() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut cases = 0;
    for path in runvil_testkit::case_files(&[suite]).expect("the suite is listed") {
        cases += CaseFile::read(&path).expect("a readable case file").cases.len();
    }
    assert!(cases > 3000, "{cases} cases");
}

#[test]
fn an_unknown_key_is_named_with_file_case_and_line() {
    let error = refused("  prompt: x\n  expect: {}\n  hosts: {}\n");
    assert_eq!((error.line, error.case.as_deref()), (Some(11), Some("chapter/second")));
    assert!(
        error.to_string().starts_with("cases.yaml:11: case chapter/second: "),
        "{error}"
    );
    assert!(error.message.contains("`hosts`"), "{error}");
}

#[test]
fn an_unknown_key_deep_inside_a_case_is_named_too() {
    let error = refused(
        "  prompt: x\n  host:\n    packs:\n      acme/kit:\n        tools:\n          one:\n            \
         return: x\n  expect: {}\n",
    );
    assert_eq!((error.line, error.case.as_deref()), (Some(15), Some("chapter/second")));
    assert!(error.message.contains("`return`"), "{error}");
}

#[test]
fn a_key_that_a_yaml_1_1_writer_turned_into_true_is_read() {
    let text = format!("{HEAD}  host: {{ actions: [ {{ true: log, do: stop }} ] }}\n");
    let file = CaseFile::parse(Path::new("cases.yaml"), &text).expect("a readable case file");
    assert_eq!(file.cases[0].host.actions[0].nth, 1);
}

#[test]
fn a_case_needs_exactly_one_prompt() {
    for tail in ["  expect: {}\n", "  prompt: x\n  prompt_base64: eA==\n  expect: {}\n"] {
        let error = refused(tail);
        assert_eq!((error.line, error.case.as_deref()), (Some(6), Some("chapter/second")));
        assert!(error.message.contains("prompt_base64"), "{error}");
    }
}

#[test]
fn an_expectation_that_could_never_fail_is_refused() {
    let error = refused("  prompt: x\n  expect: { events_exclude: [run_begun] }\n");
    assert!(error.message.contains("`run_begun` is no event kind"), "{error}");
}

#[test]
fn values_that_cannot_be_meant_are_refused() {
    for (host, says) in [
        ("{ seed: xyz }", "64 hex digits"),
        ("{ limits: { concurrency: 0 } }", "`concurrency` must be at least 1"),
        ("{ model: { id: nameless } }", "`model.id`"),
        ("{ packs: { kit: { tools: {} } } }", "`kit` under `packs`"),
        ("{ replies: [ { status: 500, text: x } ] }", "exclude each other"),
        ("{ replies: [ {} ] }", "a reply has none of"),
        (
            "{ http: { 'https://a.example/': { body: a, body_base64: YQ== } } }",
            "not both",
        ),
    ] {
        let error = refused(&format!("  prompt: x\n  host: {host}\n  expect: {{}}\n"));
        assert!(error.message.contains(says), "{error}");
    }
}

#[test]
fn the_empty_line_between_two_cases_belongs_to_no_text() {
    let text = format!(
        "{HEAD}  host:\n    args: |+\n      a\n\n\n{}",
        HEAD.replace("first", "second")
    );
    let file = CaseFile::parse(Path::new("cases.yaml"), &text).expect("a readable case file");
    assert_eq!(file.cases[0].host.args, "a\n\n");
    assert_eq!(file.cases[1].place.line, 11);
}
