//! `runvil test`.

mod common;

use common::Place;
use serde_json::Value;

const CASES: &str = "\
- id: chapter/passes
  spec: s
  rule: r
  prompt: &prompt |
    ---
    name: t
    description: d
    runvil: 0
    ---
    # T
    ## A
    ```lua
    return args
    ```
  host: { args: x }
  expect: { result: x }
- id: chapter/fails
  spec: s
  rule: r
  prompt: *prompt
  host: { args: \"one\\ntwo\" }
  expect: { result: \"one\\nthree\" }
";

#[test]
fn a_failing_case_is_one_line_with_expected_and_actual() {
    let place = Place::new();
    place.file("cases/a.yaml", CASES);
    let run = place.runvil(["test", "cases"]).run();
    assert_eq!(run.status, Some(1), "{run:#?}");
    let lines: Vec<_> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{run:#?}");
    assert!(
        lines[0].starts_with("FAIL chapter/fails (cases/a.yaml:17): "),
        "{run:#?}"
    );
    assert!(
        lines[0].ends_with(r#"result: expected "one\nthree", got "one\ntwo""#),
        "{run:#?}"
    );
    assert_eq!(lines[1], "1 passed, 1 failed, 0 skipped");
}

#[test]
fn a_filter_picks_cases_and_a_list_runs_none() {
    let place = Place::new();
    place.file("a.yaml", CASES);
    let run = place.runvil(["test", "a.yaml", "--filter", "passes"]).run();
    run.completed("1 passed, 0 failed, 0 skipped\n");
    place
        .runvil(["test", "a.yaml", "--list"])
        .run()
        .completed("chapter/passes\nchapter/fails\n");
}

#[test]
fn a_diff_compares_texts_line_by_line() {
    let place = Place::new();
    place.file("a.yaml", CASES);
    let run = place.runvil(["test", "a.yaml", "--diff"]).run();
    assert!(run.stdout.contains("    -three\n"), "{run:#?}");
    assert!(run.stdout.contains("    +two\n"), "{run:#?}");
}

#[test]
fn json_tells_every_verdict() {
    let place = Place::new();
    place.file("a.yaml", CASES);
    let run = place.runvil(["test", "a.yaml", "--json"]).run();
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(
        report["summary"],
        serde_json::json!({ "passed": 1, "failed": 1, "skipped": 0 })
    );
    assert_eq!(report["cases"][1]["mismatches"][0]["actual"], "one\ntwo");
}

#[test]
fn an_unknown_key_fails_the_file_with_its_place() {
    let place = Place::new();
    place.file("a.yaml", format!("{CASES}  hots: {{}}\n"));
    let run = place.runvil(["test", "a.yaml"]).run();
    assert_eq!(run.status, Some(1), "{run:#?}");
    assert!(
        run.stdout.starts_with("FAIL a.yaml:23: case chapter/fails: "),
        "{run:#?}"
    );
    assert!(run.stdout.ends_with("\n0 passed, 1 failed, 0 skipped\n"), "{run:#?}");
}

#[test]
fn a_path_that_is_not_there_is_a_failure() {
    let place = Place::new();
    let run = place.runvil(["test", "nowhere"]).run();
    assert_eq!(run.status, Some(1), "{run:#?}");
    assert!(
        run.stdout
            .starts_with("FAIL nowhere: there is no such file or directory; check the path\n"),
        "{run:#?}"
    );
}

#[test]
fn that_nothing_was_tested_is_no_success() {
    let place = Place::new();
    for (name, text) in [("empty.yaml", ""), ("none.yaml", "[]\n"), ("comment.yaml", "# later\n")] {
        place.file(name, text);
        let run = place.runvil(["test", name]).run();
        assert_eq!(run.status, Some(1), "{run:#?}");
        assert_eq!(
            run.stdout,
            format!("FAIL {name}: the file holds no case\n0 passed, 1 failed, 0 skipped\n")
        );
    }
    place.file("a.yaml", CASES);
    for list in [&[][..], &["--list"]] {
        let mut args = vec!["test", "a.yaml", "--filter", "fails-to-match"];
        args.extend(list);
        place
            .runvil(args)
            .run()
            .refused(2, "--filter fails-to-match: no case has an id that contains this");
    }
}
