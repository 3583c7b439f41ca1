//! `runvil resume`: what stands in its way is said before anything of the run is done.

mod common;

use std::fs;

use common::{Outcome, Place, Server};
use serde_json::Value;

const ASKS: &str = "models:\n  m: {}\n";

/// Leaves two files, then asks a model.
const WORK: &str = "## A\n\n```lua\nmodels.use('m')\nstore.write('one.md', 'one')\nstore.write('two.md', 'two')\n\
                    store.append('two.md', '!')\nlocal said = models.infer('hello')\nlog('said')\n\
                    return said .. store.read('two.md')\n```\n";

fn killed(args: &[&str]) -> Place {
    let place = Place::with_records();
    place.prompt(ASKS, WORK);
    place.kill_in_a_round(&[&["prompt.md", "x"], args].concat());
    place
}

fn resume(place: &Place, server: &str, args: &[&str]) -> Outcome {
    place.runvil([&["resume", "last"], args].concat()).server(server).run()
}

/// How often the run was resumed, and whether it has ended.
fn state(place: &Place) -> (u64, bool) {
    let database = place.database();
    let run = database.find("last").expect("a run");
    let summary = database.summary(run).expect("a run");
    (summary.resumed, summary.outcome.is_some())
}

#[test]
fn files_that_were_changed_since_stop_a_resume_until_somebody_accepts_them() {
    let place = killed(&["--store", "st"]);
    fs::write(place.path("st/two.md"), "other").expect("written");
    fs::remove_file(place.path("st/one.md")).expect("removed");
    resume(&place, "echo+changed", &[])
        .refused(
            1,
            "files of the store are not as the run left them: one.md is gone; two.md was changed",
        )
        .says("help: bring the files back to what they were, or resume with --on-changed accept");
    assert!(!state(&place).1);
    assert_eq!(Server::shared().requests("echo+changed", "chat/completions").len(), 0);
    resume(&place, "echo+changed", &["--on-changed", "accept"])
        .completed("helloother")
        .says("note: files of the store are not as the run left them: one.md is gone; two.md was changed; the run goes on");
    // The resume that was refused does not count.
    assert_eq!(state(&place), (1, true));
}

#[test]
fn files_that_came_back_stop_nothing() {
    let place = killed(&["--store", "st"]);
    fs::rename(place.path("st"), place.path("moved")).expect("moved");
    resume(&place, "echo+moved", &[])
        .refused(1, "st, in which it keeps files, is gone")
        .says("help: bring the directory back, or put a link to where it is now in its place");
    assert!(!place.path("st").exists());
    fs::rename(place.path("moved"), place.path("st")).expect("moved back");
    resume(&place, "echo+moved", &[]).completed("hellotwo!");
    assert_eq!(state(&place), (1, true));
}

#[test]
fn a_directory_is_only_missed_where_the_run_found_or_made_it() {
    const ASKS_FIRST: &str = "## A\n\n```lua\nmodels.use('m')\nreturn models.infer('hello')\n```\n";
    let place = Place::with_records();
    place.prompt(ASKS, ASKS_FIRST);
    place.kill_in_a_round(&["prompt.md", "x", "--store", "st"]);
    resume(&place, "echo+unmade", &[]).completed("hello");
    fs::create_dir(place.path("found")).expect("a directory");
    place.kill_in_a_round(&["prompt.md", "x", "--store", "found"]);
    fs::remove_dir(place.path("found")).expect("removed");
    resume(&place, "echo+unmade", &[]).refused(1, "found, in which it keeps files, is gone");
    fs::create_dir(place.path("mounted")).expect("a directory");
    place.kill_in_a_round(&["prompt.md", "x", "--mount", "/docs=mounted"]);
    fs::remove_dir(place.path("mounted")).expect("removed");
    resume(&place, "echo+unmade", &[]).refused(1, "mounted, in which it keeps files, is gone");
}

#[test]
fn an_endpoint_that_cannot_be_asked_leaves_the_run_as_it_is() {
    let place = killed(&[]);
    let down = |url: &str| place.runvil(["resume", "last"]).env("RUNVIL_GATEWAY_URL", url).run();
    down("http://127.0.0.1:9/v1")
        .refused(
            1,
            "it asks the model first, and http://127.0.0.1:9/v1 cannot be asked now",
        )
        .says("help: see that the endpoint answers, then resume the run");
    resume(&place, "locked-models", &[]).refused(1, "did not accept the credentials (status 401)");
    place
        .runvil(["resume", "last"])
        .run()
        .refused(2, "no endpoint is configured");
    assert_eq!(state(&place), (0, false));
    // An endpoint without a list can be asked all the same.
    resume(&place, "no-models", &[]).completed("Hello, world!two!");
    assert_eq!(state(&place), (1, true));
}

