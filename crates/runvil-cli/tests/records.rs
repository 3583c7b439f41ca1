//! `runvil run` keeps a record, and `replay`, `resume` and `fork` use it.

mod common;

use std::{fs, path::PathBuf};

use common::{Place, Server, part::Part};
use runvil_record::{Database, RunFilter};

/// A place whose records are in a file that the test knows.
fn place() -> Place {
    let place = Place::new();
    place.file("runvil.toml", "[record]\npath = 'kept/runs.db'\n");
    place
}

fn records(place: &Place) -> PathBuf {
    place.path("kept/runs.db")
}

fn database(place: &Place) -> Database {
    Database::open_existing(records(place)).expect("a database")
}

const ASKS: &str = "models:\n  m: {}\n";

const TWO_ROUNDS: &str =
    "## A\n\n```lua\nmodels.use('m')\nlocal a = models.infer('one ' .. args)\nreturn a .. models.infer('two')\n```\n";

#[test]
fn a_run_replays_the_same_until_its_prompt_is_edited() {
    let place = place();
    let prompt = place.prompt(ASKS, TWO_ROUNDS);
    place
        .runvil(["run"])
        .server("echo+replay")
        .run_file(&prompt, "x")
        .completed("one xtwo");
    let requests = Server::shared().requests("echo+replay", "chat/completions").len();
    let replay = place.runvil(["replay", "last"]).run();
    assert_eq!(replay.status, Some(0), "{replay:#?}");
    assert!(
        replay.stdout.contains("the same in 3 steps, 2 effects and"),
        "{replay:#?}"
    );

    let text = fs::read_to_string(&prompt).expect("the prompt");
    fs::write(&prompt, text.replace("'two'", "'three'")).expect("the prompt");
    let edited = place.runvil(["replay", "last"]).run();
    assert_eq!(edited.status, Some(1), "{edited:#?}");
    edited.says("was edited since");
    assert!(
        edited.stdout.contains("event chat of section A (step 1)"),
        "{edited:#?}"
    );
    assert!(edited.stdout.contains("at .messages[0].content"), "{edited:#?}");
    assert!(
        edited.stdout.contains("recorded: \"two\"") && edited.stdout.contains("now:      \"three\""),
        "{edited:#?}"
    );
    let recorded = place.runvil(["replay", "last", "--recorded"]).run();
    assert_eq!(recorded.status, Some(0), "{recorded:#?}");
    let given = place.file("other.md", text.replace("one ", "uno "));
    let given = place
        .runvil(["replay", "last", given.to_str().expect("a path"), "--json"])
        .run();
    assert_eq!(given.status, Some(1), "{given:#?}");
    let json: serde_json::Value = serde_json::from_str(&given.stdout).expect("JSON");
    assert_eq!(json["divergence"]["recorded"], "one x");
    // Nothing was asked again.
    assert_eq!(
        Server::shared().requests("echo+replay", "chat/completions").len(),
        requests
    );
}

#[test]
fn a_replay_tells_its_events_or_nothing_at_all() {
    let place = place();
    let prompt = place.prompt("", "## A\n\n```lua\nlog('seen')\nreturn 'x'\n```\n");
    place
        .runvil(["run", "--events", "jsonl:run.jsonl"])
        .run_file(&prompt, "")
        .completed("x");
    let replay = place
        .runvil(["replay", "last", "--quiet", "--events", "jsonl:replay.jsonl"])
        .run();
    assert_eq!((replay.status, replay.stdout.as_str()), (Some(0), ""), "{replay:#?}");
    assert_eq!(place.read("replay.jsonl"), place.read("run.jsonl"));
    let text = fs::read_to_string(&prompt).expect("the prompt");
    fs::write(&prompt, text.replace("'seen'", "'unseen'")).expect("the prompt");
    let replay = place.runvil(["replay", "last", "--quiet", "--events", "jsonl"]).run();
    assert_eq!((replay.status, replay.stdout.as_str()), (Some(1), ""), "{replay:#?}");
    // The replay ends behind the step that differs.
    assert!(replay.stderr.contains("\"message\":\"unseen\""), "{replay:#?}");
    assert!(replay.stderr.lines().all(|line| line.starts_with('{')), "{replay:#?}");
}

