//! `runvil show --effects` and `runvil fork`: a run that leaves the course of another.

mod common;

use std::{fs, process::Child};

use common::{Outcome, Place, Server, part::Part};
use runvil_record::{RecordedEffect, RunFilter, RunId};
use serde_json::{Value, json};

const ASKS: &str = "models:\n  m: {}\n";

/// A write, two rounds, and a read of what was written.
const WORK: &str = "## A\n\n```lua\nmodels.use('m')\nstore.write('f', 'x')\nlocal a = models.infer('one')\n\
                    store.append('f', a)\nreturn models.infer('two ' .. a) .. '|' .. store.read('f')\n```\n";

fn recorded(server: &str) -> Place {
    let place = Place::with_records();
    place.prompt(ASKS, WORK);
    let run = place.runvil(["run", "prompt.md"]).server(server).run();
    run.completed("two one|xone");
    place
}

fn fork(place: &Place, server: &str, args: &[&str]) -> Outcome {
    place.runvil([&["fork"], args].concat()).server(server).run()
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| unreachable!("{error}: {outcome:#?}"))
}

/// Waits until a run behind this one has asked for so much.
fn wait_for_effect(place: &Place, before: RunId, effect: u64, child: &mut Child) {
    loop {
        let newest = place.database().find("last").expect("a run");
        let effects = place.database().effects(newest).expect("effects");
        let asks = |recorded: RecordedEffect| recorded.effect.id.0 == effect;
        if newest != before && effects.map_while(Result::ok).any(asks) {
            return;
        }
        assert_eq!(child.try_wait().expect("a child"), None);
    }
}

