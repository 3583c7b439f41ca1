//! The tables, and how a database comes to have them.

use rusqlite::{Connection, TransactionBehavior};

use crate::older;

/// Tells a database of runs from any other: `RnVl`.
pub(crate) const APPLICATION_ID: i64 = 0x526e_566c;

/// The steps from an empty database to the present one. Step `n` leads from version `n` to version `n + 1`; a step that
/// was ever released is never changed.
const STEPS: [fn(&Connection) -> rusqlite::Result<()>; 3] = [
    |connection| connection.execute_batch(VERSION_1),
    |connection| connection.execute_batch(VERSION_2),
    |connection| {
        connection.execute_batch(VERSION_3)?;
        older::pack(connection)?;
        connection.execute_batch(UNPACKED)
    },
];

/// The version that this program makes.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

const VERSION_1: &str = "
-- One row for each run. `key` is what the other tables know it by.
CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    prompt_name TEXT,
    prompt_hash TEXT NOT NULL,
    prompt INTEGER NOT NULL,
    file TEXT,
    started_at INTEGER NOT NULL,
    format INTEGER NOT NULL,
    host TEXT NOT NULL,
    start TEXT NOT NULL,
    prepared TEXT,
    parent TEXT,
    parent_effect INTEGER,
    outcome TEXT,
    ending TEXT,
    ended_at INTEGER,
    resumed INTEGER NOT NULL DEFAULT 0,
    effects INTEGER,
    rounds INTEGER,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    unreported INTEGER
);
CREATE INDEX runs_by_name ON runs (name, id);
CREATE INDEX runs_by_outcome ON runs (outcome, id);

-- Each long text once, by its SHA-256, and which runs hold it.
CREATE TABLE texts (key INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, body BLOB NOT NULL);
CREATE TABLE text_uses (run INTEGER NOT NULL, text INTEGER NOT NULL, PRIMARY KEY (run, text)) WITHOUT ROWID;
CREATE INDEX text_uses_by_text ON text_uses (text);

-- Each list as its last item behind the list before it; 0 is the empty list. `item` is a text.
CREATE TABLE lists (
    run INTEGER NOT NULL, key INTEGER NOT NULL, before INTEGER NOT NULL, item INTEGER NOT NULL,
    PRIMARY KEY (run, key)
) WITHOUT ROWID;

-- What each step was handed and what came out of it.
CREATE TABLE steps (
    run INTEGER NOT NULL, step INTEGER NOT NULL, handed TEXT,
    first_event INTEGER NOT NULL, events INTEGER NOT NULL, first_effect INTEGER NOT NULL, effects INTEGER NOT NULL,
    drops TEXT, openings TEXT, cancelled TEXT, outcome TEXT, at INTEGER NOT NULL,
    PRIMARY KEY (run, step)
) WITHOUT ROWID;
CREATE TABLE effects (
    run INTEGER NOT NULL, effect INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (run, effect)
) WITHOUT ROWID;
CREATE TABLE events (
    run INTEGER NOT NULL, event INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (run, event)
) WITHOUT ROWID;

-- What performing each effect brought, and which step was handed it, maybe as dropped. `place` orders what was brought
-- among the tools' accesses that landed.
CREATE TABLE answers (
    run INTEGER NOT NULL, effect INTEGER NOT NULL, place INTEGER, body TEXT,
    prompt_tokens INTEGER, completion_tokens INTEGER, at INTEGER, step INTEGER, dropped INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, effect)
) WITHOUT ROWID;

-- The accesses to the store that tool calls made, with `nth` from 1, and with `nth` 0 the run's own changes of real files.
CREATE TABLE accesses (
    run INTEGER NOT NULL, effect INTEGER NOT NULL, nth INTEGER NOT NULL, op TEXT, change TEXT,
    reply TEXT, place INTEGER, at INTEGER NOT NULL,
    PRIMARY KEY (run, effect, nth)
) WITHOUT ROWID;

-- Where the Host's stops landed: after which step, and what they dropped.
CREATE TABLE stops (
    run INTEGER NOT NULL, stop INTEGER NOT NULL, step INTEGER NOT NULL, effects TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (run, stop)
) WITHOUT ROWID;
";

