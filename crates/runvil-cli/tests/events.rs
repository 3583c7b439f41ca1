//! `--events jsonl`, `--debug`, `--json` and `--verbose`.

mod common;

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use common::{Outcome, Place, Server};
use serde_json::{Value, json};

const INFER: &str = "## A\n\n```lua\nmodels.use('w')\nreturn models.infer(args)\n```";

fn infer(place: &Place, server: &str, options: &[&str]) -> Outcome {
    let prompt = place.prompt("models: { w: {} }\n", INFER);
    let mut args = vec!["run", prompt.to_str().expect("text"), "say it"];
    args.extend(options);
    place.runvil(args).server(server).run()
}

fn lines(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(parse).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["kind"].as_str().expect("a kind"))
        .collect()
}

#[test]
fn each_event_is_one_line_of_a_file() {
    let place = Place::new();
    infer(&place, "hello+e1", &["--events", "jsonl:e.jsonl", "--name", "n-1"]).completed("Hello, world!");
    let events = lines(&place.read("e.jsonl"));
    insta::assert_snapshot!(kinds(&events).join(" "), @"parse_started lua_compilation_started lua_compilation_succeeded parse_succeeded run_started section_started lua_chunk_started chat model_turn_completed model_metadata_degraded assistant_reply lua_chunk_succeeded lua_teardown_started lua_teardown_succeeded section_finished run_succeeded");
    assert_eq!(events[0]["execution"], "n-1");
    assert_eq!(events[0]["provenance"], json!({ "task": "0", "sequence": 0 }));
    assert_eq!(events[5]["section"], "A");
}

#[test]
fn events_on_standard_error_stand_there_alone() {
    let place = Place::new();
    let run = infer(&place, "hello+e2", &["--events", "jsonl", "--verbose"]);
    run.completed("Hello, world!");
    assert_eq!(kinds(&lines(&run.stderr)).last(), Some(&"run_succeeded"));
}

#[test]
fn an_event_is_there_before_the_next_thing_happens() {
    let (place, root) = (Place::new(), "gated+events");
    let prompt = place.prompt("models: { w: {} }\n", INFER);
    let child = place
        .runvil(["run", prompt.to_str().expect("text"), "x", "--events", "jsonl:e.jsonl"])
        .server(root)
        .spawn();
    let begun = Instant::now();
    while Server::shared().requests(root, "chat/completions").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the round is sent");
        sleep(Duration::from_millis(10));
    }
    let events = lines(&place.read("e.jsonl"));
    assert_eq!(kinds(&events).last(), Some(&"chat"));
    Server::shared().open_gate(root);
    Outcome::from(child.wait_with_output().expect("the command ends")).completed("You said \"x\".");
}

#[test]
fn debug_mode_adds_the_raw_bodies() {
    let place = Place::new();
    infer(&place, "hello+e3", &["--events", "jsonl:e.jsonl", "--debug"]).completed("Hello, world!");
    let events = lines(&place.read("e.jsonl"));
    let of = |kind: &str| events.iter().find(|event| event["kind"] == kind).expect(kind).clone();
    assert_eq!(of("request")["body"]["messages"][0]["content"], "say it");
    assert!(of("response")["body"].to_string().contains("[DONE]"), "{events:#?}");
    let plain = lines(&{
        infer(&place, "hello+e3", &["--events", "jsonl:plain.jsonl"]).completed("Hello, world!");
        place.read("plain.jsonl")
    });
    assert!(!kinds(&plain).contains(&"request") && !kinds(&plain).contains(&"response"));
}

#[test]
fn events_that_cannot_be_written_are_said() {
    let place = Place::new();
    infer(&place, "hello+e4", &["--events", "jsonl:nowhere/e.jsonl"]).refused(1, "--events: nowhere/e.jsonl: ");
    assert!(Server::shared().requests("hello+e4", "chat/completions").is_empty());
    infer(&place, "hello+e4", &["--events", "yaml"]).refused(2, "`jsonl` or `jsonl:FILE` is meant");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_the_events_and_not_the_run() {
    let place = Place::new();
    let run = infer(&place, "hello+e5", &["--events", "jsonl:/dev/full"]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(1), "Hello, world!"),
        "{run:#?}"
    );
    run.says("--events: /dev/full: ");
}

fn object(run: &Outcome) -> Value {
    assert_eq!(run.stdout.lines().count(), 1, "{run:#?}");
    serde_json::from_str(&run.stdout).expect("one JSON object")
}

