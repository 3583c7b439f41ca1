//! What the runner makes of cases: what it compares, what it cannot run, and what never ends.
#![allow(clippy::panic, reason = "a verdict of another sort fails the test")]

use std::{fmt::Write as _, time::Duration};

use runvil_testkit::{RunOptions, Verdict, run_paths};

/// One case: a prompt's further frontmatter and body, the Host, and what is expected.
fn case(frontmatter: &str, body: &str, host: &str, expect: &str) -> String {
    let prompt = format!("---\nname: t\ndescription: d\nrunvil: 0\n{frontmatter}---\n# T\n{body}\n");
    let mut text = String::from("- id: chapter/case\n  spec: s\n  rule: r\n  prompt: |\n");
    for line in prompt.lines() {
        writeln!(text, "    {line}").expect("text is written to memory");
    }
    write!(text, "  host: {host}\n  expect: {expect}\n").expect("text is written to memory");
    text
}

/// The verdict on one case.
fn verdict(case: &str) -> Verdict {
    let options = RunOptions {
        time_limit: Duration::from_millis(1500),
        ..RunOptions::default()
    };
    let folder = tempfile::tempdir().expect("a folder for the case");
    std::fs::write(folder.path().join("a.yaml"), case).expect("the case is written");
    let mut report = run_paths(&[folder.path()], &options);
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    report.cases.pop().expect("one case").verdict
}

/// The case passes with the first expectation and fails with the second, at this key.
#[track_caller]
fn tells_apart(frontmatter: &str, body: &str, host: &str, meets: &str, misses: &str, key: &str) {
    assert_eq!(
        verdict(&case(frontmatter, body, host, meets)),
        Verdict::Passed,
        "{meets}"
    );
    match verdict(&case(frontmatter, body, host, misses)) {
        Verdict::Failed(found) => assert!(found[0].what.starts_with(key), "{found:?}"),
        other => panic!("{misses}: {other:?}"),
    }
}

#[track_caller]
fn breaks(case: &str, says: &str) {
    match verdict(case) {
        Verdict::Broke(why) => assert!(why.contains(says), "{why}"),
        other => panic!("{other:?}"),
    }
}

const MODEL: &str = "models: { w: { keywords: [no-thinking] } }\n";
const ASK: &str = "## A\n```lua\nmodels.use('w')\nmessages:system('s')\nmessages:user('u')\nmodels.loop()\nreturn messages[3].content\n```";

#[test]
fn a_result_and_an_outcome_are_compared() {
    let body = "## A\n```lua\nreturn 'x'\n```";
    tells_apart("", body, "{}", "{ result: x }", "{ result: y }", "result");
    tells_apart(
        "",
        body,
        "{}",
        "{ result_matches: '[x-z]' }",
        "{ result_matches: '[a-c]' }",
        "result",
    );
    tells_apart("", body, "{}", "{}", "{ outcome: failed }", "outcome");
}

#[test]
fn a_request_is_compared_down_to_roles_tools_and_thinking() {
    let host = "{ replies: [ { text: r } ] }";
    let wants = |want: &str| format!("{{ requests: [ {want} ] }}");
    for (meets, misses, key) in [
        ("{ roles: [system, user] }", "{ roles: [user] }", "requests[0].roles"),
        ("{ thinking: false }", "{ thinking: null }", "requests[0].thinking"),
        (
            "{ tool_schemas: [] }",
            "{ tool_schemas: [ { name: x } ] }",
            "requests[0].tool_schemas",
        ),
        ("{ contains: [u] }", "{ contains: [v] }", "requests[0].messages"),
        ("{ temperature: null }", "{ temperature: 1 }", "requests[0].temperature"),
    ] {
        tells_apart(MODEL, ASK, host, &wants(meets), &wants(misses), key);
    }
}

#[test]
fn a_reply_can_be_given_as_the_bytes_of_its_stream() {
    let raw = r#"{ raw: "data: {\"choices\":[{\"delta\":{\"content\":\"raw\"}}]}\n\ndata: [DONE]\n\n" }"#;
    tells_apart(
        MODEL,
        ASK,
        &format!("{{ replies: [ {raw} ] }}"),
        "{ result: raw }",
        "{ result: '' }",
        "result",
    );
    let cut = r#"{ raw: "data: {\"choices\":[{\"delta\":{\"content\":\"raw\"}}]}\n\n" }"#;
    let meets = "{ error: { kind: Completion, contains: ['[DONE] sentinel'] } }";
    tells_apart(
        MODEL,
        ASK,
        &format!("{{ replies: [ {cut} ] }}"),
        meets,
        "{ error: { kind: Lua } }",
        "error.kind",
    );
}

