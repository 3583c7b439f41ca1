//! A database of an older version is brought up to date, and its records go on.

mod common;

use common::{handed, log, loop_of, reply};
use runvil_engine::{Answer, EffectId, History as _, Recorder, RunOutcome, StepRecord};
use runvil_record::{Database, OutcomeKind, RunFilter, RunId};

const VERSION_1: &str = include_str!("data/version_1.sql");

/// A text that the run of the older version holds.
const OLD: &str = "a long text of the older version, which the run refers to again after it went on";

fn steps(database: &Database, run: RunId) -> Vec<StepRecord> {
    let mut history = database.history(run).expect("a history");
    std::iter::from_fn(|| history.next_step().expect("a step")).collect()
}

#[test]
fn records_of_version_1_read_as_they_were_written_and_go_on() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("runs.db");
    let older = rusqlite::Connection::open(&path).expect("a database");
    older.execute_batch(VERSION_1).expect("an older database");
    drop(older);
    let database = Database::open(&path).expect("brought up to date");
    let (cut, whole) = (
        database.find("last").expect("a run"),
        database.runs(&RunFilter::default(), None, 2).expect("a page").runs[1].id,
    );
    assert_eq!(
        database.summary(whole).expect("a summary").outcome,
        Some(OutcomeKind::Completed)
    );
    let same = loop_of(&database, 3);
    assert_eq!(steps(&database, whole), steps(&database, same));
    assert_eq!(database.run(whole).expect("a run"), database.run(same).expect("a run"));
    let before = steps(&database, cut);
    assert_eq!(before[0].events, [log(2, OLD)]);

    let writer = database.resume(cut).expect("resumed");
    let next = StepRecord {
        handed: handed(1),
        events: vec![
            log(3, OLD),
            log(4, "a text that is new, and long enough to stand among the texts"),
        ],
        ..StepRecord::default()
    };
    writer.answered(EffectId(2), &Answer::Timer).expect("kept");
    writer.stepped(&next).expect("kept");
    writer.ended(&RunOutcome::Cancelled, &[]).expect("kept");
    let mut after = steps(&database, cut);
    assert_eq!(after.pop(), Some(next));
    assert_eq!(after, before);
    let mut history = database.history(cut).expect("a history");
    let answer = "an answer of the older version, long enough to stand in the texts";
    assert_eq!(history.answer(EffectId(1)).expect("readable"), Some(reply(answer)));
    let deleted = database.delete_runs(&[cut]).expect("deleted");
    assert_eq!(deleted.runs, [cut]);
    assert_eq!(steps(&database, whole), steps(&database, same));
}
