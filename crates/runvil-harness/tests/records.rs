//! A run is recorded, replayed, and goes on after its process died.

mod common;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use common::{Fixed, Heard, Say, Script, models, pack, prompt, result};
use runvil_engine::{
    AccessId, Answer, EffectId, Event, FileChange, Outcome, RecordFault, Recorder, RunErrorKind, RunOutcome,
    RunPrepared, RunStart, StepRecord,
};
use runvil_harness::{
    Fork, Host, Launch, LaunchStore, OnChanged, OnUnknown, Recorded, ResumeError, Resumption, RunReport, replay,
};
use runvil_pack::{ToolError, ToolOutput};
use runvil_record::{Database, HostFacts, RunId, RunWriter};
use runvil_vfs::{Mount, Mounts, Store, StoreFailure, StoreOp, StoreReply};
use runvil_vfs_dir::DirBackend;

/// Keeps a run's record until it has been told so many things, then no more: as if the process had died there.
struct Dying {
    writer: RunWriter,
    left: AtomicI64,
}

impl Dying {
    fn told(&self) -> Result<&RunWriter, RecordFault> {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            Ok(&self.writer)
        } else {
            Err("the disk is gone".into())
        }
    }
}

impl Recorder for Dying {
    fn started(&self, start: &RunStart, source: &[u8]) -> Result<(), RecordFault> {
        self.told()?.started(start, source)
    }
    fn parsed(&self, name: Option<&str>, events: &[Event]) -> Result<(), RecordFault> {
        self.told()?.parsed(name, events)
    }
    fn prepared(&self, prepared: &RunPrepared) -> Result<(), RecordFault> {
        self.told()?.prepared(prepared)
    }
    fn stepped(&self, step: &StepRecord) -> Result<(), RecordFault> {
        self.told()?.stepped(step)
    }
    fn answered(&self, effect: EffectId, answer: &Answer) -> Result<(), RecordFault> {
        self.told()?.answered(effect, answer)
    }
    fn accessing(&self, access: AccessId, op: &StoreOp) -> Result<(), RecordFault> {
        self.told()?.accessing(access, op)
    }
    fn changing(&self, access: AccessId, change: &FileChange) -> Result<(), RecordFault> {
        self.told()?.changing(access, change)
    }
    fn accessed(&self, access: AccessId, reply: &Outcome<StoreReply, StoreFailure>) -> Result<(), RecordFault> {
        self.told()?.accessed(access, reply)
    }
    fn stopped(&self, dropped: &[EffectId]) -> Result<(), RecordFault> {
        self.told()?.stopped(dropped)
    }
    fn ended(&self, outcome: &RunOutcome, lost: &[Event]) -> Result<(), RecordFault> {
        self.told()?.ended(outcome, lost)
    }
}

fn record(database: &Database, calls: i64) -> (RunId, Arc<Dying>) {
    let writer = database.record(HostFacts::default()).expect("a record");
    let left = AtomicI64::new(calls);
    (writer.id(), Arc::new(Dying { writer, left }))
}

fn recorded(database: &Database, id: RunId) -> Recorded {
    let run = database.run(id).expect("a run");
    Recorded {
        start: run.start,
        source: run.source,
        parse_events: database.parse_events(id).expect("events"),
        prepared: run.prepared,
        outcome: run.outcome,
    }
}

/// The run repeats as it was recorded.
#[track_caller]
fn replays(database: &Database, id: RunId) {
    let recorded = recorded(database, id);
    let mut history = database.history(id).expect("a history");
    let replayed = replay(&recorded, &recorded.source, &mut history).expect("replayed");
    assert_eq!(replayed.divergence, None);
    assert_eq!(replayed.outcome, recorded.outcome);
}

async fn resume(
    host: &Host,
    database: &Database,
    id: RunId,
    store: LaunchStore,
    unknown: OnUnknown,
) -> Result<RunReport, ResumeError> {
    resume_on(host, database, id, store, unknown, OnChanged::Ask).await
}

