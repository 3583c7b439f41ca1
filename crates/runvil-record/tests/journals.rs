//! What a process that dies leaves in its journal is brought in by whoever opens the database next.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

use common::{begin, handed, log, loop_of, reply, round, timer};
use runvil_engine::{EffectId, History as _, Recorder, RunOutcome, StepRecord};
use runvil_record::{Database, Durability, RecordError, RunFilter, RunId, RunWriter};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("runs.db")
    }

    fn open(&self) -> Database {
        Database::open(self.path()).expect("a database")
    }

    /// The folder of the journals.
    fn live(&self) -> PathBuf {
        self.0.path().join("runs.db-live")
    }

    fn journal(&self, run: RunId) -> PathBuf {
        self.live().join(format!("{run}.journal"))
    }

    /// All that would be there if the processes died at this moment.
    fn as_of_now(&self) -> Self {
        let copy = Self::new();
        copy_folder(self.0.path(), copy.0.path());
        copy
    }
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).expect("a folder");
            copy_folder(&entry.path(), &to);
        } else if !entry.file_name().to_string_lossy().ends_with("-shm") {
            fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

fn step(number: u64) -> StepRecord {
    StepRecord {
        handed: if number == 0 { Vec::new() } else { handed(number) },
        effects: vec![timer(number + 1)],
        events: vec![log(number, format!("step {number} {}", "x".repeat(100)))],
        ..StepRecord::default()
    }
}

/// A run that has come to so many steps.
fn run_of(database: &Database, steps: u64) -> RunWriter {
    let writer = begin(database, "cut");
    tell(&writer, 0, steps);
    writer
}

fn tell(writer: &RunWriter, from: u64, steps: u64) {
    for number in from..from + steps {
        if number > 0 {
            writer.answered(EffectId(number), &reply("x")).expect("kept");
        }
        writer.stepped(&step(number)).expect("kept");
    }
}

fn steps(database: &Database, run: RunId) -> Vec<StepRecord> {
    let mut history = database.history(run).expect("a history");
    std::iter::from_fn(|| history.next_step().expect("a step")).collect()
}

fn written(steps: u64) -> Vec<StepRecord> {
    (0..steps).map(step).collect()
}

#[test]
fn nothing_that_was_kept_is_lost_whenever_the_process_dies() {
    let place = Place::new();
    let database = place.open();
    let writer = run_of(&database, 1);
    for number in 1..40 {
        tell(&writer, number, 1);
        let died = place.as_of_now();
        let later = died.open();
        assert_eq!(steps(&later, writer.id()), written(number + 1));
        assert!(!died.journal(writer.id()).exists());
        if number % 8 == 0 {
            // In between, batches land.
            thread::sleep(std::time::Duration::from_millis(70));
        }
    }
}

#[test]
fn a_run_that_was_killed_before_its_first_batch_appears() {
    let place = Place::new();
    let writer = run_of(&place.open(), 2);
    let died = place.as_of_now();
    fs::remove_file(died.path()).expect("the database has nothing");
    let _ = fs::remove_file(died.0.path().join("runs.db-wal"));
    let later = died.open();
    let page = later.runs(&RunFilter::default(), None, 10).expect("a page");
    assert_eq!(page.runs.iter().map(|run| run.id).collect::<Vec<_>>(), [writer.id()]);
    assert_eq!(steps(&later, writer.id()), written(2));
    let goes_on = later.resume(writer.id()).expect("resumed");
    tell(&goes_on, 2, 2);
    goes_on.ended(&RunOutcome::Cancelled, &[]).expect("kept");
    assert_eq!(steps(&later, writer.id()), written(4));
}

#[test]
fn a_torn_end_is_passed_over() {
    let place = Place::new();
    let writer = run_of(&place.open(), 3);
    let whole = fs::read(place.journal(writer.id())).expect("a journal");
    for (cut, zeros) in [(1, 0), (30, 0), (0, 100), (0, 3)] {
        let died = place.as_of_now();
        let mut torn = whole[..whole.len() - cut].to_vec();
        torn.resize(torn.len() + zeros, 0);
        fs::write(died.journal(writer.id()), torn).expect("torn");
        fs::remove_file(died.path()).expect("the database has nothing");
        let _ = fs::remove_file(died.0.path().join("runs.db-wal"));
        let left = if cut == 0 { 3 } else { 2 };
        assert_eq!(steps(&died.open(), writer.id()), written(left), "{cut} {zeros}");
        assert!(!died.journal(writer.id()).exists());
    }
}

#[test]
fn damage_is_told_and_nothing_deleted() {
    let place = Place::new();
    let writer = run_of(&place.open(), 5);
    let whole = fs::read(place.journal(writer.id())).expect("a journal");
    for at in [0, 9, 14, whole.len() / 2] {
        let died = place.as_of_now();
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        fs::write(died.journal(writer.id()), &damaged).expect("damaged");
        fs::remove_file(died.path()).expect("the database has nothing");
        let _ = fs::remove_file(died.0.path().join("runs.db-wal"));
        for _ in 0..2 {
            let later = died.open();
            let other = loop_of(&later, 2);
            assert_eq!(steps(&later, other).len(), 3);
            for error in [
                later.run(writer.id()).map(drop).expect_err("damaged"),
                later.history(writer.id()).map(drop).expect_err("damaged"),
                later.resume(writer.id()).map(drop).expect_err("damaged"),
            ] {
                assert!(matches!(error, RecordError::DamagedJournal { .. }), "{at}: {error:?}");
                let text = error.to_string();
                assert!(
                    text.contains(&died.journal(writer.id()).display().to_string()),
                    "{text}"
                );
            }
            let found = later.find(&writer.id().to_string());
            assert!(
                matches!(found, Ok(_) | Err(RecordError::DamagedJournal { .. })),
                "{at}: {found:?}"
            );
            assert_eq!(fs::read(died.journal(writer.id())).expect("kept"), damaged);
        }
    }
}

#[test]
fn what_stands_before_the_damage_is_there_once_the_journal_is_moved_away() {
    let place = Place::new();
    let writer = run_of(&place.open(), 5);
    let died = place.as_of_now();
    let journal = died.journal(writer.id());
    let mut bytes = fs::read(&journal).expect("a journal");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&journal, bytes).expect("damaged");
    drop(died.open());
    fs::rename(&journal, died.0.path().join("away")).expect("moved");
    let later = died.open();
    assert!(!steps(&later, writer.id()).is_empty());
    assert!(later.resume(writer.id()).is_ok());
}

