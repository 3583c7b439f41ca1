//! A run is recorded, replayed, and goes on after its process died.

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use common::{
    Fixed, Heard, Say, Script, models, pack, prompt,
    recorded::{directory, record, replays, resume},
    result,
};
use runvil_engine::{RunErrorKind, RunOutcome};
use runvil_harness::{Host, Launch, LaunchStore, OnUnknown, ResumeError};
use runvil_pack::{ToolError, ToolOutput};
use runvil_record::{Database, RunId};

/// Rounds, calls of a tool that writes files, and changes that must not be made twice.
const WORK: &str = "## A\n```lua\nmodels.use('m')\nstore.write('log', 'x')\nfor i = 1, 3 do\n  store.append('log', tostring(i))\n  \
                    store.str_replace('log', 'x', 'x' .. models.infer('r' .. i))\n  store.append('log', tools.call('kit/note'))\n  \
                    store.write('gone', 'x')\n  store.delete('gone')\nend\nlog('all')\n\
                    return store.read('log') .. '|' .. store.read('note') .. '|' .. tostring(store.exists('gone'))\n```\n";

fn working_host() -> Host {
    let kit = pack("acme/kit").shaped_tool(
        "kit/note",
        runvil_pack::ToolDefinition::repeat_safe,
        |_, context| async move {
            let failed = |error: runvil_pack::FileError| ToolError::other(error.to_string());
            context.files().write("note", "noted").await.map_err(failed)?;
            context
                .files()
                .read("note")
                .await
                .map(ToolOutput::trusted)
                .map_err(failed)
        },
    );
    let replies = std::iter::repeat_with(|| Say::Text(vec!["y"])).take(40);
    Host::builder()
        .plugin(&kit)
        .models(models(Script::new(replies)))
        .build()
        .expect("a Host")
}

fn work() -> Launch {
    Launch::new(prompt("uses: [acme/kit]\nmodels:\n  m: {}\n", WORK), "work")
}

const WORKED: &str = "xyyy1noted2noted3noted|noted|false";

#[tokio::test]
async fn a_run_goes_on_to_the_same_result_wherever_its_record_ends() {
    for in_memory in [true, false] {
        let mut calls = 0;
        loop {
            let place = tempfile::tempdir().expect("a folder");
            let store = || {
                if in_memory {
                    LaunchStore::Fresh
                } else {
                    directory(place.path())
                }
            };
            let database = Database::in_memory().expect("a database");
            let (id, recorder) = record(&database, calls);
            let launch = Launch {
                store: store(),
                recorder: Some(recorder),
                ..work()
            };
            let report = working_host().run(launch, &mut ()).await;
            if matches!(report.outcome, RunOutcome::Completed { .. }) {
                assert_eq!(result(&report), WORKED);
                replays(&database, id);
                break;
            }
            let (kind, message) = common::failure(&report);
            assert_eq!(kind, RunErrorKind::Internal, "{message}");
            assert_eq!(
                message, "the run cannot be recorded: the disk is gone",
                "after {calls} calls"
            );
            calls += 1;
            if database.run(id).is_err() {
                continue;
            }
            let resumed = resume(&working_host(), &database, id, store(), OnUnknown::Ask).await;
            let report = resumed.unwrap_or_else(|error| panic!("after {calls} calls: {error}"));
            assert_eq!(result(&report), WORKED, "after {calls} calls");
            replays(&database, id);
        }
        assert!(calls > 60, "{calls}");
    }
}

/// A host with a tool that never comes back the first time, and whose calls are counted.
fn hanging_host(calls: &Arc<AtomicU64>) -> Host {
    let calls = Arc::clone(calls);
    let kit = pack("acme/kit").tool("kit/pay", move |_, context| {
        let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            let failed = |error: runvil_pack::FileError| ToolError::other(error.to_string());
            context.files().append("paid", "1").await.map_err(failed)?;
            if first {
                std::future::pending::<()>().await;
            }
            Ok(ToolOutput::trusted("paid"))
        }
    });
    Host::builder().plugin(&kit).build().expect("a Host")
}

