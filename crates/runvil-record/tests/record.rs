//! What is written is read back.

mod common;

use common::{begin, event, handed, log, loop_of, reply, round, start, timer};
use runvil_engine::{
    AccessId, Answer, CancelPlace, EffectId, EventKind, FileChange, FileState, Handed, History, Outcome, Recorder,
    RunOutcome, StepRecord,
    wire::{Message, Role},
};
use runvil_record::{Database, Durability, HostFacts, OutcomeKind, Parent, RecordError, RunFilter, Tokens};
use runvil_vfs::{StoreFailure, StoreOp, StoreReply};

fn memory() -> Database {
    Database::in_memory().expect("a database")
}

fn steps(database: &Database, run: runvil_record::RunId) -> Vec<StepRecord> {
    let mut history = database.history(run).expect("a history");
    std::iter::from_fn(|| history.next_step().expect("a step")).collect()
}

#[test]
fn a_course_reads_back_step_by_step() {
    let database = memory();
    let writer = begin(&database, "course");
    let long = "a long text that stands in the database only once, whatever holds it".to_owned();
    let written = vec![
        StepRecord {
            openings: vec![None, Some(StoreFailure::NoStore)],
            effects: vec![round(1, vec![Message::text(Role::User, long.clone())]), timer(2)],
            events: vec![log(2, long.clone()), log(3, "short")],
            ..StepRecord::default()
        },
        StepRecord {
            handed: handed(1),
            drops: vec![EffectId(2)],
            events: vec![log(4, long.clone())],
            ..StepRecord::default()
        },
        StepRecord {
            handed: vec![Handed {
                effect: EffectId(2),
                dropped: true,
            }],
            cancelled: Some(CancelPlace { at: 17, in_lua: true }),
            outcome: Some(RunOutcome::Cancelled),
            ..StepRecord::default()
        },
    ];
    for step in &written {
        if let [Handed { effect, dropped: false }] = step.handed[..] {
            writer.answered(effect, &reply(&long)).expect("kept");
        }
        writer.stepped(step).expect("kept");
    }
    writer.cancelling("enough is enough").expect("kept");
    writer
        .ended(&RunOutcome::Cancelled, &[event(5, EventKind::RunFailed)])
        .expect("kept");

    assert_eq!(steps(&database, writer.id()), written);
    let mut history = database.history(writer.id()).expect("a history");
    assert_eq!(history.answer(EffectId(1)).expect("readable"), Some(reply(&long)));
    assert_eq!(history.answer(EffectId(2)).expect("readable"), None);

    let run = database.run(writer.id()).expect("a run");
    assert_eq!(
        (run.start, run.source),
        (start("course"), b"---\nname: p\n---\n# P\n".to_vec())
    );
    assert_eq!(run.outcome, Some(RunOutcome::Cancelled));
    assert_eq!(run.cause.as_deref(), Some("enough is enough"));

    let events: Vec<_> = database
        .events(writer.id())
        .expect("events")
        .map(|event| event.expect("readable"))
        .collect();
    assert_eq!(events.len(), 6);
    assert_eq!(events[0].step, None);
    assert_eq!((events[2].number, events[2].step), (2, Some(0)));
    assert_eq!(events[5].event.kind, EventKind::RunFailed);

    let effects: Vec<_> = database
        .effects(writer.id())
        .expect("effects")
        .map(|one| one.expect("readable"))
        .collect();
    assert_eq!(effects[0].effect, written[0].effects[0]);
    assert_eq!(
        (effects[0].answer.clone(), effects[0].handed_in),
        (Some(reply(&long)), Some(1))
    );
    assert_eq!((effects[1].answer.clone(), effects[1].dropped), (None, true));
}

