//! `runvil runs`, `show`, `diff` and `prune`, on the records that `runvil run` leaves.

mod common;

use std::{fs, path::PathBuf, process::Child};

use common::{Outcome, Place};
use serde_json::{Value, json};

/// A run of rounds, a task, a store operation and a `log` call.
const BUSY: &str = "## Main

```lua
models.use('w')
log('asking')
var.reply = models.infer(args)
store.write('notes.md', var.reply)
local arms = tasks.fanout('### Worker', { 'a' })
return var.reply .. arms[1].text
```

### Worker

```lua
return '!'
```";

/// A place whose records are in it, and whose clock is UTC.
struct Records {
    place: Place,
}

impl Records {
    fn new() -> Self {
        let place = Place::new();
        place.prompt("models: { w: {} }\n", BUSY);
        Self { place }
    }

    fn runvil(&self, args: &[&str]) -> Outcome {
        self.place.runvil(args).env("TZ", "UTC").run()
    }

    fn run_with(&self, behaviour: &str, args: &[&str]) -> Outcome {
        let mut all = vec!["run", "prompt.md"];
        all.extend(args);
        self.place.runvil(all).server(behaviour).run()
    }

    /// Runs the prompt, and gives the id under which the run is recorded.
    fn recorded(&self, behaviour: &str, args: &[&str]) -> String {
        self.run_with(behaviour, args);
        self.json(&["runs", "--limit", "1"])["runs"][0]["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let run = self.runvil(&all);
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| unreachable!("{error}: {run:#?}"))
    }

    fn names(&self, args: &[&str]) -> Vec<String> {
        let mut all = vec!["runs"];
        all.extend(args);
        let listed = self.json(&all);
        let runs = listed["runs"].as_array().expect("a list");
        runs.iter()
            .map(|run| run["name"].as_str().expect("a name").to_owned())
            .collect()
    }

    /// Where the records are.
    fn database(&self) -> PathBuf {
        let mut found = Vec::new();
        find(&self.place.path(""), &mut found);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }
}

fn find(directory: &std::path::Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "db") {
            found.push(path);
        }
    }
}

/// The text with what differs from run to run made alike.
fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]");
    settings.add_filter(r"[0-9a-f]{8}-[0-9a-f]{4}\b", "[short id]");
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[instant]");
    settings.add_filter(r"sha256:[0-9a-f]{64}", "[hash]");
    settings.add_filter(r" +\d+(ms|µs|\.\d\ds)", " [time]");
    settings.add_filter(r"[^ ,]*prompt\.md", "[file]");
    // What stands behind the start is indented by how deep it is.
    settings.add_filter(r"(?m)^ *\d+\.\d{3}  ", "[start]>");
    settings.add_filter(r"([^>\s]) {2,}", "$1  ");
    settings
}