/// Runs until the tool hangs, and lets the process die there.
async fn die_in_a_call(host: &Host, database: &Database) -> RunId {
    let body = "## A\n```lua\nstore.write('own', 'o')\nlocal ok, said = pcall(tools.call, 'kit/pay')\n\
                return tostring(said) .. store.read('paid') .. store.read('own')\n```\n";
    let (id, recorder) = record(database, i64::MAX);
    let launch = Launch {
        recorder: Some(recorder),
        ..Launch::new(prompt("uses: [acme/kit]\n", body), "dies")
    };
    let cut = tokio::time::timeout(Duration::from_millis(300), host.run(launch, &mut ())).await;
    assert!(cut.is_err());
    id
}

#[tokio::test]
async fn a_call_of_which_nobody_knows_is_not_repeated_unless_somebody_says_so() {
    for (unknown, outcome) in [
        (OnUnknown::Repeat, "paid11o"),
        (
            OnUnknown::Fail,
            "tool call failure: the process ended before this call did, and it is not known whether it took effect1o",
        ),
    ] {
        let calls = Arc::new(AtomicU64::new(0));
        let host = hanging_host(&calls);
        let database = Database::in_memory().expect("a database");
        let id = die_in_a_call(&host, &database).await;
        let Err(error) = resume(&host, &database, id, LaunchStore::Fresh, OnUnknown::Ask).await else {
            panic!("resumed without asking");
        };
        assert_eq!(
            error.to_string(),
            "it is not known whether this took effect before the process died: effect 2, a call of kit/pay"
        );
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let report = resume(&host, &database, id, LaunchStore::Fresh, unknown)
            .await
            .expect("resumed");
        // The file that the tool had written and the run's own are there again.
        assert_eq!(result(&report), outcome);
        replays(&database, id);
    }
}

#[tokio::test]
async fn a_host_without_the_runs_tools_does_not_touch_it() {
    let calls = Arc::new(AtomicU64::new(0));
    let database = Database::in_memory().expect("a database");
    let id = die_in_a_call(&hanging_host(&calls), &database).await;
    let bare = Host::builder().build().expect("a Host");
    let refused = resume(&bare, &database, id, LaunchStore::Fresh, OnUnknown::Ask).await;
    assert!(matches!(refused, Err(ResumeError::MissingTool(tool)) if tool == "kit/pay"));
    assert_eq!(database.run(id).expect("a run").outcome, None);
}

#[tokio::test]
async fn a_file_that_somebody_else_changed_is_not_changed_again_without_asking() {
    let place = tempfile::tempdir().expect("a folder");
    let database = Database::in_memory().expect("a database");
    let body = "## A\n```lua\nstore.write('f', 'a')\nstore.append('f', 'b')\nreturn store.read('f')\n```\n";
    // Start, parse, prepared, two steps with an answer between, and the change of the append.
    let (id, recorder) = record(&database, 7);
    let launch = Launch {
        store: directory(place.path()),
        recorder: Some(recorder),
        ..Launch::new(prompt("", body), "t")
    };
    let host = Host::builder().build().expect("a Host");
    host.run(launch, &mut ()).await;
    assert_eq!(std::fs::read_to_string(place.path().join("f")).expect("the file"), "ab");
    std::fs::write(place.path().join("f"), "other").expect("written");
    let refused = resume(&host, &database, id, directory(place.path()), OnUnknown::Ask).await;
    let Err(error @ ResumeError::Unknown(_)) = refused else {
        panic!("resumed")
    };
    assert!(
        error
            .to_string()
            .contains("effect 2, append of f in the store, which somebody else has changed"),
        "{error}"
    );
    let report = resume(&host, &database, id, directory(place.path()), OnUnknown::Repeat)
        .await
        .expect("resumed");
    assert_eq!(result(&report), "otherb");
}

