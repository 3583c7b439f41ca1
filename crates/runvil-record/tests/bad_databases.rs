//! A database that cannot be used: a clear answer that names the place, and no record lost.

mod common;

use std::{fs, path::PathBuf};

use common::{begin, loop_of};
use runvil_engine::{Recorder, RunOutcome};
use runvil_record::{Database, RecordError, RunFilter, RunId};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("runs.db")
    }
}

/// The error names the file and says what to do.
fn assert_told(error: &RecordError, path: &std::path::Path) {
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert!(!error.help().is_empty());
}

#[test]
fn there_is_none() {
    let place = Place::new();
    let error = Database::open_existing(place.path()).expect_err("refused");
    assert!(matches!(error, RecordError::Missing(_)));
    assert_told(&error, &place.path());
    assert!(!place.path().exists());
}

#[test]
fn the_file_is_something_else() {
    let place = Place::new();
    let text = "this is a text and no database at all, whatever its name may say\n".repeat(50);
    fs::write(place.path(), &text).expect("a file");
    let error = Database::open(place.path()).expect_err("refused");
    assert!(matches!(error, RecordError::Foreign(_)), "{error:?}");
    assert_told(&error, &place.path());
    assert_eq!(fs::read_to_string(place.path()).expect("the file"), text);

    let folder = place.0.path().join("folder.db");
    fs::create_dir(&folder).expect("a folder");
    assert!(matches!(Database::open(folder), Err(RecordError::Foreign(_))));
}

#[test]
fn it_is_another_programs_database() {
    let place = Place::new();
    let other = rusqlite::Connection::open(place.path()).expect("a database");
    other
        .execute_batch("CREATE TABLE cats (name TEXT); INSERT INTO cats VALUES ('Tom')")
        .expect("a table");
    let error = Database::open(place.path()).expect_err("refused");
    assert!(matches!(error, RecordError::Foreign(_)), "{error:?}");
    let tom: String = other
        .query_row("SELECT name FROM cats", [], |row| row.get(0))
        .expect("untouched");
    assert_eq!(tom, "Tom");
}

#[test]
fn it_is_newer() {
    let place = Place::new();
    drop(Database::open(place.path()).expect("a database"));
    let other = rusqlite::Connection::open(place.path()).expect("a database");
    other.pragma_update(None, "user_version", 99).expect("set");
    let error = Database::open(place.path()).expect_err("refused");
    assert!(matches!(error, RecordError::Newer { found: 99, .. }), "{error:?}");
    assert_told(&error, &place.path());
}

#[test]
fn it_is_damaged() {
    let place = Place::new();
    let database = Database::open(place.path()).expect("a database");
    let run = loop_of(&database, 50);
    database.shrink().expect("written out");
    drop(database);
    let mut bytes = fs::read(place.path()).expect("the file");
    let (start, end) = (4096, bytes.len() - 4096);
    for byte in &mut bytes[start..end] {
        *byte = 0x5a;
    }
    fs::write(place.path(), bytes).expect("a file");
    let read = || -> Result<(), RecordError> {
        let database = Database::open(place.path())?;
        database.run(run)?;
        database.effects(run)?.try_for_each(|effect| effect.map(drop))
    };
    let error = read().expect_err("damaged");
    assert!(
        matches!(error, RecordError::Damaged { .. } | RecordError::NoSuchRun { .. }),
        "{error:?}"
    );
    assert_told(&error, &place.path());
}

#[test]
fn a_text_is_not_what_was_written() {
    let place = Place::new();
    let database = Database::open(place.path()).expect("a database");
    let run = loop_of(&database, 5);
    let other = rusqlite::Connection::open(place.path()).expect("a database");
    other
        .execute(
            "UPDATE texts SET body = CAST('\"Answer 3: because not\"' AS BLOB) WHERE body LIKE '%Answer 3%'",
            [],
        )
        .expect("changed");
    let read: Result<Vec<_>, _> = database.effects(run).expect("a run").collect();
    let error = read.expect_err("damaged");
    assert!(error.to_string().contains("is not what was written"), "{error}");
}

