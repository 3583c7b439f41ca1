//! `runvil run`: results, exit statuses, and what a run is given.

mod common;

use std::fs;

use common::{Place, Server, shipped};

#[test]
fn the_result_goes_to_standard_output_byte_for_byte() {
    let place = Place::new();
    let echo = shipped("echo.md");
    let run = |args: &str| place.runvil(["run".as_ref(), echo.as_os_str(), args.as_ref()]).run();
    run("hello").completed("hello");
    run("  two lines\n\tend \n").completed("  two lines\n\tend \n");
    run("").completed("");
    run("--not-an-option").completed("--not-an-option");
}

#[test]
fn a_failed_run_ends_with_status_1_and_its_kind_and_message() {
    let place = Place::new();
    let prompt = place.prompt("", "## A\n\n```lua\nerror('the reason', 0)\n```");
    place
        .runvil(["run".as_ref(), prompt.as_os_str()])
        .run()
        .refused(1, "the reason")
        .says("(Lua)");
}

#[test]
fn a_prompt_that_does_not_parse_shows_its_line_with_a_caret() {
    let place = Place::new();
    let prompt = place.prompt("", "## A\n\n## A\n");
    let run = place.runvil(["run".as_ref(), prompt.as_os_str()]).run();
    run.refused(1, "duplicate sibling section name `A`")
        .says("prompt.md:11:1")
        .says("11 | ## A")
        .says("^");
}

#[test]
fn an_unsupported_version_is_refused() {
    let place = Place::new();
    let prompt = place.file("v.md", "---\nname: v\ndescription: d\nrunvil: 1\n---\n\n# V\n");
    place
        .runvil(["run".as_ref(), prompt.as_os_str()])
        .run()
        .refused(1, "unsupported runvil version: 1 (this build supports major 0)");
}

const FILES: &str =
    "input: { path: paper.md, description: The paper }\noutput: { path: report.md, description: The report }\n";
const COPY: &str = "## A\n\n```lua\nstore.write('report.md', 'seen: ' .. store.read('paper.md'))\nreturn 'ok'\n```";

#[test]
fn input_and_output_files_go_in_and_out() {
    let place = Place::new();
    let prompt = place.prompt(FILES, COPY);
    place.file("in.md", "# Päper\n");
    place
        .runvil([
            "run",
            prompt.to_str().expect("text"),
            "--input",
            "in.md",
            "--output",
            "out.md",
        ])
        .run()
        .completed("ok");
    assert_eq!(place.read("out.md"), "seen: # Päper\n");
}