#[tokio::test]
async fn the_claims_of_a_run_are_there_again() {
    let host = |hang: bool| {
        let say = if hang {
            Say::Hang(Vec::new())
        } else {
            Say::Text(vec!["y"])
        };
        Host::builder()
            .models(models(Script::new([say])))
            .build()
            .expect("a Host")
    };
    let body = "## A\n```lua\nlocal r = tasks.fanout('## Arm', { 'a', 'b' })\nreturn 'no conflict'\n```\n## Arm\n```lua\n\
                models.use('m')\nif item == 'a' then store.write('f', 'a') else models.infer('wait') store.write('f', 'b') end\n```\n";
    let database = Database::in_memory().expect("a database");
    let (id, recorder) = record(&database, i64::MAX);
    let launch = Launch {
        recorder: Some(recorder),
        ..Launch::new(prompt("models:\n  m: {}\n", body), "t")
    };
    let cut = tokio::time::timeout(Duration::from_millis(300), host(true).run(launch, &mut ())).await;
    assert!(cut.is_err());
    let resumed = resume(&host(false), &database, id, LaunchStore::Fresh, OnUnknown::Ask).await;
    let report = resumed.expect("resumed");
    assert_eq!(common::failure(&report).0, RunErrorKind::Determinism);
    replays(&database, id);
}

#[tokio::test]
async fn a_cancel_inside_running_lua_replays_at_its_place() {
    let host = Host::builder().origin(Arc::new(Fixed)).build().expect("a Host");
    let bodies = [
        "## A\n```lua\nlog('go')\nwhile true do end\n```\n",
        "## A\n```lua\nlog('go')\nlocal n = 0\nfor i = 1, 1e12 do n = n + 1 if i % 1000000 == 0 then log(tostring(n)) end end\n```\n",
        "## A\n```lua\nlog('go')\nwhile true do pcall(function() while true do end end) end\n```\n",
        "## A\n```lua\nlog('go')\nreturn call('## B')\n```\n## B\n```lua\nlocal s = string.rep('a', 1000000)\n\
         while true do string.find(s, '.-b') end\n```\n",
        "```lua\nlog('go')\nwhile true do end\n```\n## A\n```lua\nreturn 1\n```\n",
        "## A\n```lua\nlog('go')\nwhile true do store.write('a', 'b') end\n```\n",
        "## A\n```lua\nlog('go')\nfor i = 1, 20 do tasks.spawn('## B', { index = i }) end\nwhile true do end\n```\n\
         ## B\n```lua\nstore.write(tostring(sys.index), 'x')\nwhile true do end\n```\n",
    ];
    for body in bodies {
        for wait in [0, 3, 20] {
            let database = Database::in_memory().expect("a database");
            let (id, recorder) = record(&database, i64::MAX);
            let launch = Launch {
                recorder: Some(recorder),
                ..Launch::new(prompt("", body), "t")
            };
            let control = launch.control.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30 + wait));
                control.cancel();
            });
            let report = host.run(launch, &mut ()).await;
            assert_eq!(report.outcome, RunOutcome::Cancelled, "{body}");
            replays(&database, id);
        }
    }
}

#[tokio::test]
async fn a_stop_replays_and_is_kept_for_a_run_that_goes_on() {
    let body = "## A\n```lua\nmodels.use('m')\nmessages:user('x')\nlocal ok, e = pcall(models.loop)\nreturn e.kind .. models.infer('y')\n```\n";
    let database = Database::in_memory().expect("a database");
    // The stop is the last thing that is kept: start, parse, prepared, one step, the stop.
    for calls in [5, i64::MAX] {
        let script = Script::new([Say::Hang(vec!["s"]), Say::Text(vec!["z"])]);
        let host = Host::builder().models(models(script)).build().expect("a Host");
        let (id, recorder) = record(&database, calls);
        let launch = Launch {
            recorder: Some(recorder),
            ..Launch::new(prompt("models:\n  m: {}\n", body), "t")
        };
        let control = launch.control.clone();
        let mut heard = Heard::reacting(|line| {
            if line.starts_with("live") {
                control.stop();
            }
        });
        let report = host.run(launch, &mut heard).await;
        let report = if calls == i64::MAX {
            report
        } else {
            let resumed = resume(&host, &database, id, LaunchStore::Fresh, OnUnknown::Ask).await;
            resumed.expect("resumed")
        };
        assert_eq!(result(&report), "cancelledz");
        replays(&database, id);
    }
}