#[test]
fn a_summary_counts_rounds_and_tokens_and_knows_what_is_unknown() {
    let database = memory();
    let run = loop_of(&database, 3);
    let summary = database.summary(run).expect("a summary");
    assert_eq!((summary.effects, summary.rounds), (Some(3), Some(3)));
    assert_eq!(summary.prompt_name.as_deref(), Some("p"));
    assert_eq!(summary.outcome, Some(OutcomeKind::Completed));
    let tokens = Tokens {
        prompt: Some(30),
        completion: Some(6),
        unreported: 0,
    };
    assert_eq!(summary.tokens, Some(tokens));

    let writer = begin(&database, "mute");
    let step = StepRecord {
        effects: vec![round(1, Vec::new())],
        ..StepRecord::default()
    };
    writer.stepped(&step).expect("kept");
    let mute = Answer::Model(Box::new(Outcome::Ok(runvil_engine::ModelReply::default())));
    writer.answered(EffectId(1), &mute).expect("kept");
    assert_eq!(database.summary(writer.id()).expect("a summary").tokens, None);
    writer.ended(&RunOutcome::Cancelled, &[]).expect("kept");
    let tokens = Tokens {
        prompt: None,
        completion: None,
        unreported: 1,
    };
    assert_eq!(database.summary(writer.id()).expect("a summary").tokens, Some(tokens));
}

#[test]
fn accesses_of_tools_and_changes_of_files_read_back_in_the_order_in_which_they_landed() {
    let database = memory();
    let writer = begin(&database, "files");
    let identity = runvil_vfs::Identity::root("0");
    let store = |id: u64| runvil_engine::Effect {
        kind: runvil_engine::EffectKind::Store(runvil_engine::StoreCall {
            identity: identity.clone(),
            op: StoreOp::Delete { path: "a".to_owned() },
        }),
        ..timer(id)
    };
    let tool = runvil_engine::Effect {
        kind: runvil_engine::EffectKind::ToolCall(runvil_engine::ToolCall {
            tool: "kit/write".to_owned(),
            arguments: serde_json::json!({}),
            survives_stop: false,
            identity: Some(identity.clone()),
        }),
        ..timer(1)
    };
    let step = StepRecord {
        effects: vec![tool, store(2)],
        ..StepRecord::default()
    };
    writer.stepped(&step).expect("kept");
    let (first, second) = (
        AccessId {
            effect: EffectId(1),
            nth: 1,
        },
        AccessId {
            effect: EffectId(1),
            nth: 2,
        },
    );
    let op = StoreOp::Append {
        path: "b".to_owned(),
        contents: "x".to_owned(),
    };
    let change = FileChange {
        before: None,
        after: Some(FileState {
            length: 1,
            hash: "sha256:0".to_owned(),
        }),
    };
    writer.accessing(first, &op).expect("kept");
    writer.changing(first, &change).expect("kept");
    writer
        .answered(EffectId(2), &Answer::Store(Outcome::Ok(StoreReply::Done)))
        .expect("kept");
    writer.accessed(first, &Outcome::Ok(StoreReply::Done)).expect("kept");
    writer.accessing(second, &op).expect("kept");

    let mut history = database.history(writer.id()).expect("a history");
    let landed = history.landed().expect("readable");
    let order: Vec<_> = landed
        .iter()
        .map(|landed| (landed.access.effect.0, landed.access.nth))
        .collect();
    assert_eq!(order, [(2, 0), (1, 1)]);
    assert_eq!(landed[1].op, op);
    assert_eq!(history.change(first).expect("readable"), Some(change));
    assert_eq!(history.change(second).expect("readable"), None);
    writer.stopped(&[EffectId(1)]).expect("kept");
    let mut history = database.history(writer.id()).expect("a history");
    assert_eq!(history.stopped().expect("readable"), [EffectId(1)]);
}

#[test]
fn a_loop_of_twice_the_rounds_takes_about_twice_the_place() {
    let size = |rounds| {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("runs.db");
        let database = Database::open(&path).expect("a database");
        loop_of(&database, rounds);
        database.shrink().expect("shrunk");
        std::fs::metadata(&path).expect("a file").len()
    };
    let (half, whole) = (size(250), size(500));
    assert!(whole * 10 < half * 22, "{half} bytes for 250 rounds, {whole} for 500");
    // Each round says some 550 bytes that are new; all that was said before it must not come on top.
    assert!(whole < 500 * 4000, "{whole}");
}