#[test]
fn the_effects_of_a_run_are_listed_with_number_question_and_answer() {
    let place = recorded("echo+listed");
    let shown = place.runvil(["show", "--effects"]).run();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r" +\d+(ms|µs|\.\d\ds)", " [time]");
    settings.add_filter(r"ASKED +TIME", "ASKED  TIME");
    settings.bind(|| {
        insta::assert_snapshot!(shown.stdout, @r"
        EFFECT  KIND   ASKED  TIME  ANSWER
             1  store  write f: x [time]  done
             2  chat   first: one [time]  one
             3  store  append f: one [time]  done
             4  chat   first: two one [time]  two one
             5  store  read f [time]  xone
        ");
    });
    let told = json(&place.runvil(["show", "--effects", "--json"]).run());
    let effects = told["effects"].as_array().expect("effects");
    let numbers: Vec<_> = effects.iter().map(|effect| effect["effect"].clone()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(effects[0]["kind"], "store");
    assert_eq!(
        effects[0]["asked"]["op"],
        json!({ "op": "write", "path": "f", "contents": "x" })
    );
    assert_eq!(effects[1]["kind"], "model_round");
    assert_eq!(effects[1]["answer"]["ok"]["text"], "one");
    assert_eq!(effects[1]["state"], "done");
    assert!(effects[1]["took_us"].is_u64(), "{effects:?}");
    // The timeline has the same numbers.
    let told = json(&place.runvil(["show", "--json"]).run());
    let lines = told["timeline"].as_array().expect("lines").iter();
    let numbers: Vec<_> = lines.filter_map(|line| line["effect"].as_u64()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

#[test]
fn every_answer_that_is_shown_can_be_given_to_a_fork() {
    let place = recorded("echo+shape");
    let first = place.database().find("last").expect("a run").to_string();
    let told = json(&place.runvil(["show", &first, "--effects", "--json"]).run());
    for effect in told["effects"].as_array().expect("effects") {
        place.file("answer.json", effect["answer"].to_string());
        let at = effect["effect"].to_string();
        fork(&place, "echo+shape", &[&first, "--at", &at, "--answer", "answer.json"]).completed("two one|xone");
    }
    let mut answer = told["effects"][1]["answer"].clone();
    answer["ok"]["text"] = json!("uno");
    place.file("answer.json", answer.to_string());
    // What the fork writes is its own, and what came before it is there.
    fork(&place, "echo+shape", &[&first, "--at", "2", "--answer", "answer.json"]).completed("two uno|xuno");
}

#[test]
fn what_an_answer_leaves_out_is_as_usual_and_no_difference() {
    let place = recorded("echo+usual");
    let first = place.database().find("last").expect("a run").to_string();
    let answered = |reply: &str| {
        place.file("answer.json", format!(r#"{{"answer":"model","ok":{reply}}}"#));
        let args = [first.as_str(), "--at", "2", "--answer", "answer.json"];
        assert_eq!(fork(&place, "echo+usual", &args).status, Some(0));
        place.database().find("last").expect("a run").to_string()
    };
    let whole = answered(r#"{"text":"eins","finish_reason":"stop"}"#);
    let short = answered(r#"{"text":"uno"}"#);
    let diff = place.runvil(["diff", &whole, &short]).run().stdout;
    assert!(diff.contains("text:\n- eins\n+ uno\n"), "{diff}");
    assert!(!diff.contains("finish_reason"), "{diff}");
}

#[test]
fn a_number_or_an_answer_that_fits_nothing_is_refused_and_leaves_no_run() {
    let place = recorded("echo+fits");
    let answer = |text: &str| {
        place.file("answer.json", text);
        fork(&place, "echo+fits", &["last", "--at", "2", "--answer", "answer.json"])
    };
    answer("{").refused(2, "this is no JSON");
    answer("{}").refused(2, "this is no answer");
    answer(r#"{"answer":"model","ok":{"txt":"a"}}"#)
        .refused(
            2,
            "this is no answer: there is no field `ok.txt`; known there: text, tool_calls, finish_reason",
        )
        .says(r#"help: effect 2 wants an answer such as {"answer":"model","ok":{"text":"Hello"}}"#);
    place.file("answer.json", r#"{"answer":"store","ok":"x"}"#);
    fork(&place, "echo+fits", &["last", "--at", "5", "--answer", "answer.json"])
        .refused(2, "`ok` has to be an object")
        .says(r#"such as {"answer":"store","ok":{"reply":"text","value":"what is read"}}"#);
    place.file("answer.json", r#"{"answer":"store","ok":{"reply":"done"}}"#);
    fork(&place, "echo+fits", &["last", "--at", "5", "--answer", "answer.json"])
        .refused(2, "a read of the store is not answered so");
    place.file(
        "answer.json",
        r#"{"answer":"store","err":{"reason":"not_found","path":"f","file":"f"}}"#,
    );
    fork(&place, "echo+fits", &["last", "--at", "5", "--answer", "answer.json"])
        .refused(2, "there is no field `err.file`; known there: path, reason");
    answer(r#"{"answer":"timer"}"#)
        .refused(2, "the answer is of another kind than the effect")
        .says(r#"help: effect 2 wants an answer such as {"answer":"model","ok":{"text":"Hello"}}"#);
    for (args, status, says) in [
        (&["last", "--at", "0"][..], 2, "effects are counted from 1"),
        (&["last", "--at", "-1"], 2, "effects are counted from 1"),
        (&["last", "--at", "6"], 2, "has no such effect"),
        (
            &["last", "--at", "2", "--prompt", "nowhere.md"],
            1,
            "nowhere.md: there is no such file",
        ),
        (
            &["last", "--at", "2", "--answer", "nowhere.json"],
            1,
            "nowhere.json: there is no such file",
        ),
        (&["last", "--at", "2", "--prompt", "."], 1, "this is a directory"),
        (&["last", "--at", "2", "--output", "o"], 2, "declares no `output:` file"),
    ] {
        fork(&place, "echo+fits", args).refused(status, says);
    }
    assert_eq!(place.runs(), 1);
}

#[test]
fn a_fork_that_cannot_read_its_source_leaves_no_run() {
    let place = recorded("echo+damage");
    let lacking = Part {
        steps: usize::MAX,
        lacks: vec![3],
        ended: true,
        ..Part::default()
    };
    place.shorten(place.database().find("last").expect("a run"), &lacking);
    fork(&place, "echo+damage", &["last", "--at", "4"]).refused(1, "the record lacks the answer to effect 3");
    assert_eq!(place.runs(), 1);
    fork(&place, "echo+damage", &["last", "--at", "2"]).completed("two one|xone");
}

#[test]
fn an_effect_that_was_not_answered_needs_an_answer() {
    let place = Place::with_records();
    place.prompt(ASKS, WORK);
    place.kill_in_a_round(&["prompt.md", "x"]);
    fork(&place, "echo+open", &["last", "--at", "2"])
        .refused(2, "the effect was not answered")
        .says("or give the answer with --answer FILE");
    place.file("answer.json", r#"{"answer":"model","ok":{"text":"uno"}}"#);
    fork(&place, "echo+open", &["last", "--at", "2", "--answer", "answer.json"]).completed("two uno|xuno");
}

#[test]
fn a_fork_has_its_own_facts_and_the_options_of_a_run() {
    let place = Place::with_records();
    place.prompt(
        &format!("{ASKS}output: {{ path: out.md, description: o }}\n"),
        "## A\n\n```lua\nmodels.use('m')\nstore.write('out.md', models.infer('one'))\nreturn 'r'\n```\n",
    );
    place
        .runvil(["run", "prompt.md", "x", "--output", "out.txt"])
        .server("echo+facts")
        .run()
        .completed("r");
    let run = fork(
        &place,
        "usage-20-10+facts",
        &[
            "last",
            "--at",
            "1",
            "--output",
            "forked.txt",
            "--json",
            "--events",
            "jsonl:e.jsonl",
            "--debug",
            "--durable",
        ],
    );
    let told = json(&run);
    assert_eq!((told["result"].as_str(), run.status), (Some("r"), Some(0)), "{run:#?}");
    assert_eq!(place.read("forked.txt"), "one");
    let database = place.database();
    let forked = database.find("last").expect("a run");
    assert_eq!(told["run"], forked.to_string());
    let host = database.run(forked).expect("a run").host;
    assert!(
        host["endpoint"]
            .as_str()
            .is_some_and(|root| root.ends_with("usage-20-10+facts")),
        "{host}"
    );
    assert!(
        host["output"].as_str().is_some_and(|path| path.ends_with("forked.txt")),
        "{host}"
    );
    assert!(database.run(forked).expect("a run").start.facts.debug);
    // A fork that asks on its own reports in debug mode what it sends.
    let text = place
        .read("prompt.md")
        .replace("infer('one')", "infer('one') .. models.infer('more')");
    place.file("more.md", text);
    let first = database.runs(&RunFilter::default(), None, 9).expect("a page").runs[1]
        .id
        .to_string();
    fork(
        &place,
        "echo+facts",
        &[
            &first,
            "--at",
            "1",
            "--prompt",
            "more.md",
            "--debug",
            "--events",
            "jsonl:e.jsonl",
        ],
    )
    .completed("r")
    .says("more.md is run in place of the recorded text");
    assert!(place.read("e.jsonl").contains("\"kind\":\"request\""));
    assert_eq!(place.read("out.txt"), "one");
}

#[test]
fn a_fork_forks_and_is_resumed_like_any_run() {
    let place = recorded("echo+again");
    let text = place.read("prompt.md");
    // The fork writes a file of its own, and its fork goes on from there.
    place.file(
        "other.md",
        text.replace("store.append('f', a)", "store.append('f', a .. '!')"),
    );
    fork(&place, "echo+again", &["last", "--at", "2", "--prompt", "other.md"]).completed("two one|xone!");
    fork(&place, "echo+again", &["last", "--at", "4"]).completed("two one|xone!");
    assert_eq!(place.runvil(["replay", "last"]).run().status, Some(0));
    let asked = Server::shared().requests("echo+again", "chat/completions").len();
    assert_eq!(asked, 3);

    let before = place.database().find("last").expect("a run");
    let mut dying = place.runvil(["fork", "last", "--at", "2"]).server("silent").spawn();
    wait_for_effect(&place, before, 4, &mut dying);
    dying.kill().expect("killed");
    dying.wait().expect("ended");
    let resumed = place.runvil(["resume", "last"]).server("echo+again").run();
    resumed.completed("two one|xone!");
    assert_eq!(place.runvil(["replay", "last"]).run().status, Some(0));
}

#[test]
fn a_fork_on_a_real_directory_that_died_does_not_take_its_parents_files_for_its_own() {
    let place = Place::with_records();
    place.prompt(ASKS, WORK);
    let run = ["run", "prompt.md", "x", "--store", "st"];
    place.runvil(run).server("echo+real").run().completed("two one|xone");
    let first = place.database().find("last").expect("a run");
    let mut dying = place.runvil(["fork", "last", "--at", "2"]).server("silent").spawn();
    while fs::read_to_string(place.path("st/f")).expect("the file") != "xoneone" {
        assert_eq!(dying.try_wait().expect("a child"), None);
    }
    wait_for_effect(&place, first, 4, &mut dying);
    dying.kill().expect("killed");
    dying.wait().expect("ended");
    let resumed = place.runvil(["resume", "last"]).server("echo+real").run();
    resumed.completed("two one|xoneone");
}

#[test]
fn a_fork_began_when_it_was_forked_and_is_no_older_than_that() {
    let place = recorded("echo+old");
    let connection = rusqlite::Connection::open(place.path("kept/runs.db")).expect("the database");
    let day_ago = "UPDATE runs SET started_at = started_at - 86400000, ended_at = ended_at - 86400000000";
    connection.execute(day_ago, []).expect("an older run");
    drop(connection);
    let first = place.database().find("last").expect("a run");
    fork(&place, "echo+old", &["last", "--at", "2"]).completed("two one|xone");
    let told = json(&place.runvil(["show", "--json"]).run());
    assert!(told["took_us"].as_i64().is_some_and(|took| took < 60_000_000), "{told}");
    assert_eq!(
        place
            .runvil(["runs", "--since", "12h", "--json"])
            .run()
            .stdout
            .matches("\"id\"")
            .count(),
        1
    );
    let told = json(&place.runvil(["prune", "--older-than", "12h", "--json"]).run());
    assert_eq!(told["deleted"], json!([first.to_string()]));
    // What it is forked from may be gone.
    assert_eq!(place.runvil(["show"]).run().status, Some(0));
    assert_eq!(place.runvil(["replay", "last"]).run().status, Some(0));
    fork(&place, "echo+old", &["last", "--at", "2"]).completed("two one|xone");
}

#[test]
fn a_run_of_which_nobody_knows_how_it_was_set_up_is_not_taken_up() {
    let place = recorded("echo+host");
    let connection = rusqlite::Connection::open(place.path("kept/runs.db")).expect("the database");
    connection
        .execute(r#"UPDATE runs SET host = '{"store":7}'"#, [])
        .expect("other settings");
    drop(connection);
    fork(&place, "echo+host", &["last", "--at", "2"])
        .refused(1, "how it was set up cannot be read")
        .says("help: use the version of the program that recorded it");
    assert_eq!(place.runvil(["replay", "last"]).run().status, Some(0));
    assert_eq!(place.runs(), 1);
}

#[test]
fn a_fork_that_died_while_it_took_answers_over_is_forked_again() {
    let place = recorded("echo+half");
    let first = place.database().find("last").expect("a run").to_string();
    let server = "echo+half-fork";
    fork(&place, server, &["last", "--at", "5"]).completed("two one|xone");
    let mut half = place.database().find("last").expect("a run");
    // As if the process had died when it had so much. It has the answer to its last effect and made no step with it.
    for (steps, open) in [(4, vec![4]), (4, vec![]), (0, vec![])] {
        let part = Part {
            steps,
            open,
            ..Part::default()
        };
        half = place.shorten(half, &part);
        place
            .runvil(["resume", &half.to_string()])
            .server(server)
            .run()
            .refused(1, "its process died before it had the answers of run")
            .says(&format!(
                "help: fork again, with the options that it was forked with: runvil fork {first} --at 5"
            ));
    }
    assert_eq!(Server::shared().requests(server, "chat/completions").len(), 0);
}

#[test]
fn a_fork_that_went_its_own_way_before_the_effect_is_resumed() {
    let place = recorded("echo+own-way");
    let text = place
        .read("prompt.md")
        .replace("store.append('f', a)", "a = a .. models.infer('more')");
    place.file("other.md", text);
    let other = ["fork", "last", "--at", "5", "--prompt", "other.md"];
    let first = place.database().find("last").expect("a run");
    let mut dying = place.runvil(other).server("silent").spawn();
    wait_for_effect(&place, first, 3, &mut dying);
    dying.kill().expect("killed");
    dying.wait().expect("ended");
    let resumed = place.runvil(["resume", "last"]).server("echo+own-way").run();
    resumed.completed("two onemore|x");
}