#[test]
fn a_run_that_failed_or_did_not_parse_replays() {
    let place = place();
    let prompt = place.prompt("", "## A\n\n```lua\nstore.write('a', 'b')\nerror('no')\n```\n");
    place.runvil(["run"]).run_file(&prompt, "").refused(1, "no");
    let replay = place.runvil(["replay", "last"]).run();
    assert_eq!(replay.status, Some(0), "{replay:#?}");
    assert!(replay.stdout.contains(" steps, 1 effect and "), "{replay:#?}");
    let broken = place.file("broken.md", "---\nname: p\n");
    place.runvil(["run"]).run_file(&broken, "").refused(1, "");
    let replay = place.runvil(["replay", "last"]).run();
    assert_eq!(replay.status, Some(0), "{replay:#?}");
    assert_eq!(
        database(&place)
            .runs(&RunFilter::default(), None, 9)
            .expect("a page")
            .runs
            .len(),
        2
    );
}

#[test]
fn nothing_is_kept_where_nothing_is_to_be() {
    let place = place();
    let prompt = place.prompt("", "## A\n\n```lua\nreturn 'x'\n```\n");
    place
        .runvil(["run", "--no-record"])
        .run_file(&prompt, "")
        .completed("x");
    assert!(!records(&place).exists());
    place
        .runvil(["replay", "last"])
        .run()
        .refused(1, "there are no records here yet")
        .says("help:");
    place.file("runvil.toml", "[record]\nenabled = false\npath = 'kept/runs.db'\n");
    place.runvil(["run"]).run_file(&prompt, "").completed("x");
    assert!(!records(&place).exists());
    place.runvil(["run", "--durable"]).run_file(&prompt, "").completed("x");
}

#[test]
fn a_database_that_cannot_be_used_is_told_before_the_run_begins() {
    let place = place();
    let prompt = place.prompt("", "## A\n\n```lua\nreturn 'x'\n```\n");
    place.file(
        "kept/runs.db",
        "this is no database at all, but a text that is long enough to tell\n".repeat(20),
    );
    place
        .runvil(["run"])
        .run_file(&prompt, "")
        .refused(1, "this is no database of runs")
        .says("--no-record")
        .says("runs.db");
    place
        .runvil(["run", "--no-record"])
        .run_file(&prompt, "")
        .completed("x");
    place
        .runvil(["resume", "last"])
        .run()
        .refused(1, "this is no database of runs");
}

#[test]
fn an_unknown_or_an_ended_run_cannot_be_resumed() {
    let place = place();
    let prompt = place.prompt("", "## A\n\n```lua\nreturn 'x'\n```\n");
    place.runvil(["run"]).run_file(&prompt, "").completed("x");
    place
        .runvil(["resume", "last"])
        .run()
        .refused(1, "has ended")
        .says("help: replay it, or fork it");
    place
        .runvil(["resume", "0123"])
        .run()
        .refused(1, "there is no run `0123`");
    place
        .runvil(["replay", "nonsense"])
        .run()
        .refused(1, "there is no run `nonsense`");
}