#[test]
fn runs_come_in_pages_from_the_newest_on() {
    let database = memory();
    let names = ["a", "b", "a", "c", "a"];
    let ids: Vec<_> = names.iter().map(|name| begin(&database, name).id()).collect();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = database.runs(&RunFilter::default(), after.as_ref(), 2).expect("a page");
        seen.extend(page.runs.iter().map(|run| run.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids.iter().rev().copied().collect::<Vec<_>>());

    let named = RunFilter {
        name: Some("a".to_owned()),
        ..RunFilter::default()
    };
    assert_eq!(database.runs(&named, None, 10).expect("a page").runs.len(), 3);
    let open = RunFilter {
        outcome: Some(None),
        prompt: Some("p".to_owned()),
        since: Some(0),
        ..RunFilter::default()
    };
    assert_eq!(database.runs(&open, None, 10).expect("a page").runs.len(), 5);
    let ended = RunFilter {
        outcome: Some(Some(OutcomeKind::Failed)),
        ..RunFilter::default()
    };
    assert!(database.runs(&ended, None, 10).expect("a page").runs.is_empty());
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    let database = memory();
    assert!(matches!(database.find("last"), Err(RecordError::NoSuchRun { .. })));
    let (one, two) = (begin(&database, "a").id(), begin(&database, "b").id());
    assert_eq!(database.find("last").expect("found"), two);
    assert_eq!(database.find(&one.to_string()).expect("found"), one);
    assert_eq!(
        database.find(&two.to_string().to_uppercase()[..30]).expect("found"),
        two
    );
    assert!(matches!(
        database.find(&one.to_string()[..6]),
        Err(RecordError::Ambiguous { .. })
    ));
    for wrong in ["", "zzz", "ffff", "%", "last1"] {
        assert!(
            matches!(database.find(wrong), Err(RecordError::NoSuchRun { .. })),
            "{wrong}"
        );
    }
}

#[test]
fn deleting_a_run_keeps_the_texts_that_others_hold_and_the_runs_that_go() {
    let place = tempfile::tempdir().expect("a folder");
    let database = Database::open(place.path().join("runs.db")).expect("a database");
    let (one, two) = (loop_of(&database, 5), loop_of(&database, 5));
    let live = begin(&database, "live");
    let alone = database.size(one).expect("a size");
    let deleted = database.delete_runs(&[one, live.id()]).expect("deleted");
    assert_eq!((deleted.runs, deleted.live), (vec![one], vec![live.id()]));
    assert!(deleted.bytes > 0 && deleted.bytes == alone);
    assert!(matches!(database.summary(one), Err(RecordError::NoSuchRun { .. })));
    assert_eq!(steps(&database, two).len(), 6);
    // Nobody else holds the second run's texts now.
    assert!(database.size(two).expect("a size") > alone);
    let left = database.delete_runs(&[two, one]).expect("deleted");
    assert_eq!(left.runs, [two]);
    assert_eq!(steps(&database, live.id()).len(), 0);
}

#[test]
fn who_reads_a_run_reads_all_of_it_though_it_is_deleted_and_another_one_recorded() {
    let database = memory();
    let run = loop_of(&database, 30);
    let whole = steps(&database, run);
    let mut history = database.history(run).expect("a history");
    let mut effects = database.effects(run).expect("effects");
    assert!(effects.next().is_some_and(|effect| effect.is_ok()));
    assert_eq!(database.delete_runs(&[run]).expect("deleted").runs, [run]);
    let writer = begin(&database, "another");
    let other = StepRecord {
        events: vec![log(
            2,
            "of another run, in a text that is long enough to stand among the texts",
        )],
        ..StepRecord::default()
    };
    writer.stepped(&other).expect("kept");
    let read: Vec<_> = std::iter::from_fn(|| history.next_step().expect("a step")).collect();
    assert_eq!(read, whole);
    assert_eq!(effects.filter(Result::is_ok).count(), 29);
    assert!(matches!(database.history(run), Err(RecordError::NoSuchRun { .. })));
    assert_eq!(steps(&database, writer.id()), [other]);
}

#[test]
fn a_run_goes_on_behind_what_is_recorded_once_nobody_drives_it() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("runs.db");
    let database = Database::open(&path).expect("a database");
    let writer = begin(&database, "first");
    let id = writer.id();
    let first = StepRecord {
        effects: vec![timer(1)],
        events: vec![log(2, "one")],
        ..StepRecord::default()
    };
    writer.stepped(&first).expect("kept");
    let other = Database::open(&path).expect("the same database");
    assert!(matches!(other.resume(id), Err(RecordError::Live(_))));
    assert!(other.is_live(id).expect("told"));
    drop(writer);
    assert!(!other.is_live(id).expect("told"));

    let writer = other.resume(id).expect("resumed");
    let second = StepRecord {
        handed: handed(1),
        events: vec![log(3, "two")],
        ..StepRecord::default()
    };
    writer.answered(EffectId(1), &Answer::Timer).expect("kept");
    writer.stepped(&second).expect("kept");
    writer.ended(&RunOutcome::Cancelled, &[]).expect("kept");
    assert_eq!(steps(&database, id), [first, second]);
    assert_eq!(database.summary(id).expect("a summary").resumed, 1);
    assert!(matches!(database.resume(id), Err(RecordError::Ended(_))));
}