#[test]
fn the_options_of_a_run_are_those_of_a_resume() {
    let place = killed(&[]);
    let run = resume(
        &place,
        "usage-20-10+opt",
        &["--json", "--events", "jsonl:e.jsonl", "--verbose"],
    );
    assert_eq!(run.status, Some(0), "{run:#?}");
    let told: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(told["result"], "Hello, world!two!");
    assert_eq!(told["usage"]["rounds"], 1);
    assert!(told["run"].is_string(), "{told}");
    run.says("round").says("[A] said");
    let events = place.read("e.jsonl");
    assert!(
        events.contains("\"kind\":\"lua\"") && events.contains("run_succeeded"),
        "{events}"
    );

    let place = killed(&[]);
    let run = resume(&place, "echo+opt", &["--quiet"]);
    run.completed("hellotwo!");
    assert_eq!(run.stderr, "");

    let place = killed(&[]);
    let run = resume(&place, "echo+opt", &["--events", "jsonl"]);
    run.completed("hellotwo!");
    assert!(run.stderr.lines().all(|line| line.starts_with('{')), "{run:#?}");

    let place = killed(&[]);
    resume(&place, "echo+opt", &["--debug"]).refused(2, "began without debug mode");
    assert!(!state(&place).1);
    let place = killed(&["--debug"]);
    resume(&place, "echo+opt", &["--events", "jsonl:e.jsonl"]).completed("hellotwo!");
    assert!(place.read("e.jsonl").contains("\"kind\":\"request\""));
}

const ROUNDS: &str = "## A\n\n```lua\nmodels.use('m')\nfor i = 1, 3 do models.infer('round ' .. i) end\n\
                      store.write('f', 'x')\nreturn 'made'\n```\n";

fn killed_of_three_rounds(args: &[&str]) -> Place {
    let place = Place::with_records();
    place.prompt(ASKS, ROUNDS);
    place.kill_in_a_round(&[&["prompt.md", "x"], args].concat());
    place
}

#[test]
fn a_budget_counts_what_the_run_used_before() {
    let place = killed_of_three_rounds(&[]);
    resume(&place, "usage-20-10+used", &["--max-rounds", "1"]).refused(130, "it passed its budget of 1 model round");
    let fork = |args: &[&str]| {
        place
            .runvil([&["fork", "last", "--at", "1"], args].concat())
            .server("usage-20-10+used")
            .run()
    };
    fork(&["--max-rounds", "2"])
        .refused(130, "it passed its budget of 2 model rounds")
        .says("note: 1 model round and 30 tokens from before count against the budget");
    fork(&["--max-rounds", "3", "--max-total-tokens", "90"]).completed("made");
    fork(&["--max-total-tokens", "80", "--max-rounds", "9"]).refused(130, "its budget of 80 tokens, having used 90");
    let runs = place.runs();
    fork(&["--max-total-tokens", "29"])
        .refused(
            2,
            "with what it used before, it passed its budget of 29 tokens, having used 30",
        )
        .says("help: raise --max-total-tokens");
    assert_eq!(place.runs(), runs);
}

#[test]
fn a_budget_holds_for_a_run_that_goes_on() {
    let place = killed_of_three_rounds(&["--max-rounds", "2"]);
    resume(&place, "echo+holds", &[]).refused(130, "it passed its budget of 2 model rounds");
    let place = killed_of_three_rounds(&["--max-rounds", "2"]);
    resume(&place, "echo+holds", &["--max-rounds", "3"])
        .completed("made")
        .says("note: `max_rounds` was 2 and is 3 now");
}