#[test]
fn json_tells_the_result_and_the_usage() {
    let place = Place::new();
    let run = infer(&place, "usage-20-10+j1", &["--json"]);
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:#?}");
    let usage = json!({
        "rounds": 1, "rounds_of_unknown_use": 0,
        "prompt_tokens": 20, "completion_tokens": 10, "reasoning_tokens": null,
    });
    let mut told = object(&run);
    let id = told["run"].take();
    assert_eq!(
        told,
        json!({ "outcome": "completed", "result": "Hello, world!", "usage": usage, "run": null })
    );
    let shown = place.runvil(["show", id.as_str().expect("an id"), "--json"]).run();
    assert_eq!(object(&shown)["id"], id);
    let unrecorded = object(&infer(&place, "hello+j1", &["--json", "--no-record"]));
    assert_eq!(unrecorded["run"], Value::Null);
    let unknown = object(&infer(&place, "hello+j1", &["--json"]));
    assert_eq!(unknown["usage"]["prompt_tokens"], Value::Null);
    assert_eq!(unknown["usage"]["rounds_of_unknown_use"], 1);
}

#[test]
fn json_tells_kind_message_retryable_and_location_of_a_failure() {
    let place = Place::new();
    let run = infer(&place, "status-503+j2", &["--json"]);
    assert_eq!((run.status, run.stderr.as_str()), (Some(1), ""), "{run:#?}");
    let failed = object(&run);
    assert_eq!(failed["outcome"], "failed");
    assert_eq!(
        failed["error"],
        json!({
            "kind": "Completion", "message": "the model backend is overloaded (status 503)", "retryable": true,
            "location": null, "place": null, "help": "the failure may pass; run the prompt again",
        })
    );

    place.file(
        "twice.md",
        "---\nname: twice\ndescription: d\nrunvil: 0\n---\n# T\n## S\n## S\n",
    );
    let error = object(&place.runvil(["run", "twice.md", "--json"]).run())["error"].clone();
    assert_eq!(error["kind"], "Parse");
    assert_eq!(error["retryable"], false);
    let location = &error["location"];
    assert_eq!(
        (&location["path"], &location["line"], &location["column"]),
        (&json!("twice"), &json!(8), &json!(1))
    );
    assert_eq!(error["place"], json!({ "file": "twice.md", "line": 8, "column": 1 }));

    place.file("yaml.md", "---\nname: y\n: : :\n---\n");
    let error = object(&place.runvil(["run", "yaml.md", "--json"]).run())["error"].clone();
    assert_eq!(error["location"]["path"], "yaml.md");

    place.prompt("", "## A\n\n```lua\nlocal x\nerror('why')\n```");
    let error = object(&place.runvil(["run", "prompt.md", "--json"]).run())["error"].clone();
    assert_eq!((&error["kind"], &error["location"]), (&json!("Lua"), &Value::Null));
    assert_eq!(error["place"], json!({ "file": "prompt.md", "line": 13, "column": 1 }));
}

#[test]
fn json_tells_why_a_run_was_cancelled() {
    let place = Place::new();
    let run = infer(&place, "hello+j3", &["--json", "--max-rounds", "0"]);
    assert_eq!(run.status, Some(130), "{run:#?}");
    let cancelled = object(&run);
    assert_eq!(
        (
            &cancelled["outcome"],
            &cancelled["cause"],
            &cancelled["usage"]["rounds"]
        ),
        (&json!("cancelled"), &json!("max_rounds"), &json!(0))
    );
}

#[test]
fn json_warns_of_an_output_file_that_was_not_written() {
    let place = Place::new();
    place.prompt("output: { path: report.md, description: d }\n", "");
    let run = object(&place.runvil(["run", "prompt.md", "--json"]).run());
    assert_eq!(run["result"], "done");
    let warning = run["warning"].as_str().expect("a warning");
    assert!(warning.contains("`report.md`"), "{warning}");
}

/// The text with each time in it made the same.
fn timeless(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.parse::<f64>() {
        Ok(_) if word.contains('.') => "0.0",
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ").replace("     ", " ")
}

#[test]
fn verbose_tells_each_step_where_nobody_watches() {
    let place = Place::new();
    let body = "## A\n\n```lua\nlog('going')\nvar.a = tasks.fanout('### Each', { 'x' })[1].text\n```\n\n### Each\n\n```lua\nmodels.use('w')\nreturn models.infer(item)\n```\n\n## B\n\n```lua\nreturn var.a\n```";
    let prompt = place.prompt("models: { w: {} }\n", body);
    let run = place
        .runvil(["run", prompt.to_str().expect("text"), "", "--verbose"])
        .server("usage-20-10+v1")
        .run();
    run.completed("Hello, world!");
    insta::assert_snapshot!(timeless(&run.stderr));
}

#[test]
fn quiet_shows_the_result_alone() {
    let place = Place::new();
    let run = infer(&place, "hello+q1", &["--quiet"]);
    run.completed("Hello, world!");
    assert_eq!(run.stderr, "");
    infer(&place, "status-503+q2", &["--quiet"]).refused(1, "the model backend is overloaded");
    infer(&place, "hello+q3", &["--quiet", "--verbose"]).refused(2, "cannot be used with");
}