async fn resume_on(
    host: &Host,
    database: &Database,
    id: RunId,
    store: LaunchStore,
    unknown: OnUnknown,
    changed: OnChanged,
) -> Result<RunReport, ResumeError> {
    let recorded = recorded(database, id);
    let launch = Launch {
        store,
        recorder: Some(Arc::new(database.resume(id).expect("nobody drives it"))),
        input: recorded.start.input.clone(),
        ..Launch::new(recorded.source.clone(), recorded.start.facts.name.clone())
    };
    let resumption = Resumption {
        recorded,
        history: Box::new(database.history(id).expect("a history")),
        unknown,
        changed,
        taken: database.summary(id).expect("a run").parent.map(|parent| parent.effect),
    };
    host.resume(launch, resumption).await?.go_on(&mut ()).await
}

fn directory(path: &Path) -> LaunchStore {
    let mount = Mount::new("/", DirBackend::new(path).without_sync()).expect("a mount");
    let mounts = Mounts::new([mount]).expect("mounts");
    LaunchStore::Supplied(Store::new(mounts, "/").expect("a store"))
}

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

/// Writes, changes and deletes files, then waits for a reply that does not come.
async fn die_with_files(place: &Path, database: &Database) -> RunId {
    let body = "## A\n```lua\nmodels.use('m')\nstore.write('kept', 'k')\nstore.write('written', 'w')\n\
                store.write('appended', 'a')\nstore.append('appended', 'b')\nstore.write('deleted', 'd')\nstore.delete('deleted')\n\
                return models.infer('wait') .. store.read('kept')\n```\n";
    let (id, recorder) = record(database, i64::MAX);
    let launch = Launch {
        store: directory(place),
        recorder: Some(recorder),
        ..Launch::new(prompt("models:\n  m: {}\n", body), "t")
    };
    let host = waiting_host(Say::Hang(Vec::new()));
    let cut = tokio::time::timeout(Duration::from_millis(500), host.run(launch, &mut ())).await;
    assert!(cut.is_err());
    id
}

fn waiting_host(say: Say) -> Host {
    let models = models(Script::new([say]));
    Host::builder().models(models).build().expect("a Host")
}

#[tokio::test]
async fn files_that_are_not_as_the_run_left_them_are_told_before_it_goes_on() {
    let place = tempfile::tempdir().expect("a folder");
    let database = Database::in_memory().expect("a database");
    let id = die_with_files(place.path(), &database).await;
    let file = |name: &str| place.path().join(name);
    std::fs::write(file("written"), "other").expect("written");
    std::fs::remove_file(file("appended")).expect("removed");
    std::fs::write(file("deleted"), "again").expect("written");
    std::fs::write(file("strange"), "not the run's").expect("written");
    let host = waiting_host(Say::Text(vec!["r"]));
    let refused = resume(&host, &database, id, directory(place.path()), OnUnknown::Ask).await;
    let Err(error @ ResumeError::Changed(_)) = refused else {
        panic!("resumed")
    };
    assert_eq!(
        error.to_string(),
        "files of the store are not as the run left them: appended is gone; deleted is there again; written was changed"
    );
    let accepted = resume_on(
        &host,
        &database,
        id,
        directory(place.path()),
        OnUnknown::Ask,
        OnChanged::Accept,
    );
    assert_eq!(result(&accepted.await.expect("resumed")), "rk");
}

#[tokio::test]
async fn files_that_are_as_the_run_left_them_are_nothing_to_tell() {
    let place = tempfile::tempdir().expect("a folder");
    let database = Database::in_memory().expect("a database");
    let id = die_with_files(place.path(), &database).await;
    let host = waiting_host(Say::Text(vec!["r"]));
    let report = resume(&host, &database, id, directory(place.path()), OnUnknown::Ask).await;
    assert_eq!(result(&report.expect("resumed")), "rk");
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

#[tokio::test]
async fn a_fork_leaves_the_course_where_it_asks_for_other_work() {
    let source = |last: &str| {
        let body = format!(
            "## A\n```lua\nmodels.use('m')\nstore.write('f', models.infer('a'))\nstore.append('f', models.infer('b'))\n\
             return store.read('f') .. {last}\n```\n"
        );
        prompt("models:\n  m: {}\n", &body)
    };
    let database = Database::in_memory().expect("a database");
    let host = |replies: Vec<&'static str>| {
        let script = Script::new(replies.into_iter().map(|text| Say::Text(vec![text])));
        Host::builder()
            .models(models(script))
            .origin(Arc::new(Fixed))
            .build()
            .expect("a Host")
    };
    let (id, recorder) = record(&database, i64::MAX);
    let launch = Launch {
        recorder: Some(recorder),
        ..Launch::new(source("'1'"), "t")
    };
    // Effect 1 is the first round, 2 the write, 3 the second round, 4 the append, 5 the read.
    assert_eq!(result(&host(vec!["x", "y"]).run(launch, &mut ()).await), "xy1");
    for (until, source, replies, outcome) in [
        (2, source("'2'"), vec!["n"], "xn2"),
        (5, source("'2'"), vec![], "xy2"),
        (2, source("store.read('f')"), vec!["n"], "xnxn"),
    ] {
        let (forked, recorder) = record(&database, i64::MAX);
        let launch = Launch {
            recorder: Some(recorder),
            ..Launch::new(source, "t")
        };
        let fork = Fork {
            history: Box::new(database.history(id).expect("a history")),
            until: EffectId(until),
            answer: None,
        };
        let report = host(replies).fork(launch, fork, &mut ()).await.expect("forked");
        assert_eq!(result(&report), outcome);
        replays(&database, forked);
    }
}