#[test]
fn the_list_has_the_newest_run_first_and_what_it_took() {
    let records = Records::new();
    records
        .run_with("counted", &["hi", "--name", "first"])
        .completed("Hello, world!!");
    records
        .run_with("hello", &["hi", "--name", "second"])
        .completed("Hello, world!!");
    records
        .run_with("status-401", &["hi", "--name", "third"])
        .refused(1, "credentials");
    let list = records.runvil(&["runs"]);
    assert_eq!((list.status, list.stderr.as_str()), (Some(0), ""), "{list:#?}");
    settings().bind(|| {
        insta::assert_snapshot!(list.stdout, @r"
        RUN  STARTED  OUTCOME  TIME  ROUNDS  IN  OUT  PROMPT  NAME
        [short id]  [instant]  failed [time]  1  ?  ?  p  third
        [short id]  [instant]  completed [time]  1  ?  ?  p  second
        [short id]  [instant]  completed [time]  1  12  4  p  first
        ");
    });
}

#[test]
fn the_list_can_be_filtered_and_paged() {
    let records = Records::new();
    for name in ["a", "b", "a"] {
        records.run_with("hello", &["hi", "--name", name]);
    }
    records.run_with("status-401", &["hi", "--name", "c"]);
    assert_eq!(records.names(&[]), ["c", "a", "b", "a"]);
    assert_eq!(records.names(&["--name", "a"]), ["a", "a"]);
    assert_eq!(records.names(&["--outcome", "failed"]), ["c"]);
    assert_eq!(records.names(&["--outcome", "completed", "--limit", "2"]), ["a", "b"]);
    assert_eq!(records.names(&["--outcome", "open"]), [""; 0]);
    assert_eq!(records.names(&["--prompt", "p"]).len(), 4);
    assert_eq!(records.names(&["--prompt", "q"]), [""; 0]);
    assert_eq!(records.names(&["--since", "1h"]).len(), 4);
    assert_eq!(records.names(&["--since", "2999-01-01"]), [""; 0]);
    let page = records.json(&["runs", "--limit", "3"]);
    let next = page["next"].as_str().expect("there is more");
    assert_eq!(records.names(&["--after", next]), ["a"]);
    let last = records.json(&["runs", "--after", next]);
    assert_eq!(last["next"], Value::Null);
    let told = records.runvil(&["runs", "--limit", "3"]);
    told.says("older runs: add `--after ");
}

#[test]
fn before_the_first_run_the_list_is_empty_and_a_run_is_unknown() {
    let records = Records::new();
    records
        .runvil(&["runs"])
        .completed("")
        .says("no run is recorded yet in ");
    assert_eq!(records.json(&["runs"]), json!({ "runs": [], "next": null }));
    for args in [&["show"][..], &["show", "last"], &["diff", "a", "b"]] {
        records
            .runvil(args)
            .refused(1, "error: ")
            .says("help: run a prompt first");
    }
    records
        .runvil(&["prune", "--older-than", "1d"])
        .completed("0 runs deleted, which frees about 0 bytes\n");
}

#[test]
fn the_timeline_nests_what_a_run_did() {
    let records = Records::new();
    let id = records.recorded("counted", &["hi"]);
    for name in [id.as_str(), &id[..13], "last"] {
        assert_eq!(records.json(&["show", name])["id"], id.as_str());
    }
    let shown = records.runvil(&["show"]);
    assert_eq!(shown.status, Some(0), "{shown:#?}");
    settings().bind(|| {
        insta::assert_snapshot!(shown.stdout, @r"
        run  [id]
        prompt  p, [file], [hash]
        name  session-1
        started  [instant]
        took [time]
        outcome  completed
        result  Hello, world!!
        rounds  1, 12 tokens in, 4 out

        START  EFFECT  WHAT  TIME
        [start]>        section Main [time]
        [start]>          log asking
        [start]>     1  chat first [time]  12 in, 4 out, stop
        [start]>     2  store write notes.md [time]
        [start]>          task 0.0 Worker [time]
        [start]>            section Worker [time]
        ");
    });
}

#[test]
fn work_that_went_on_side_by_side_stands_below_its_own_task() {
    let records = Records::new();
    let body = "## Main\n\n```lua\nlocal r = tasks.fanout('### Worker', { 'a', 'b' })\nreturn r[1].text .. r[2].text\n```\n\n\
                ### Worker\n\n```lua\nmodels.use('w')\nlog(item)\nreturn models.infer(item)\n```";
    records.place.prompt("models: { w: {} }\n", body);
    records.recorded("echo", &["hi"]);
    let told = records.json(&["show"]);
    let lines = told["timeline"].as_array().expect("lines").iter();
    let lines: Vec<String> = lines
        .map(|line| {
            let text = ["id", "name", "message"].iter().find_map(|key| line[key].as_str());
            format!(
                "{} {} {}",
                line["depth"],
                line["kind"].as_str().unwrap_or_default(),
                text.unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "0 section Main",
            "1 task 0.0",
            "2 section Worker",
            "3 log a",
            "3 round ",
            "1 task 0.1",
            "2 section Worker",
            "3 log b",
            "3 round ",
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_narrow_terminal_gets_rows_that_stay_on_their_lines() {
    let records = Records::new();
    let name = "a name that is much longer than any terminal is wide enough to show beside all the other columns";
    records.recorded("hello", &["hi", "--name", name]);
    let mut terminal = records.place.at_terminal("hello", &["runs"]);
    assert_eq!(terminal.ends(), 0);
    let screen = terminal.screen();
    assert_eq!(screen.lines().count(), 2, "{screen}");
    assert!(screen.ends_with('…') && screen.contains("a name that is"), "{screen}");
    // In a pipe nothing is cut.
    assert!(records.runvil(&["runs"]).stdout.contains(name));
}

#[cfg(unix)]
#[test]
fn no_terminal_is_too_narrow_to_tell_how_a_run_ended() {
    let records = Records::new();
    records.recorded("counted", &["hi"]);
    records.recorded("counted", &["hi"]);
    // What every run is called is left out.
    let listed = records.runvil(&["runs"]).stdout;
    assert!(!listed.contains("NAME") && !listed.contains("session-1"), "{listed}");
    for columns in [30, 40, 60, 80, 100] {
        let mut terminal = records.place.within(columns, &["runs"]);
        assert_eq!(terminal.ends(), 0);
        let screen = terminal.screen();
        assert_eq!(screen.lines().count(), 3, "{columns}: {screen}");
        assert_eq!(screen.matches("completed").count(), 2, "{columns}: {screen}");
        let whole = screen.lines().skip(1).all(|line| line.contains(':'));
        assert_eq!(screen.contains("STARTED"), columns >= 60, "{columns}: {screen}");
        assert_eq!(whole, columns >= 60, "{columns}: {screen}");
    }
    records.recorded("counted", &["hi", "--name", "other"]);
    assert!(records.runvil(&["runs"]).stdout.contains("session-1"));
}

#[cfg(unix)]
#[test]
fn what_a_narrow_terminal_shows_of_a_run_stays_on_its_lines() {
    let records = Records::new();
    records.recorded("counted", &["hi"]);
    for args in [&["show"][..], &["show", "--effects"]] {
        let lines = records.runvil(args).stdout.lines().count();
        let mut terminal = records.place.within(40, args);
        assert_eq!(terminal.ends(), 0);
        let screen = terminal.screen();
        assert_eq!(screen.lines().count(), lines, "{args:?}: {screen}");
        assert!(screen.contains('…'), "{screen}");
    }
    let mut terminal = records.place.within(40, &["show", "--events"]);
    assert_eq!(terminal.ends(), 0);
    let screen = terminal.screen();
    let is_first = |line: &str| {
        line.split_whitespace()
            .next()
            .is_some_and(|number| number.parse::<u64>().is_ok())
    };
    assert!(screen.lines().all(is_first), "{screen}");
    assert!(!records.runvil(&["show"]).stdout.contains('…'));
}

#[test]
fn whoever_has_seen_enough_hears_of_no_error() {
    let records = Records::new();
    let body = "## Main\n\n```lua\nfor i = 1, 1000 do log(string.rep('x', 100)) end\nreturn ''\n```";
    records.place.prompt("", body);
    let id = records.recorded("hello", &["hi"]);
    let other = records.recorded("hello", &["hi"]);
    for args in [
        &["show", "--events"][..],
        &["show", "--json", "--events"],
        &["show"],
        &["runs"],
        &["diff", &id, &other],
    ] {
        let mut child = records.place.runvil(args).spawn();
        drop(child.stdout.take());
        let outcome = Outcome::from(child.wait_with_output().expect("the command ends"));
        assert_eq!(outcome.stderr, "", "{args:?}");
    }
}

#[test]
fn tokens_that_nobody_counted_are_unknown_and_not_zero() {
    let records = Records::new();
    records.recorded("hello", &["hi"]);
    let shown = records.runvil(&["show"]).stdout;
    assert!(
        shown.contains("1, ? tokens in, ? out (1 not reported by the server)"),
        "{shown}"
    );
    assert!(shown.contains("? in, ? out, stop"), "{shown}");
    let told = records.json(&["show"]);
    assert_eq!(
        told["tokens"],
        json!({ "input": null, "output": null, "rounds_unreported": 1 })
    );
    let round = told["timeline"]
        .as_array()
        .expect("lines")
        .iter()
        .find(|line| line["kind"] == "round");
    assert_eq!(round.expect("a round")["input_tokens"], Value::Null);
}

#[test]
fn a_failed_run_shows_what_failed() {
    let records = Records::new();
    records.recorded("status-401", &["hi"]);
    let shown = records.runvil(&["show"]).stdout;
    assert!(shown.contains("outcome  failed\n"), "{shown}");
    assert!(
        shown.contains("error    Completion: the model backend did not accept the credentials (status 401)"),
        "{shown}"
    );
    assert!(
        shown.contains("failed: the model backend did not accept the credentials"),
        "{shown}"
    );
    assert_eq!(records.json(&["show"])["ending"]["kind"], "Completion");
}

#[test]
fn the_events_are_shown_in_order() {
    let records = Records::new();
    records.recorded("hello", &["hi"]);
    let shown = records.runvil(&["show", "--events"]);
    assert_eq!(shown.status, Some(0), "{shown:#?}");
    for part in [
        "Prompt           parse_started",
        "lua {\"message\":\"asking\"}",
        "assistant_reply {",
        "run_succeeded",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown:#?}");
    }
    let told = records.json(&["show", "--events"]);
    let events = told["events"].as_array().expect("events");
    assert_eq!(events.len(), shown.stdout.lines().count());
    assert_eq!(events[0]["kind"], "parse_started");
    assert!(
        events.iter().zip(0..).all(|(event, number)| event["number"] == number),
        "{events:?}"
    );
    let reply = events
        .iter()
        .find(|event| event["kind"] == "assistant_reply")
        .expect("a reply");
    assert_eq!(reply["text"], "Hello, world!");
}

#[test]
fn a_run_that_nobody_knows_or_that_is_not_told_apart_is_refused() {
    let records = Records::new();
    records.recorded("hello", &["hi"]);
    records.recorded("hello", &["hi"]);
    for args in [
        &["show", "ffffffff"][..],
        &["show", "nonsense"],
        &["diff", "last", "ffff"],
        &["runs", "--after", "ffff"],
    ] {
        records
            .runvil(args)
            .refused(1, "error: ")
            .says("help: list the runs to see their ids");
    }
    records
        .runvil(&["show", "0"])
        .refused(1, "error: ")
        .says("help: give more of the id");
}

#[test]
fn runs_that_did_the_same_do_not_differ() {
    let records = Records::new();
    let one = records.recorded("hello", &["hi"]);
    let other = records.recorded("hello", &["hi", "--name", "again"]);
    let diff = records.runvil(&["diff", &one, &other]);
    assert_eq!(diff.status, Some(0), "{diff:#?}");
    assert!(
        diff.stdout.ends_with("no event differs, and they ended alike\n"),
        "{diff:#?}"
    );
    assert_eq!(records.json(&["diff", &one, &other])["same"], true);
}

#[test]
fn the_first_event_that_differs_is_shown() {
    let records = Records::new();
    let one = records.recorded("echo", &["hi there\nAda\nbye"]);
    let other = records.recorded("echo", &["hi there\nBob\nbye"]);
    let diff = records.runvil(&["diff", &one, &other]);
    assert_eq!(diff.status, Some(1), "{diff:#?}");
    settings().bind(|| {
        insta::assert_snapshot!(diff.stdout, @r"
        - [id] p [instant] completed
        + [id] p [instant] completed
        what they started from differs: arguments, seed
        the first difference is event 10 of task 0, in section Main
        messages[0].content:
        @@ -1,3 +1,3 @@
         hi there
        -Ada
        +Bob
         bye
        ");
    });
    let told = records.json(&["diff", &one, &other]);
    assert_eq!(told["difference"]["in"], "event");
    assert_eq!(told["setup"], json!(["arguments", "seed"]));
}

#[test]
fn an_event_that_only_one_run_has_is_a_difference() {
    let records = Records::new();
    let one = records.recorded("hello", &["hi"]);
    let other = records.recorded("status-401", &["hi"]);
    let diff = records.runvil(&["diff", &one, &other]);
    assert_eq!(diff.status, Some(1), "{diff:#?}");
    assert!(
        diff.stdout.contains("- model_turn_completed\n+ model_turn_failed\n"),
        "{diff:#?}"
    );
}

#[test]
fn runs_with_the_same_events_may_end_differently() {
    let records = Records::new();
    records.place.prompt("", "## A\n\n```lua\nreturn args\n```");
    let one = records.recorded("hello", &["one"]);
    let other = records.recorded("hello", &["two"]);
    let diff = records.runvil(&["diff", &one, &other]);
    assert_eq!(diff.status, Some(1), "{diff:#?}");
    assert!(
        diff.stdout
            .ends_with("no event differs; they ended differently\noutcome:\n- one\n+ two\n"),
        "{diff:#?}"
    );
}

#[test]
fn older_runs_are_deleted_and_a_dry_run_deletes_nothing() {
    let records = Records::new();
    records.recorded("hello", &["hi"]);
    records.recorded("hello", &["hi"]);
    records
        .runvil(&["prune", "--older-than", "1d"])
        .completed("0 runs deleted, which frees about 0 bytes\n");
    let dry = records.runvil(&["prune", "--older-than", "0s", "--dry-run"]);
    assert!(
        dry.stdout.starts_with("2 runs would be deleted, which frees about "),
        "{dry:#?}"
    );
    assert_eq!(records.names(&[]).len(), 2);
    let told = records.json(&["prune", "--older-than", "0s"]);
    assert_eq!(told["deleted"].as_array().map(Vec::len), Some(2));
    assert!(told["bytes"].as_u64() > Some(0), "{told}");
    assert_eq!(records.names(&[]), [""; 0]);
    records
        .runvil(&["prune", "--older-than", "a month"])
        .refused(2, "`a month` is no span of time; give one such as 30d");
}

/// A run that waits for a server which never answers, ended with the test.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_run_that_goes_on_is_never_deleted() {
    let records = Records::new();
    records.recorded("hello", &["hi"]);
    let waiting = records
        .place
        .runvil(["run", "prompt.md", "hi", "--name", "going", "--model", "m"]);
    let waiting = Waiting(waiting.server("silent").spawn());
    while records.names(&["--name", "going"]).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(
        records.json(&["runs", "--name", "going"])["runs"][0]["state"],
        "running"
    );
    let told = records.json(&["prune", "--older-than", "0s"]);
    assert_eq!(told["running"].as_array().map(Vec::len), Some(1), "{told}");
    assert_eq!(records.names(&[]), ["going"]);
    drop(waiting);
    assert_eq!(records.json(&["runs"])["runs"][0]["state"], "interrupted");
    let shown = records.runvil(&["show", "last"]).stdout;
    assert!(shown.contains("outcome  interrupted\n"), "{shown}");
    assert!(shown.contains("not answered"), "{shown}");
}

#[test]
fn a_file_that_holds_no_records_is_refused_and_left_as_it_is() {
    let records = Records::new();
    records.recorded("hello", &["hi"]);
    let database = records.database();
    let folder = database.parent().expect("a folder");
    for beside in fs::read_dir(folder).expect("the folder").flatten() {
        if beside.path() != database {
            let _ = fs::remove_file(beside.path());
        }
    }
    fs::write(&database, "this is no database, whatever it is called".repeat(40)).expect("written");
    for args in [
        &["runs"][..],
        &["runs", "--json"],
        &["show", "last"],
        &["diff", "a", "b"],
        &["prune", "--older-than", "0s"],
    ] {
        let run = records.runvil(args);
        run.refused(1, database.to_str().expect("text")).says("help: ");
    }
    assert!(
        fs::read_to_string(&database)
            .expect("text")
            .starts_with("this is no database")
    );
}

#[test]
fn damage_inside_the_records_is_one_clear_error() {
    let records = Records::new();
    records.recorded("hello", &["hi"]);
    let database = records.database();
    // Everything goes into the one file, so that what is overwritten there counts.
    records.json(&["prune", "--older-than", "1d"]);
    let mut bytes = fs::read(&database).expect("the database");
    let middle = bytes.len() / 4;
    bytes[middle..].fill(0x5a);
    fs::write(&database, bytes).expect("written");
    for args in [&["show", "last"][..], &["show", "last", "--events"], &["runs"]] {
        let run = records.runvil(args);
        assert!(!run.stderr.contains("panicked"), "{run:#?}");
        if run.status != Some(0) {
            assert_eq!(run.status, Some(1), "{run:#?}");
            run.says("runs.db").says("help: ");
        }
    }
}