#[test]
fn two_processes_write_at_once() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("runs.db");
    let work = |_| {
        let database = Database::open(&path).expect("a database");
        for _ in 0..5 {
            loop_of(&database, 10);
        }
    };
    std::thread::scope(|scope| {
        for number in 0..3 {
            scope.spawn(move || work(number));
        }
    });
    let database = Database::open_existing(&path).expect("a database");
    let page = database.runs(&RunFilter::default(), None, 100).expect("a page");
    assert_eq!(page.runs.len(), 15);
    for run in page.runs {
        assert_eq!(steps(&database, run.id).len(), 11);
    }
}

#[test]
fn a_fork_names_the_run_that_it_comes_from_and_when_it_began() {
    let database = memory().with_durability(Durability::Power).expect("set");
    let parent = Parent {
        run: loop_of(&database, 1),
        effect: EffectId(1),
    };
    let facts = HostFacts {
        file: Some("prompt.md".to_owned()),
        host: serde_json::json!({ "store": "memory" }),
        parent: Some(parent),
    };
    let writer = database.record(facts).expect("a record");
    assert!(matches!(
        database.summary(writer.id()),
        Err(RecordError::NoSuchRun { .. })
    ));
    writer.started(&start("fork"), b"").expect("kept");
    let summary = database.summary(writer.id()).expect("a summary");
    assert_eq!(
        (summary.parent, summary.file.as_deref()),
        (Some(parent), Some("prompt.md"))
    );
    // It starts from its parent's instant, and began when it was made.
    assert_eq!(Some(summary.started_at), writer.id().drawn_at());
    assert_eq!(
        database.run(writer.id()).expect("a run").host,
        serde_json::json!({ "store": "memory" })
    );
}

#[test]
fn data_of_a_thousand_levels_fits_on_the_stack_of_any_thread() {
    let work = || {
        let database = memory();
        let writer = begin(&database, "deep");
        let deep = (0..999).fold(serde_json::json!("x"), |inner, number| match number % 3 {
            0 => serde_json::json!([inner]),
            1 => serde_json::json!({ "a": inner }),
            _ => serde_json::json!([1, 2, 3, 4, inner]),
        });
        let tool = runvil_engine::Effect {
            kind: runvil_engine::EffectKind::ToolCall(runvil_engine::ToolCall {
                tool: "kit/deep".to_owned(),
                arguments: serde_json::json!({ "deep": deep }),
                survives_stop: false,
                identity: None,
            }),
            ..timer(1)
        };
        let step = StepRecord {
            effects: vec![tool],
            ..StepRecord::default()
        };
        writer.stepped(&step).expect("kept");
        assert_eq!(steps(&database, writer.id()), [step]);
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(work).expect("a thread").join().expect("it fits");
}