#[test]
fn a_run_that_died_is_found_under_the_name_that_the_list_shows() {
    let place = place();
    place.prompt(ASKS, TWO_ROUNDS);
    place.kill_in_a_round(&["prompt.md", "x"]);
    for run in ["one", "two", "three"] {
        let args = ["run", "prompt.md", run];
        assert_eq!(place.runvil(args).server("echo+died").run().status, Some(0));
    }
    let died = place.kill_in_a_round(&["prompt.md", "x"]);
    let listed = |args: &[&str]| place.runvil([&["runs"], args].concat()).run();
    let lines = |args: &[&str]| listed(args).stdout.lines().count();
    for outcome in ["interrupted", "open"] {
        let told = listed(&["--outcome", outcome]);
        assert_eq!(told.stdout.matches("interrupted").count(), 2, "{told:#?}");
        assert_eq!(told.stdout.lines().count(), 3, "{told:#?}");
    }
    let page = listed(&["--outcome", "interrupted", "--limit", "1"]);
    let after = page.stderr.trim().split('`').nth(1).expect("a hint").to_owned();
    assert!(died.to_string().starts_with(&after["--after ".len()..]), "{page:#?}");
    assert_eq!(lines(&["--outcome", "interrupted", "--after", &died.to_string()]), 2);
    listed(&["--outcome", "running"])
        .completed("")
        .says("no run is recorded that fits");
    let help = place.runvil(["runs", "--help"]).run().stdout;
    assert!(help.contains("interrupted") && help.contains("running"), "{help}");
    // A path is found as it was given, and as it is recorded.
    let whole = place.path("prompt.md");
    for prompt in ["prompt.md", "./prompt.md", whole.to_str().expect("text"), "p"] {
        assert_eq!(lines(&["--prompt", prompt]), 6, "{prompt}");
    }
    assert_eq!(lines(&["--prompt", "other.md"]), 0);
}

