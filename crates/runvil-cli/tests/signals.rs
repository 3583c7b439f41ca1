//! Ctrl-C and SIGTERM while a run goes.

#![cfg(unix)]

mod common;

use std::{
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{Outcome, Place, Server};

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
}

fn ended(child: Child) -> Outcome {
    Outcome::from(child.wait_with_output().expect("the command ends"))
}

/// Starts a prompt whose round never comes back, and waits until the round is out.
fn waiting(place: &Place, behaviour: &str, body: &str) -> Child {
    let prompt = place.prompt("models: { w: {} }\n", body);
    let child = place
        .runvil(["run", prompt.to_str().expect("text"), "", "--model", "m"])
        .server(behaviour)
        .spawn();
    let begun = Instant::now();
    while Server::shared().requests(behaviour, "chat/completions").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the round is sent");
        sleep(Duration::from_millis(10));
    }
    child
}

const CAUGHT: &str = "## A\n\n```lua\nmodels.use('w')\nlocal ok, e = pcall(models.infer, 'hi')\nreturn e.kind\n```";
const UNCAUGHT: &str = "## A\n\n```lua\nmodels.use('w')\nmodels.infer('hi')\n```";

#[test]
fn one_interrupt_stops_the_round_and_the_run_goes_on() {
    let place = Place::new();
    let child = waiting(&place, "silent+caught", CAUGHT);
    signal(&child, "INT");
    ended(child).completed("cancelled").says("stopping the calls that wait");
}

#[test]
fn an_uncaught_stop_cancels_the_run() {
    let place = Place::new();
    let child = waiting(&place, "silent+uncaught", UNCAUGHT);
    signal(&child, "INT");
    ended(child).refused(
        130,
        "the run was cancelled: it did not go on from the call that was stopped",
    );
}

const TWICE: &str = "\
## A

```lua
models.use('w')
local kinds = {}
for i = 1, 2 do
  local _, e = pcall(models.infer, 'round ' .. i)
  kinds[i] = e.kind
end
return table.concat(kinds, ' ')
```";

#[test]
fn a_second_interrupt_that_comes_late_is_a_stop_of_its_own() {
    let (place, behaviour) = (Place::new(), "silent+late");
    let child = waiting(&place, behaviour, TWICE);
    signal(&child, "INT");
    let begun = Instant::now();
    while Server::shared().requests(behaviour, "chat/completions").len() < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the run goes on after the stop"
        );
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(2100));
    signal(&child, "INT");
    let run = ended(child);
    run.completed("cancelled cancelled");
    assert_eq!(
        run.stderr.matches("stopping the calls that wait").count(),
        2,
        "{run:#?}"
    );
}

const SPINS: &str = "## A\n\n```lua\nstore.write('started', '')\nwhile true do end\n```";

/// Starts a prompt that spins in Lua, and waits until it does.
fn spinning(place: &Place) -> Child {
    let prompt = place.prompt("", SPINS);
    let child = place
        .runvil(["run", prompt.to_str().expect("text"), "", "--store", "store"])
        .spawn();
    let begun = Instant::now();
    while !place.path("store/started").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run starts");
        sleep(Duration::from_millis(10));
    }
    child
}

#[test]
fn a_second_interrupt_cancels_lua_that_spins() {
    let place = Place::new();
    let child = spinning(&place);
    signal(&child, "INT");
    sleep(Duration::from_millis(200));
    signal(&child, "INT");
    ended(child).refused(130, "the run was cancelled");
}

#[test]
fn a_termination_cancels_at_once() {
    let place = Place::new();
    let child = spinning(&place);
    signal(&child, "TERM");
    ended(child).refused(130, "the run was cancelled: the command was told to end");
}