#[test]
fn each_change_is_said_with_what_was_and_what_is() {
    let place = Place::with_records();
    let prompt = place.prompt(
        &format!("{ASKS}input: {{ path: in.md, description: i }}\n"),
        "## A\n\n```lua\nmodels.use('m')\nreturn models.infer('hello') .. store.read('in.md')\n```\n",
    );
    place.file("given.txt", "given");
    place.file("ui.json", "{\"a\":1}");
    place.kill_in_a_round(&["prompt.md", "x", "--input", "given.txt", "--ui", "ui.json"]);
    let text = fs::read_to_string(&prompt).expect("the prompt");
    fs::write(&prompt, text.replace("hello", "hullo")).expect("written");
    place.file("given.txt", "another");
    fs::remove_file(place.path("ui.json")).expect("removed");
    place.file(
        "runvil.toml",
        "[record]\npath = 'kept/runs.db'\n[limits]\nconcurrency = 2\n[model]\nid = 'second'\n[budget]\nmax_rounds = 7\n",
    );
    let run = resume(&place, "echo+each", &[]);
    run.completed("hellogiven");
    for says in [
        "prompt.md was edited since; the recorded text is run",
        "given.txt was edited since; the recorded input is given",
        "ui.json is gone; the recorded UI snapshot is given",
        "/silent and is ",
        "the model was first and would be second now; first is asked",
        "`concurrency` under [limits] was 8 and would be 2 now; 8 holds",
        "`max_rounds` under [budget] was none and is 7 now; none holds",
    ] {
        run.says(says);
    }
    // What is said of the model in use.
    place.file(
        "runvil.toml",
        "[record]\npath = 'kept/runs.db'\n[model]\nid = 'first'\ncontext = 9\nthinking = 'never'\n",
    );
    let fork = place.runvil(["fork", "last", "--at", "1"]).server("echo+each").run();
    fork.completed("hellogiven")
        .says("the context window of the model was 32000 and would be 9 now; 32000 holds")
        .says("whether the model thinks was switchable and would be never now; switchable holds");
}

#[test]
fn a_run_is_resumed_by_one_process_alone() {
    let place = killed(&[]);
    let run = place.database().find("last").expect("a run");
    let mut first = place.runvil(["resume", "last"]).server("silent").spawn();
    while !place.database().is_live(run).expect("known") {
        assert_eq!(first.try_wait().expect("a child"), None);
    }
    let refused = resume(&place, "echo+alone", &[]);
    first.kill().expect("killed");
    first.wait().expect("ended");
    refused.refused(1, "is still going, in another process");
    resume(&place, "echo+alone", &[]).completed("hellotwo!");
}

#[test]
fn a_run_goes_on_without_its_prompt_file() {
    let place = killed(&[]);
    fs::remove_file(place.path("prompt.md")).expect("removed");
    resume(&place, "echo+gone", &[])
        .completed("hellotwo!")
        .says("prompt.md is gone; the recorded text is run");
}

#[test]
fn an_output_file_that_cannot_be_written_any_more_stops_a_resume() {
    let place = Place::with_records();
    let writes = WORK.replace("two.md", "out.md");
    place.prompt(&format!("{ASKS}output: {{ path: out.md, description: d }}\n"), &writes);
    fs::create_dir(place.path("kept-here")).expect("a directory");
    place.kill_in_a_round(&["prompt.md", "x", "--output", "kept-here/out.md"]);
    fs::remove_dir(place.path("kept-here")).expect("removed");
    resume(&place, "echo+unwritable", &[])
        .refused(1, "there is no directory")
        .says("help: make the directory; the record is as it was");
    assert_eq!(state(&place), (0, false));
    fs::create_dir(place.path("kept-here")).expect("a directory");
    resume(&place, "echo+unwritable", &[]).completed("hellotwo!");
    assert_eq!(place.read("kept-here/out.md"), "two!");
}

#[cfg(unix)]
#[test]
fn somebody_at_the_terminal_is_asked_about_changed_files() {
    let place = killed(&["--store", "st"]);
    fs::write(place.path("st/two.md"), "other").expect("written");
    let mut left = place.at_terminal("echo+asked", &["resume", "last"]);
    left.sees("Go on with them as they are (g), or leave the run as it is (l)?");
    left.types("l\r");
    assert_eq!(left.ends(), 1);
    assert!(!state(&place).1);
    let mut accepted = place.at_terminal("echo+asked", &["resume", "last"]);
    accepted.sees("leave the run as it is (l)?");
    accepted.types("what\r");
    accepted.sees("not understood; type g (go) or l (leave)");
    accepted.wait("the second question", |screen| {
        screen.matches("leave the run").count() == 2
    });
    accepted.types("Yes\r");
    accepted.sees("helloother");
    assert_eq!(accepted.ends(), 0);
}
