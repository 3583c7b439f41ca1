//! A new run follows the course of a recorded one, and leaves it.

mod common;

use std::{sync::Arc, time::Duration};

use common::{
    Fixed, Heard, Say, Script, models, prompt,
    recorded::{record, replays},
    result,
};
use runvil_engine::{EffectId, RunOutcome};
use runvil_harness::{Fork, Host, Launch};
use runvil_record::Database;

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
            packs: None,
        };
        let report = host(replies)
            .fork(launch, fork)
            .await
            .go_on(&mut ())
            .await
            .expect("forked");
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
            packs: None,
        };
        let report = run(replies)
            .fork(launch, fork)
            .await
            .go_on(&mut ())
            .await
            .expect("forked");
        replays(&database, forked);
        let text = result(&report);
        text.to_owned()
    };
    // What it writes under the same number is its own text.
    assert_eq!(
        fork("store.write('f', a .. '!')\nreturn store.read('f')", vec![]).await,
        "1!"
    );
    // Another operation under the same number is no answer's.
    assert_eq!(
        fork("store.write('f', a)\nreturn tostring(store.exists('g'))", vec![]).await,
        "false"
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
        packs: None,
    };
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        control.cancel();
    };
    let mut nobody = ();
    let continuation = host.fork(launch, fork).await;
    let (report, ()) = tokio::join!(continuation.go_on(&mut nobody), cancel);
    assert_eq!(report.expect("a report").outcome, RunOutcome::Cancelled);
    replays(&database, forked);
}

#[tokio::test]
async fn a_fork_is_handed_what_the_host_stopped_as_dropped_and_goes_on_with_the_course() {
    let body = "## A\n```lua\nmodels.use('m')\nmessages:user('x')\nlocal ok, e = pcall(models.loop)\n\
                return e.kind .. models.infer('y') .. models.infer('z')\n```\n";
    let source = prompt("models:\n  m: {}\n", body);
    let database = Database::in_memory().expect("a database");
    let host = |says: Vec<Say>| {
        Host::builder()
            .models(models(Script::new(says)))
            .origin(Arc::new(Fixed))
            .build()
            .expect("a Host")
    };
    let (id, recorder) = record(&database, i64::MAX);
    let launch = Launch {
        recorder: Some(recorder),
        ..Launch::new(source.clone(), "t")
    };
    let control = launch.control.clone();
    let mut heard = Heard::reacting(|line| {
        if line.starts_with("live") {
            control.stop();
        }
    });
    let says = vec![Say::Hang(vec!["s"]), Say::Text(vec!["1"]), Say::Text(vec!["2"])];
    assert_eq!(result(&host(says).run(launch, &mut heard).await), "cancelled12");
    for (until, says, outcome) in [
        (1, vec![Say::Text(vec!["3"]), Say::Text(vec!["4"])], "cancelled34"),
        (2, vec![Say::Text(vec!["4"])], "cancelled14"),
        (3, vec![], "cancelled12"),
    ] {
        let (forked, recorder) = record(&database, i64::MAX);
        let launch = Launch {
            recorder: Some(recorder),
            ..Launch::new(source.clone(), "t")
        };
        let fork = Fork {
            history: Box::new(database.history(id).expect("a history")),
            until: EffectId(until),
            answer: None,
            packs: None,
        };
        let continuation = host(says).fork(launch, fork).await;
        let report = continuation.go_on(&mut ()).await.expect("forked");
        assert_eq!(result(&report), outcome);
        replays(&database, forked);
    }
}