/// Texts get numbers of their run's own, so that a run is recorded without a look at the database. A text that was there
/// before has its key for a number.
const VERSION_2: &str = "
-- The last frame of the run's journal that the database has.
ALTER TABLE runs ADD COLUMN applied INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_by_prompt ON runs (prompt_name, id);
CREATE INDEX runs_by_file ON runs (file, id);

-- Which texts a run holds, under its own numbers, and so which runs hold a text.
CREATE TABLE numbered (
    run INTEGER NOT NULL, number INTEGER NOT NULL, text INTEGER NOT NULL, PRIMARY KEY (run, number)
) WITHOUT ROWID;
INSERT INTO numbered (run, number, text) SELECT run, text, text FROM text_uses;
DROP TABLE text_uses;
ALTER TABLE numbered RENAME TO text_uses;
CREATE INDEX text_uses_by_text ON text_uses (text);

-- Its body tells what an event is.
ALTER TABLE events DROP COLUMN kind;
";

/// What happened in a run stands in chunks.
const VERSION_3: &str = "
-- What happened in a run: as many frames of its journal as landed together, packed. `first` is the number of the first one;
-- what was moved here from tables stands under 0 and below.
CREATE TABLE chunks (
    run INTEGER NOT NULL, first INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run, first)
) WITHOUT ROWID;
";

/// The tables that chunks take the place of.
const UNPACKED: &str = "
DROP TABLE lists;
DROP TABLE steps;
DROP TABLE effects;
DROP TABLE events;
DROP TABLE answers;
DROP TABLE accesses;
DROP TABLE stops;
";

/// What has an older database that cannot be written read like one of the present version. It stands in no file.
const READ_OLDER: &str = "
PRAGMA temp_store = memory;
CREATE TEMP TABLE chunks (run INTEGER NOT NULL, first INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run, first));
";

/// The same for what only version 1 has.
const READ_VERSION_1: &str = "CREATE TEMP VIEW text_uses AS SELECT run, text AS number, text FROM main.text_uses";

/// The tables that hold a run's rows, by its key.
pub(crate) const RUN_TABLES: [&str; 2] = ["chunks", "text_uses"];

/// What a database turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// One of runs, of this version.
    Ready,
    /// Something else.
    Foreign,
    /// One of runs, of a version that this program does not know.
    Newer(i64),
}

/// Makes the tables where there are none, and brings older ones up to date.
pub(crate) fn prepare(connection: &mut Connection) -> rusqlite::Result<Found> {
    if let Some(found) = look_at_once(connection)? {
        return Ok(found);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been here in between.
    if let Some(found) = look(&transaction)? {
        return Ok(found);
    }
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    advance(&transaction, version, VERSION)?;
    transaction.commit()?;
    Ok(Found::Ready)
}

/// Takes the steps from one version to another.
pub(crate) fn advance(connection: &Connection, from: i64, to: i64) -> rusqlite::Result<()> {
    for (version, step) in (0..).zip(STEPS) {
        if (from..to).contains(&version) {
            step(connection)?;
        }
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", to)
}

/// Has the database read like one of the present version, without a change.
pub(crate) fn prepare_reading(connection: &Connection) -> rusqlite::Result<Found> {
    if let Some(found) = look_at_once(connection)? {
        return Ok(found);
    }
    let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?;
    if version == 0 {
        return Ok(Found::Foreign);
    }
    connection.execute_batch(READ_OLDER)?;
    if version == 1 {
        connection.execute_batch(READ_VERSION_1)?;
    }
    older::pack(connection)?;
    Ok(Found::Ready)
}

/// As [`look`], all at one moment: another process may be making the tables.
fn look_at_once(connection: &Connection) -> rusqlite::Result<Option<Found>> {
    let moment = connection.unchecked_transaction()?;
    look(&moment)
}

/// What the database is, or `None` if its tables have to be made or brought up to date.
fn look(connection: &Connection) -> rusqlite::Result<Option<Found>> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version) {
        (0, 0) if tables == 0 => None,
        (APPLICATION_ID, VERSION) => Some(Found::Ready),
        (APPLICATION_ID, version) if version > VERSION => Some(Found::Newer(version)),
        (APPLICATION_ID, _) => None,
        _ => Some(Found::Foreign),
    })
}