#[test]
fn a_dash_reads_the_input_text_from_standard_input() {
    let place = Place::new();
    let prompt = place.prompt(FILES, COPY);
    place
        .runvil([
            "run",
            prompt.to_str().expect("text"),
            "--input",
            "-",
            "--output",
            "out.md",
        ])
        .input("from a pipe")
        .run()
        .completed("ok");
    assert_eq!(place.read("out.md"), "seen: from a pipe");
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_model_is_asked() {
    const WRITES: &str = "## A\n\n```lua\nmodels.use('m')\nstore.write('o', models.infer('x'))\nreturn 'r'\n```\n";
    let place = Place::with_records();
    place.prompt("models: { m: {} }\noutput: { path: o, description: d }\n", WRITES);
    let run = |output: &str| {
        place
            .runvil(["run", "prompt.md", "--output", output])
            .server("echo+nodir")
            .run()
    };
    run("nodir/x")
        .refused(1, "--output nodir/x: there is no directory nodir")
        .says("help: make the directory, or name a file in another one");
    run("prompt.md/x").refused(1, "--output prompt.md/x: there is no directory prompt.md");
    run(".").refused(2, "--output .: this is a directory, not a file");
    run("-")
        .refused(2, "--output -: the output file cannot go to standard output")
        .says("`./-`");
    assert!(!place.path("kept/runs.db").exists());
    assert_eq!(Server::shared().requests("echo+nodir", "chat/completions").len(), 0);
    // Nothing is left of the look at the directory.
    let files = || {
        let entries = fs::read_dir(place.path("")).expect("a directory").flatten();
        entries
            .filter(|entry| entry.path().is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    assert!(files().iter().all(|name| !name.starts_with('.')), "{:?}", files());
    run("./-").completed("r");
    assert_eq!(place.read("-"), "x");
    let fork = ["fork", "last", "--at", "1", "--output", "nodir/x"];
    let fork = place.runvil(fork).server("echo+nodir").run();
    fork.refused(1, "--output nodir/x: there is no directory nodir");
    assert_eq!(place.runs(), 1);
}

#[test]
fn an_output_file_that_was_not_written_is_said_and_leaves_the_old_one() {
    let place = Place::new();
    let prompt = place.prompt("output: { path: report.md, description: d }\n", "");
    place.file("out.md", "old");
    place
        .runvil(["run", prompt.to_str().expect("text"), "--output", "out.md"])
        .run()
        .completed("done")
        .says("the run completed without writing its declared output file `report.md`");
    assert_eq!(place.read("out.md"), "old");
}

#[test]
fn a_declared_input_that_nobody_supplies_fails_the_run() {
    let place = Place::new();
    let prompt = place.prompt(FILES, COPY);
    place
        .runvil(["run".as_ref(), prompt.as_os_str()])
        .run()
        .refused(1, "the prompt declares the input file `paper.md`")
        .says("(Input)");
}

#[test]
fn a_store_directory_keeps_what_a_run_writes() {
    let place = Place::new();
    let prompt = place.prompt(
        "",
        "## A\n\n```lua\nstore.append('log/a.md', 'x')\nreturn store.read('log/a.md')\n```",
    );
    let run = || {
        place
            .runvil(["run", prompt.to_str().expect("text"), "--store", "kept"])
            .run()
    };
    run().completed("x");
    run().completed("xx");
    assert_eq!(place.read("kept/log/a.md"), "xx");
}

#[test]
fn store_modes_and_read_only_stores_refuse_changes() {
    let place = Place::new();
    let prompt = place.prompt(
        "",
        "## A\n\n```lua\nlocal _, e = pcall(store.write, 'a.txt', 'x')\nreturn e.reason\n```",
    );
    let prompt = prompt.to_str().expect("text");
    place
        .runvil(["run", prompt, "--read-only"])
        .run()
        .completed("read_only");
    place
        .runvil(["run", prompt, "--store-mode", "ask"])
        .run()
        .completed("approval_required");
    place
        .runvil(["run", prompt, "--store-mode", "plan"])
        .run()
        .completed("permission_denied");
}

#[test]
fn a_mount_lies_outside_the_stores_view() {
    let place = Place::new();
    place.file("docs/secret.txt", "x");
    let prompt = place.prompt(
        "",
        "## A\n\n```lua\nreturn tostring(store.exists('docs/secret.txt'))\n```",
    );
    let prompt = prompt.to_str().expect("text");
    place
        .runvil(["run", prompt, "--mount", "/docs=docs"])
        .run()
        .completed("false");
    place
        .runvil(["run", prompt, "--mount", "docs"])
        .run()
        .refused(2, "there is no `=`");
    place
        .runvil(["run", prompt, "--mount", "/docs=nowhere"])
        .run()
        .refused(1, "there is no directory nowhere");
}

#[test]
fn the_ui_snapshot_and_the_name_reach_the_prompt() {
    let place = Place::new();
    place.file("ui.json", r#"{"theme":"dark"}"#);
    let prompt = place.prompt("", "## A\n\n```lua\nreturn ui().theme\n```");
    let prompt = prompt.to_str().expect("text");
    place
        .runvil(["run", prompt, "--ui", "ui.json", "--name", "n-7"])
        .run()
        .completed("dark");
    place.file("ui.json", "{theme}");
    place
        .runvil(["run", prompt, "--ui", "ui.json"])
        .run()
        .refused(1, "the file is not JSON");
}

const ASK: &str = "## A\n\n```lua\nlocal a, b = input.ask(), input.ask()\nreturn a .. '|' .. b\n```";

#[test]
fn piped_input_serves_one_line_a_message() {
    let place = Place::new();
    let prompt = place.prompt("uses: [user-input]\n", ASK);
    let run = |input: &str| place.runvil(["run".as_ref(), prompt.as_os_str()]).input(input).run();
    run("  one \ntwo").completed("  one |two");
    run("one\n").refused(1, "tool call failure: the operator's input has ended");
}

#[test]
fn without_an_operator_a_prompt_that_asks_is_refused() {
    let place = Place::new();
    let prompt = place.prompt("uses: [user-input]\n", ASK);
    let notice = "- user-input needs runvil/input-broker, and the environment provides none";
    place
        .runvil(["run".as_ref(), prompt.as_os_str(), "--no-operator".as_ref()])
        .run()
        .refused(1, notice);
}

#[test]
fn a_run_that_asks_nothing_leaves_standard_input_alone() {
    let place = Place::new();
    let mut child = place.runvil(["run".as_ref(), shipped("echo.md").as_os_str(), "x".as_ref()]);
    child = child.input("unread\n");
    child.run().completed("x");
}

#[test]
fn limits_come_from_the_configuration() {
    let place = Place::new();
    place.file("runvil.toml", "[limits]\nlua_log_events = 1\n");
    let prompt = place.prompt("", "## A\n\n```lua\nlog('a')\nlog('b')\n```");
    let run = || place.runvil(["run".as_ref(), prompt.as_os_str()]).run();
    run().refused(1, "lua log event quota exceeded");
    place.file("runvil.toml", "[limits]\nlua_log_event = 1\n");
    run().refused(2, "`lua_log_event`").says("runvil.toml").says("line 2");
}

#[test]
fn a_round_without_model_access_fails_and_a_prompt_without_rounds_does_not() {
    let place = Place::new();
    let silent = place.prompt("models: { w: {} }\n", "## A\n\n```lua\nreturn 'ok'\n```");
    place.runvil(["run".as_ref(), silent.as_os_str()]).run().completed("ok");
    let prompt = place.prompt(
        "models: { w: {} }\n",
        "## A\n\n```lua\nmodels.use('w')\nreturn models.infer('hi')\n```",
    );
    place
        .runvil(["run".as_ref(), prompt.as_os_str()])
        .run()
        .refused(1, "models.use label \"w\" is not a bound model role")
        .says("help: set RUNVIL_GATEWAY_URL");
    place
        .runvil(["run", prompt.to_str().expect("text"), "--model", "m"])
        .run()
        .refused(1, "model access is turned off or not configured");
}

#[test]
fn an_unusable_gateway_variable_is_a_setup_error() {
    let place = Place::new();
    let echo = shipped("echo.md");
    let run = |url: &str| {
        place
            .runvil(["run".as_ref(), echo.as_os_str()])
            .env("RUNVIL_GATEWAY_URL", url)
            .run()
    };
    run("ftp://host/v1")
        .refused(2, "gateway URL must use the http or https scheme")
        .does_not_say("ftp://");
    run("https://gate.example/v1").refused(2, "missing environment variable: RUNVIL_GATEWAY_API_KEY");
    run("").refused(2, "gateway URL must be an absolute URL");
}

#[test]
fn a_result_that_nobody_reads_is_no_panic() {
    let place = Place::new();
    let prompt = place.prompt("", "## A\n\n```lua\nreturn string.rep('x', 4000000)\n```");
    let mut child = place.runvil(["run".as_ref(), prompt.as_os_str()]).spawn();
    drop(child.stdout.take());
    let outcome = common::Outcome::from(child.wait_with_output().expect("the command ends"));
    outcome.refused(1, "standard output cannot be written");
}

#[test]
fn nothing_is_asked_of_an_endpoint_that_a_prompt_does_not_need() {
    let place = Place::new();
    place
        .runvil([
            "run".as_ref(),
            "--no-record".as_ref(),
            shipped("echo.md").as_os_str(),
            "x".as_ref(),
        ])
        .server("unneeded")
        .run()
        .completed("x");
    assert!(Server::shared().requests("unneeded", "models").is_empty());
    assert!(
        fs::read_dir(place.path(".")).expect("a directory").next().is_none(),
        "a run without a record leaves nothing behind"
    );
}