#[test]
fn a_fork_has_the_same_answers_up_to_an_effect_and_its_own_behind_it() {
    let place = place();
    let prompt = place.prompt(ASKS, TWO_ROUNDS);
    place
        .runvil(["run"])
        .server("echo+fork")
        .run_file(&prompt, "x")
        .completed("one xtwo");
    let count = || Server::shared().requests("echo+fork", "chat/completions").len();
    assert_eq!(count(), 2);
    let text = fs::read_to_string(&prompt).expect("the prompt");
    let other = place.file("other.md", text.replace("'two'", "'three'"));
    let fork = |more: &[&str]| {
        let run = database(&place)
            .runs(&RunFilter::default(), None, 100)
            .expect("a page")
            .runs;
        let first = run.last().expect("a run").id.to_string();
        place
            .runvil([&["fork", &first], more].concat())
            .server("echo+fork")
            .run()
    };
    fork(&["--at", "1", "--prompt", other.to_str().expect("a path")]).completed("one xthree");
    assert_eq!(count(), 3);
    let answer = place.file("answer.json", r#"{"answer":"model","ok":{"text":"uno "}}"#);
    let answer = answer.to_str().expect("a path");
    fork(&["--at", "1", "--answer", answer]).completed("uno two");
    assert_eq!(count(), 4);
    fork(&["--at", "2"]).completed("one xtwo");
    assert_eq!(count(), 4);
    fork(&["--at", "7"]).refused(2, "has no such effect");
    let wrong = place.file("wrong.json", r#"{"answer":"timer"}"#);
    fork(&["--at", "1", "--answer", wrong.to_str().expect("a path")]).refused(2, "of another kind");
    // A fork is a run of its own, and replays like any.
    assert_eq!(place.runvil(["replay", "last"]).run().status, Some(0));
    let runs = database(&place)
        .runs(&RunFilter::default(), None, 100)
        .expect("a page")
        .runs;
    assert_eq!(runs.len(), 4);
    assert!(runs[0].parent.is_some());
}

#[test]
fn what_has_changed_is_said_before_anything_runs() {
    let place = place();
    let prompt = place.prompt(ASKS, TWO_ROUNDS);
    place
        .runvil(["run"])
        .server("echo+said")
        .run_file(&prompt, "x")
        .completed("one xtwo");
    let text = fs::read_to_string(&prompt).expect("the prompt");
    fs::write(&prompt, text.replace("'two'", "'three'")).expect("the prompt");
    place.file(
        "runvil.toml",
        "[record]\npath = 'kept/runs.db'\n[limits]\nconcurrency = 2\n[model]\nid = 'second'\n",
    );
    place
        .runvil(["fork", "last", "--at", "2"])
        .server("echo+elsewhere")
        .run()
        .completed("one xtwo")
        .says("prompt.md was edited since; the recorded text is run")
        .says("echo+elsewhere now")
        .says("the model was first and would be second now; first is asked")
        .says("`concurrency` under [limits] was 8 and would be 2 now; 8 holds");
}

#[test]
fn no_key_enters_a_record() {
    const PLANTED: [&str; 4] = [
        "planted-in-the-key",
        "planted-in-the-url",
        "planted-in-a-file",
        "planted-in-the-log",
    ];
    let place = place();
    let prompt = place.prompt(
        &format!("{ASKS}uses: [web]\n"),
        "## A\n\n```lua\nmodels.use('m')\nlocal found = tools.call('web/search', { query = 'ada' })\n\
         log('asked')\nreturn models.infer('hello') .. #found\n```\n",
    );
    let run = |place: &Place| {
        place
            .runvil(["run"])
            .server("echo+secret")
            .env("RUNVIL_GATEWAY_API_KEY", PLANTED[0])
            .env("RUNVIL_LOG", PLANTED[3])
            .run_file(&prompt, "")
    };
    assert_eq!(run(&place).status, Some(0), "{:#?}", run(&place));
    // The key was sent, to the model and to the search.
    for endpoint in ["chat/completions", "search"] {
        let requests = Server::shared().requests("echo+secret", endpoint);
        let sent = |request: &serde_json::Value| {
            request["authorization"]
                .as_str()
                .is_some_and(|key| key.contains(PLANTED[0]))
        };
        assert!(
            !requests.is_empty() && requests.iter().all(sent),
            "{endpoint}: {requests:?}"
        );
    }
    // A root with a user is refused, and so is a key in the configuration.
    let root = format!("http://user:{}@127.0.0.1:9/v1", PLANTED[1]);
    let refused = place
        .runvil(["run"])
        .env("RUNVIL_GATEWAY_URL", root)
        .run_file(&prompt, "");
    assert_eq!(refused.status, Some(2), "{refused:#?}");
    let config = format!("[record]\npath = 'kept/runs.db'\n[endpoint]\nkey = '{}'\n", PLANTED[2]);
    place.file("runvil.toml", config);
    assert_eq!(run(&place).status, Some(2));
    let mut searched = 0;
    for entry in fs::read_dir(place.path("kept")).expect("the folder") {
        let path = entry.expect("an entry").path();
        let Ok(bytes) = fs::read(&path) else { continue };
        searched += bytes.len();
        for secret in PLANTED {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} stands in {}", path.display());
        }
    }
    assert!(searched > 10_000, "{searched}");
}

#[test]
fn token_counts_that_no_server_can_mean_do_not_keep_a_run_from_ending() {
    let place = place();
    let prompt = place.prompt(ASKS, TWO_ROUNDS);
    let ran = place
        .runvil(["run"])
        .server("usage-18446744073709551615-5+absurd")
        .run_file(&prompt, "x");
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    let page = database(&place).runs(&RunFilter::default(), None, 1).expect("the runs");
    assert!(page.runs[0].outcome.is_some());
}

#[test]
fn a_record_that_lost_its_end_is_not_the_same() {
    let place = place();
    let prompt = place.prompt(ASKS, TWO_ROUNDS);
    place
        .runvil(["run"])
        .server("echo+cut-off")
        .run_file(&prompt, "x")
        .completed("one xtwo");
    let cut_off = Part {
        steps: 2,
        ended: true,
        ..Part::default()
    };
    place.shorten(database(&place).find("last").expect("a run"), &cut_off);
    assert_eq!(place.runvil(["replay", "last"]).run().status, Some(1));
}

#[cfg(unix)]
#[test]
fn the_database_is_its_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = place();
    let prompt = place.prompt("", "## A\n\n```lua\nreturn 'x'\n```\n");
    place.runvil(["run"]).run_file(&prompt, "").completed("x");
    let mode = |path: PathBuf| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(records(&place)), mode(place.path("kept"))), (0o600, 0o700));
}
