//! Tasks where the order of answers, a stop or a refusing Host matters: the test plays the Harness, step by step.

mod arms;
mod driven;

use runvil_engine::{Answer, EventKind, Limits, RunOutcome};

use driven::{Driven, block, failed, there};

#[test]
fn a_join_any_that_runs_out_of_time_returns_one_nil() {
    let main = "local t = tasks.spawn('### Job')
local count = select('#', tasks.join_any({ t }, { timeout = 1 }))
tasks.cancel(t)
return count";
    let mut run = Driven::start(&(block("## Main", main) + &block("### Job", "store.exists('x')")));
    run.answer(run.place_of_timer(), Answer::Timer);
    run.answer(0, there());
    assert_eq!(run.text(), Ok("1"));
}

#[test]
fn a_member_that_ends_with_the_timer_wins() {
    let main = "local t = tasks.spawn('### Job')
local _, ok, result = tasks.join_any({ t }, { timeout = 1 })
return tostring(ok) .. tostring(result)";
    let job = "store.exists('x')\nreturn 'in time'";
    let mut run = Driven::start(&(block("## Main", main) + &block("### Job", job)));
    let timer = run.place_of_timer();
    run.give(1 - timer, there());
    run.answer(0, Answer::Timer);
    assert_eq!(run.text(), Ok("truein time"));
}

#[test]
fn a_stopped_join_loses_only_what_it_had_taken_by_the_stop() {
    let main = "local early, late = tasks.spawn('### Early'), tasks.spawn('### Late')
local ok, stop = pcall(tasks.join, { early, late }, { timeout = 60 })
local _, taken = pcall(tasks.join_any, { early })
local _, _, result = tasks.join_any({ late })
return tostring(ok) .. ' ' .. stop.kind .. ' ' .. taken.kind .. ' ' .. result";
    let late = "store.exists('x')\nreturn 'late'";
    let sections = block("## Main", main) + &block("### Early", "return 'early'") + &block("### Late", late);
    let mut run = Driven::start(&sections);
    run.give(run.place_of_timer(), Answer::Dropped);
    run.answer(0, there());
    assert_eq!(run.text(), Ok("false cancelled task_consumed late"));
}

#[test]
fn failures_that_come_together_raise_that_of_the_earliest_arm() {
    let main = "local ok, err = pcall(tasks.fanout, '### Arm', { 'a', 'b', 'c' })
return tostring(err)";
    let mut run = Driven::start(&(block("## Main", main) + &block("### Arm", "store.exists(item)")));
    run.give(2, failed("third"));
    run.give(1, failed("second"));
    run.answer(0, there());
    assert_eq!(run.text(), Ok("store backend failure: second"));
    assert_eq!(run.ends(), ["0.2 failed", "0.1 failed", "0.0 succeeded"]);
}

#[test]
fn the_late_answer_to_a_cancelled_arm_is_thrown_away() {
    let main = "local ok = pcall(tasks.fanout, '### Arm', { 'a', 'b' })
store.exists('after')
return tostring(ok)";
    let mut run = Driven::start(&(block("## Main", main) + &block("### Arm", "store.exists(item)\nlog(item)")));
    run.answer(0, failed("first"));
    assert_eq!(run.ends(), ["0.0 failed", "0.1 cancelled"]);
    run.answer(0, there());
    run.answer(0, there());
    assert_eq!(run.text(), Ok("false"));
    assert!(
        !run.events
            .iter()
            .any(|event| matches!(event.kind, EventKind::Lua { .. }))
    );
}

#[test]
fn a_refused_store_access_is_the_spawns_own_error() {
    let main = "local ok, err = pcall(tasks.spawn, '### Job')
local left = #tasks.pending()
local t = tasks.spawn('### Job')
local _, _, result = tasks.join_any({ t })
return tostring(ok) .. '|' .. err.kind .. '|' .. tostring(err) .. '|' .. left .. '|' .. result";
    let sections = block("## Main", main) + &block("### Job", "return 'ran'");
    let run = Driven::start_with(&sections, Limits::default(), Some("0.0"));
    let refusal = "store operation failed: store backend failure: no more sessions";
    assert_eq!(run.text(), Ok(format!("false|store|{refusal}|0|ran").as_str()));
    assert_eq!(run.ends().len(), 1);
}

#[test]
fn a_refused_arm_takes_back_the_arms_before_it() {
    let main = "local ok, err = pcall(tasks.fanout, '### Arm', { 'a', 'b', 'c' })
return tostring(ok) .. ' ' .. err.kind .. ' ' .. #tasks.pending()";
    let sections = block("## Main", main) + &block("### Arm", "log(item)");
    let run = Driven::start_with(&sections, Limits::default(), Some("0.1"));
    assert_eq!(run.text(), Ok("false store 0"));
    assert_eq!(run.ends(), Vec::<String>::new());
}

#[test]
fn waiters_retake_their_slots_in_the_order_of_their_answers() {
    let main = "local set = {}
for i = 1, 2 do set[i] = tasks.spawn('### Outer', { index = i }) end
tasks.join(set)
return 'done'";
    let outer = "local t = tasks.spawn('### Inner', { index = sys.index })
tasks.join({ t })
log('outer ' .. sys.index)
return ''";
    let inner = "store.exists('x')\nlog('inner ' .. sys.index)";
    let sections = block("## Main", main) + &block("### Outer", outer) + &block("### Inner", inner);
    let limits = Limits {
        concurrency: 2,
        ..Limits::default()
    };
    let mut run = Driven::start_with(&sections, limits, None);
    assert_eq!(run.open.len(), 2);
    run.give(1, there());
    run.answer(0, there());
    let logs: Vec<_> = run
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Lua { message } => Some(message.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(logs, ["inner 2", "inner 1", "outer 2", "outer 1"]);
    assert_eq!(run.text(), Ok("done"));
}

#[test]
fn a_cancel_that_reaches_running_lua_strands_the_tasks_with_the_run() {
    let main = "tasks.spawn('### Waits')
tasks.join({ tasks.spawn('### Runs') })";
    let runs = "log('now')\npcall(error, 'a failure that no handler gets under a cancel')\nlog('late')";
    let sections = block("## Main", main) + &block("### Waits", "store.exists('x')") + &block("### Runs", runs);
    let mut run = Driven::load(&sections, Limits::default(), None);
    let cancel = run.run.cancel_flag();
    run.run.watch(move |event| {
        if matches!(event.kind, EventKind::Lua { .. }) {
            cancel.cancel();
        }
    });
    run.step();
    run.answer(0, there());
    assert_eq!(run.outcome, Some(RunOutcome::Cancelled));
    assert_eq!(run.ends(), ["0.0: the run ended", "0.1: the run ended"]);
}
