//! `--max-rounds`, `--max-total-tokens`, `--max-seconds`, and `[budget]` in `runvil.toml`.

mod common;

use common::{Outcome, Place, Server};
use serde_json::{Value, json};

/// Makes as many rounds as the argument says, and catches whatever fails.
const ROUNDS: &str = "\
## A

```lua
models.use('w')
for i = 1, tonumber(args) do pcall(models.infer, 'round ' .. i) end
return 'made ' .. args
```";

fn rounds(place: &Place, server: &str, count: &str, options: &[&str]) -> Outcome {
    let prompt = place.prompt("models: { w: {} }\n", ROUNDS);
    let mut args = vec!["run", prompt.to_str().expect("text"), count];
    args.extend(options);
    place.runvil(args).server(server).run()
}

fn sent(server: &str) -> usize {
    Server::shared().requests(server, "chat/completions").len()
}

#[test]
fn the_round_that_passes_the_budget_is_not_sent() {
    let place = Place::new();
    rounds(&place, "hello+r1", "9", &["--max-rounds", "3"])
        .refused(130, "the run was cancelled: it passed its budget of 3 model rounds")
        .says("  help: raise --max-rounds, or `max_rounds` under [budget] in runvil.toml");
    assert_eq!(sent("hello+r1"), 3);
    rounds(&place, "hello+r2", "3", &["--max-rounds", "3"]).completed("made 3");
    rounds(&place, "hello+r3", "1", &["--max-rounds", "0"]).refused(130, "its budget of 0 model rounds");
    assert_eq!(sent("hello+r3"), 0);
}

#[test]
fn the_record_tells_the_budget_and_why_the_run_was_cancelled() {
    let place = Place::with_records();
    let shown = || place.runvil(["show"]).run().stdout;
    let line = |shown: &str, key: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix(key));
        line.map(|line| line.trim().to_owned())
    };
    rounds(&place, "hello+s1", "9", &["--max-rounds", "3", "--max-seconds", "1000"]).refused(130, "cancelled");
    let told = shown();
    assert_eq!(
        line(&told, "outcome").as_deref(),
        Some("cancelled: it passed its budget of 3 model rounds"),
        "{told}"
    );
    assert!(
        line(&told, "rounds").is_some_and(|rounds| rounds.starts_with("3,")),
        "{told}"
    );
    assert_eq!(line(&told, "budget").as_deref(), Some("3 model rounds, 1000 s"));
    let told = place.runvil(["show", "--json"]).run().stdout;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["cause"], "it passed its budget of 3 model rounds");
    assert_eq!(told["rounds"], 3);
    assert_eq!(
        told["budget"],
        json!({ "max_rounds": 3, "max_total_tokens": null, "max_seconds": 1000.0 })
    );
    rounds(&place, "silent+s3", "1", &["--max-seconds", "0.5"]).refused(130, "cancelled");
    let told = shown();
    assert!(
        line(&told, "outcome").is_some_and(|outcome| outcome.contains("0.5 s")),
        "{told}"
    );
    // What the round that was cut short used is unknown.
    assert!(
        line(&told, "rounds").is_some_and(|rounds| rounds.starts_with("1,")),
        "{told}"
    );
    rounds(&place, "hello+s4", "1", &["--max-rounds", "3"]).completed("made 1");
    let told = shown();
    assert_eq!(line(&told, "outcome").as_deref(), Some("completed"));
    assert_eq!(line(&told, "budget").as_deref(), Some("3 model rounds"));
    rounds(&place, "hello+s5", "1", &[]).completed("made 1");
    assert_eq!(line(&shown(), "budget"), None);
}

#[test]
fn tokens_are_counted_as_the_server_reports_them() {
    let place = Place::new();
    rounds(&place, "usage-20-10+t1", "9", &["--max-total-tokens", "75"]).refused(
        130,
        "the run was cancelled: it passed its budget of 75 tokens, having used 90",
    );
    assert_eq!(sent("usage-20-10+t1"), 3);
    rounds(&place, "usage-20-10+t2", "3", &["--max-total-tokens", "90"])
        .completed("made 3")
        .does_not_say("warning");
    assert_eq!(sent("usage-20-10+t2"), 3);
}

#[test]
fn tokens_that_nobody_reports_are_unknown_and_not_none() {
    let place = Place::new();
    let run = rounds(&place, "hello+t3", "3", &["--max-total-tokens", "1"]);
    run.completed("made 3");
    assert_eq!(run.stderr.matches("warning: ").count(), 1, "{run:#?}");
    run.says("the token budget counts only what is reported");
    rounds(&place, "hello+t4", "3", &[])
        .completed("made 3")
        .does_not_say("warning");
}

#[test]
fn time_that_is_over_cancels_lua_that_spins() {
    let place = Place::new();
    let prompt = place.prompt("", "## A\n\n```lua\nwhile true do end\n```");
    place
        .runvil(["run", prompt.to_str().expect("text"), "--max-seconds", "0.3"])
        .run()
        .refused(130, "the run was cancelled: it passed its budget of 0.3 s");
}

#[test]
fn time_that_is_over_cancels_a_round_that_waits() {
    let place = Place::new();
    rounds(&place, "silent+time", "1", &["--max-seconds", "0.3", "--model", "m"]).refused(130, "its budget of 0.3 s");
}

#[test]
fn a_budget_may_stand_in_the_configuration_and_the_command_line_counts_before_it() {
    let place = Place::new();
    place.file("runvil.toml", "[budget]\nmax_rounds = 1\nmax_seconds = 600\n");
    rounds(&place, "hello+c1", "2", &[]).refused(130, "it passed its budget of 1 model round\n");
    rounds(&place, "hello+c2", "2", &["--max-rounds", "2"]).completed("made 2");
    place.file("runvil.toml", "[budget]\nmax_round = 1\n");
    rounds(&place, "hello+c3", "1", &[]).refused(2, "`max_round`");
}

#[test]
fn a_budget_that_makes_no_sense_is_refused() {
    let place = Place::new();
    for (option, value, says) in [
        ("--max-rounds", "-1", "a whole number from 0 on is meant"),
        ("--max-rounds", "1.5", "a whole number from 0 on is meant"),
        ("--max-total-tokens", "many", "a whole number from 0 on is meant"),
        ("--max-seconds", "0", "a number of seconds above 0 is meant"),
        ("--max-seconds", "soon", "a number of seconds above 0 is meant"),
    ] {
        rounds(&place, "hello+bad", "1", &[&format!("{option}={value}")]).refused(2, says);
        rounds(&place, "hello+bad", "1", &[option, value]).refused(2, says);
    }
    for value in ["-1", "1.5", "'many'"] {
        place.file("runvil.toml", format!("[budget]\nmax_rounds = {value}\n"));
        rounds(&place, "hello+bad", "1", &[])
            .refused(2, "a whole number from 0 on is meant")
            .says("runvil.toml");
    }
}

#[test]
fn a_program_is_told_which_budget_was_passed_and_what_to_do() {
    let place = Place::new();
    let run = rounds(&place, "hello+p1", "9", &["--max-rounds", "1", "--json"]);
    assert_eq!(run.status, Some(130), "{run:#?}");
    let told: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(told["cause"], "max_rounds");
    assert_eq!(told["message"], "it passed its budget of 1 model round");
    assert!(
        told["help"].as_str().is_some_and(|help| help.contains("--max-rounds")),
        "{told}"
    );
}