#[tokio::test]
async fn a_fork_has_in_its_store_what_it_wrote_itself_and_no_more() {
    let source = |body: &str| {
        let body = format!("## A\n```lua\nmodels.use('m')\nlocal a = models.infer('a')\n{body}\n```\n");
        prompt("models:\n  m: {}\n", &body)
    };
    let database = Database::in_memory().expect("a database");
    let run = |replies: Vec<&'static str>| {
        let script = Script::new(replies.into_iter().map(|text| Say::Text(vec![text])));
        Host::builder()
            .models(models(script))
            .origin(Arc::new(Fixed))
            .build()
            .expect("a Host")
    };
    let (id, recorder) = record(&database, i64::MAX);
    let launch = Launch {
        recorder: Some(recorder),
        ..Launch::new(source("store.write('f', a)\nstore.write('g', a)\nreturn 'x'"), "t")
    };
    run(vec!["1"]).run(launch, &mut ()).await;
    let fork = async |body: &str, replies| {
        let (forked, recorder) = record(&database, i64::MAX);
        let launch = Launch {
            recorder: Some(recorder),
            ..Launch::new(source(body), "t")
        };
        let fork = Fork {
            history: Box::new(database.history(id).expect("a history")),
            until: EffectId(3),
            answer: None,
        };
        let report = run(replies).fork(launch, fork, &mut ()).await.expect("forked");
        replays(&database, forked);
        let text = result(&report);
        text.to_owned()
    };
    // What it writes under the same number is its own text.
    assert_eq!(
        fork("store.write('f', a .. '!')\nreturn store.read('f')", vec![]).await,
        "1!"
    );
    // Where it asks for other work, the recorded run's later writes are not made.
    let other = "models.infer('b')\nreturn tostring(store.exists('f')) .. tostring(store.exists('g'))";
    assert_eq!(fork(other, vec!["2"]).await, "falsefalse");
}

#[tokio::test]
async fn a_fork_that_spins_can_be_cancelled() {
    let database = Database::in_memory().expect("a database");
    let (id, recorder) = record(&database, i64::MAX);
    let host = Host::builder().build().expect("a Host");
    let launch = Launch {
        recorder: Some(recorder),
        ..Launch::new(
            prompt("", "## A\n```lua\nstore.write('f', 'x')\nreturn 'x'\n```\n"),
            "t",
        )
    };
    host.run(launch, &mut ()).await;
    let spins = prompt("", "## A\n```lua\nstore.write('f', 'x')\nwhile true do end\n```\n");
    let (forked, recorder) = record(&database, i64::MAX);
    let launch = Launch {
        recorder: Some(recorder),
        ..Launch::new(spins, "t")
    };
    let control = launch.control.clone();
    let fork = Fork {
        history: Box::new(database.history(id).expect("a history")),
        until: EffectId(1),
        answer: None,
    };
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        control.cancel();
    };
    let mut nobody = ();
    let (report, ()) = tokio::join!(host.fork(launch, fork, &mut nobody), cancel);
    assert_eq!(report.expect("a report").outcome, RunOutcome::Cancelled);
    replays(&database, forked);
}