#[test]
fn a_chunk_is_not_what_was_written() {
    let place = Place::new();
    let database = Database::open(place.path()).expect("a database");
    let (run, other) = (loop_of(&database, 5), loop_of(&database, 5));
    let changed = rusqlite::Connection::open(place.path())
        .expect("a database")
        .execute("UPDATE chunks SET body = zeroblob(length(body)) WHERE run = 1", [])
        .expect("changed");
    assert!(changed > 0);
    for error in [
        database.events(run).map(drop).expect_err("damaged"),
        database.history(run).map(drop).expect_err("damaged"),
    ] {
        assert!(matches!(error, RecordError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains(&run.to_string()), "{error}");
        assert_told(&error, &place.path());
    }
    // What the list shows is there, and so are the other runs.
    assert!(database.summary(run).is_ok());
    assert_eq!(database.effects(other).expect("a run").count(), 5);
}

#[test]
fn a_chunk_is_gone() {
    let place = Place::new();
    let database = Database::open(place.path()).expect("a database");
    let run = begin(&database, "cut").id();
    // What waits lands once the writer is dropped, as a chunk of its own.
    for number in 0..3 {
        let step = runvil_engine::StepRecord {
            events: vec![common::log(number, format!("{number}"))],
            ..runvil_engine::StepRecord::default()
        };
        let writer = database.resume(run).expect("resumed");
        writer.stepped(&step).expect("kept");
    }
    let other = rusqlite::Connection::open(place.path()).expect("a database");
    let second = "DELETE FROM chunks WHERE first = (SELECT first FROM chunks ORDER BY first LIMIT 1 OFFSET 1)";
    assert_eq!(other.execute(second, []).expect("deleted"), 1);
    for error in [
        database.history(run).map(drop).expect_err("damaged"),
        database.events(run).map(drop).expect_err("damaged"),
    ] {
        assert!(error.to_string().contains("it has gaps"), "{error}");
        assert_told(&error, &place.path());
    }
}

#[test]
fn an_unknown_run() {
    let place = Place::new();
    let database = Database::open(place.path()).expect("a database");
    for error in [
        database.run(RunId::draw()).expect_err("unknown"),
        database.resume(RunId::draw()).map(drop).expect_err("unknown"),
        database.events(RunId::draw()).map(drop).expect_err("unknown"),
        database.find("0123").expect_err("unknown"),
    ] {
        assert!(matches!(error, RecordError::NoSuchRun { .. }), "{error:?}");
        assert_told(&error, &place.path());
    }
}

#[test]
fn the_disk_is_full() {
    let place = Place::new();
    let database = Database::open(place.path()).expect("a database");
    let whole = loop_of(&database, 20);
    let writer = begin(&database, "cut");
    database.limit_pages(1).expect("limited");
    let step = |number: u64| runvil_engine::StepRecord {
        events: vec![common::log(number, format!("{number}: {}", "x".repeat(100_000)))],
        ..runvil_engine::StepRecord::default()
    };
    let failed = (0..100)
        .find_map(|number| writer.stepped(&step(number)).err())
        .expect("full");
    let text = failed.to_string();
    assert!(
        text.contains("runs.db: the disk is full") && text.contains("free space"),
        "{text}"
    );
    // Nothing more is written, and what was written is whole.
    let again = writer.ended(&RunOutcome::Cancelled, &[]).expect_err("ended");
    assert!(again.to_string().contains("earlier failure"), "{again}");
    let cut = writer.id();
    drop(writer);
    assert_eq!(database.effects(whole).expect("a run").count(), 20);
    drop(database);
    // Whoever comes when there is room finds all that was kept.
    let other = Database::open_existing(place.path()).expect("a database");
    assert_eq!(
        other.runs(&RunFilter::default(), None, 10).expect("a page").runs.len(),
        2
    );
    let events: Vec<_> = other.events(cut).expect("events").collect();
    assert!(
        events.len() > 10 && events.iter().all(Result::is_ok),
        "{}",
        events.len()
    );
    assert_eq!(other.events(cut).expect("events").count(), events.len());
    assert!(other.resume(cut).is_ok());
}

#[test]
fn many_open_one_that_is_not_there_yet_at_once() {
    for _ in 0..20 {
        let place = Place::new();
        let opens = || drop(Database::open(place.path()).expect("a database"));
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(opens))));
    }
}

#[test]
fn another_process_keeps_it_from_being_read() {
    let place = Place::new();
    drop(Database::open(place.path()).expect("a database"));
    let other = rusqlite::Connection::open(place.path()).expect("a connection");
    other
        .execute_batch("PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE; CREATE TABLE x (y); COMMIT")
        .expect("locked");
    let begun = std::time::Instant::now();
    let error = Database::open(place.path()).expect_err("busy");
    assert!(matches!(error, RecordError::Busy(_)), "{error:?}");
    assert_told(&error, &place.path());
    println!("told after {:?}", begun.elapsed());
}