#[test]
fn a_live_run_is_left_alone() {
    let place = Place::new();
    let writer = run_of(&place.open(), 2);
    let other = place.open();
    assert!(other.is_live(writer.id()).expect("told"));
    assert!(matches!(other.resume(writer.id()), Err(RecordError::Live(_))));
    assert_eq!(
        other.delete_runs(&[writer.id()]).expect("looked at").live,
        [writer.id()]
    );
    tell(&writer, 2, 2);
    writer.ended(&RunOutcome::Cancelled, &[]).expect("kept");
    assert!(!other.is_live(writer.id()).expect("told"));
    assert_eq!(steps(&other, writer.id()), written(4));
    assert_eq!(fs::read_dir(place.live()).expect("a folder").count(), 0);
}

#[test]
fn looking_at_a_run_leaves_nothing_behind() {
    let place = Place::new();
    let database = place.open();
    let run = loop_of(&database, 1);
    assert!(!database.is_live(run).expect("told"));
    assert!(!database.is_live(RunId::draw()).is_ok_and(|live| live));
    assert_eq!(fs::read_dir(place.live()).expect("a folder").count(), 0);
}

#[test]
fn two_cannot_drive_one_run_though_the_folder_of_the_journals_is_deleted() {
    let place = Place::new();
    let database = place.open();
    let first = run_of(&database, 2);
    thread::sleep(std::time::Duration::from_millis(200));
    fs::remove_dir_all(place.live()).expect("deleted");
    let other = place.open();
    let second = other.resume(first.id()).expect("nobody seems to drive it");
    tell(&second, 2, 1);
    drop(second);
    let told = (0..100).find_map(|number| {
        thread::sleep(std::time::Duration::from_millis(10));
        first.stepped(&step(100 + number)).err()
    });
    let told = told.expect("the first one notices").to_string();
    assert!(told.contains("was taken away"), "{told}");
    drop(first);
    let run = other.runs(&RunFilter::default(), None, 1).expect("a page").runs[0].id;
    assert_eq!(steps(&other, run), written(3));
}