#[test]
fn a_model_that_stands_in_is_named_by_the_events() {
    let events = |model: &str| format!("{{ events_include: [ {{ kind: assistant_reply, model: {model} }} ] }}");
    let host = "{ replies: [ { text: r, sent_to: other } ] }";
    tells_apart(MODEL, ASK, host, &events("other"), &events("m"), "events_include[0]");
}

#[test]
fn without_model_access_a_round_fails_and_none_is_sent() {
    let meets = "{ error: { message: model access is turned off or not configured }, request_count: 0 }";
    tells_apart(
        MODEL,
        ASK,
        "{ model_access: false }",
        meets,
        "{ error: {}, request_count: 1 }",
        "request_count",
    );
}

#[test]
fn a_late_reply_comes_after_what_is_in_turn() {
    let body = "## A\n```lua\nmodels.default('w')\nlocal t = {}\nfor i = 1, 2 do t[i] = tasks.spawn('### B', { input = 'n' .. i }) end\n\
                local _, _, first = tasks.join_any(t)\nfor _, rest in ipairs(tasks.pending()) do tasks.cancel(rest) end\n\
                return first\n```\n### B\n```lua\nmodels.use('w')\nreturn models.infer(args)\n```";
    let host = |late: &str| {
        let first = format!("{{ when: {{ contains: n1 }}, text: one{late} }}");
        format!("{{ replies: [ {first}, {{ when: {{ contains: n2 }}, text: two }} ] }}")
    };
    tells_apart(MODEL, body, &host(""), "{ result: one }", "{ result: two }", "result");
    tells_apart(
        MODEL,
        body,
        &host(", late: true"),
        "{ result: two }",
        "{ result: one }",
        "result",
    );
}

#[test]
fn events_are_counted() {
    let body = "## A\n```lua\nlog('a')\nlog('b')\n```";
    tells_apart(
        "",
        body,
        "{}",
        "{ event_counts: { lua: 2 } }",
        "{ event_counts: { lua: 1 } }",
        "event_counts.lua",
    );
}

#[test]
fn the_frontmatter_reads_back() {
    let meets = "{ frontmatter: { name: t, runvil: 0, max_tool_iterations: 3 } }";
    tells_apart(
        "max_tool_iterations: 3\n",
        "",
        "{}",
        meets,
        "{ frontmatter: { name: u } }",
        "frontmatter.name",
    );
}

#[test]
fn a_parse_error_is_compared_down_to_its_span() {
    let body = "## A\n## A";
    let wants = |span: &str| format!("{{ parse: {{ kind: Structure, line: 8, column: 1, name: t, span: {span} }} }}");
    tells_apart("", body, "{}", &wants("[9, 13]"), &wants("null"), "parse.span");
    let located = |line: u32| format!("{{ error: {{ kind: Parse, location: {{ path: t, line: {line} }} }} }}");
    tells_apart("", body, "{}", &located(8), &located(9), "error.location.line");
    tells_apart(
        "",
        "## A\n```lua\nerror('x')\n```",
        "{}",
        "{ error: { location: null } }",
        "{ error: { location: {} } }",
        "error.location",
    );
}

#[test]
fn a_store_may_refuse_every_session_or_hold_what_is_no_text() {
    let body = "## A\n```lua\nlocal _, e = pcall(store.read, 'a.bin')\nreturn e.reason\n```";
    tells_apart(
        "",
        body,
        "{ store_base64: { a.bin: /w== } }",
        "{ result: not_utf8 }",
        "{ result: x }",
        "result",
    );
    let refuses = "{ error: { kind: Vfs, contains: [the store backend refuses every session] } }";
    tells_apart(
        "",
        body,
        "{ store_kind: refusing }",
        refuses,
        "{ error: { kind: Lua } }",
        "error.kind",
    );
}

#[test]
fn a_pack_may_not_get_ready() {
    let host = "{ packs: { acme/kit: { not_ready: it is asleep, tools: {} } } }";
    let meets = "{ error: { contains: ['- kit is unavailable: it is asleep'] } }";
    tells_apart(
        "uses: [acme/kit]\n",
        "",
        host,
        meets,
        "{ error: { contains: [x] } }",
        "error.message",
    );
}

#[test]
fn a_run_that_waits_for_what_the_case_never_answers_breaks() {
    let ask = "## A\n```lua\nreturn input.ask()\n```";
    let host = "{ packs: { runvil/user-input: builtin }, operator: [] }";
    breaks(
        &case("uses: [user-input]\n", ask, host, "{}"),
        "the case never answers a call of user-input/ask",
    );
    breaks(&case(MODEL, ASK, "{}", "{}"), "no reply is left for a model round");
}

#[test]
fn a_run_that_spins_is_cancelled_and_breaks() {
    breaks(
        &case("", "## A\n```lua\nwhile true do end\n```", "{}", "{}"),
        "the run did not end within 1.5 s",
    );
}