#[test]
fn many_take_one_run_in_turn_and_never_two_at_once() {
    let place = Place::new();
    let database = place.open();
    let run = run_of(&database, 1).id();
    let drive = || {
        let database = place.open();
        let mut driven = 0;
        while driven < 20 {
            match database.resume(run) {
                Ok(writer) => {
                    writer.stopped(&[EffectId(1)]).expect("nobody else drives it");
                    driven += 1;
                }
                Err(RecordError::Live(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(drive))));
    let mut history = database.history(run).expect("a history");
    assert_eq!(history.stopped().expect("stops").len(), 60);
    assert_eq!(database.summary(run).expect("a summary").resumed, 60);
}

#[test]
fn a_resume_that_does_nothing_is_not_counted() {
    let place = Place::new();
    let database = place.open();
    let run = run_of(&database, 1).id();
    drop(database.resume(run).expect("resumed"));
    assert_eq!(database.summary(run).expect("a summary").resumed, 0);
    let writer = database.resume(run).expect("resumed");
    tell(&writer, 1, 2);
    drop(writer);
    assert_eq!(database.summary(run).expect("a summary").resumed, 1);
    assert_eq!(fs::read_dir(place.live()).expect("a folder").count(), 0);
}

#[test]
fn a_run_goes_its_way_while_another_process_keeps_the_database() {
    let place = Place::new();
    let database = place.open();
    let other = rusqlite::Connection::open(place.path()).expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let writer = run_of(&database, 50);
    let run = writer.id();
    writer.ended(&RunOutcome::Cancelled, &[]).expect("kept");
    drop(writer);
    other.execute_batch("ROLLBACK").expect("unlocked");
    let later = place.open();
    assert_eq!(steps(&later, run), written(50));
    assert_eq!(later.run(run).expect("a run").outcome, Some(RunOutcome::Cancelled));
}

#[test]
fn a_durable_run_reads_back() {
    let place = Place::new();
    let database = place.open().with_durability(Durability::Power).expect("set");
    let writer = run_of(&database, 3);
    assert_eq!(steps(&place.as_of_now().open(), writer.id()), written(3));
    writer.ended(&RunOutcome::Cancelled, &[]).expect("kept");
    assert_eq!(steps(&database, writer.id()), written(3));
}

#[test]
fn a_journal_grows_by_what_is_new() {
    let place = Place::new();
    let database = place.open();
    let writer = begin(&database, "long");
    let mut messages = Vec::new();
    let mut grown = Vec::new();
    for number in 1..=200 {
        let before = fs::metadata(place.journal(writer.id())).map_or(0, |file| file.len());
        let text = format!("Question {number}: {}", "why? ".repeat(40));
        messages.push(runvil_engine::wire::Message::text(
            runvil_engine::wire::Role::User,
            text,
        ));
        let step = StepRecord {
            effects: vec![round(number, messages.clone())],
            ..StepRecord::default()
        };
        writer.stepped(&step).expect("kept");
        grown.push(
            fs::metadata(place.journal(writer.id()))
                .map_or(0, |file| file.len())
                .saturating_sub(before),
        );
    }
    assert!(grown[199] < grown[10] + 50, "{grown:?}");
}

#[cfg(unix)]
#[test]
fn a_journal_is_its_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    let writer = run_of(&place.open(), 1);
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&place.journal(writer.id())), mode(&place.live())), (0o600, 0o700));
}
