//! Older databases keep what happened in tables, a row for each thing. It is moved into chunks as it stands.

use std::borrow::Cow;

use rusqlite::{Connection, Row, params};

use crate::{
    change::{Change, Frame, Step},
    chunk,
};

/// How many rows come into one chunk.
const ROWS: usize = 16 * 1024;

/// Packs what the tables of an older version hold of each run.
///
/// # Errors
/// SQLite fails.
pub(crate) fn pack(connection: &Connection) -> rusqlite::Result<()> {
    let runs: Vec<i64> = connection
        .prepare("SELECT key FROM runs ORDER BY key")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut insert = connection.prepare("INSERT INTO chunks (run, first, body) VALUES (?1, ?2, ?3)")?;
    for run in runs {
        let frames = frames(connection, run)?;
        let chunks = frames.chunks(ROWS).rev();
        // The last one stands under 0, before the frames to come.
        for (first, body) in chunks.map(chunk::pack).enumerate() {
            let first = i64::try_from(first).expect("fewer chunks than an i64 counts");
            insert.execute(params![run, -first, body])?;
        }
    }
    Ok(())
}

/// The rows of a run, each as if it had been told on its own.
fn frames(connection: &Connection, run: i64) -> rusqlite::Result<Vec<Frame>> {
    let mut frames = Vec::new();
    for (sql, change) in TABLES {
        let mut rows = connection.prepare(sql)?;
        let rows = rows.query_map([run], |row| {
            Ok(Frame {
                sequence: 0,
                at: row.get::<_, Option<i64>>("at")?.unwrap_or_default(),
                changes: vec![change(row)?],
            })
        })?;
        for frame in rows {
            frames.push(frame?);
        }
    }
    Ok(frames)
}

/// What a row of a table tells.
type Told = fn(&Row<'_>) -> rusqlite::Result<Change>;

/// A question for each kind of change, and how a row of its answer is read.
const TABLES: [(&str, Told); 9] = [
    (
        "SELECT key, before, item, NULL AS at FROM lists WHERE run = ?1 ORDER BY key",
        |row| {
            Ok(Change::Node {
                key: row.get("key")?,
                before: row.get("before")?,
                item: row.get("item")?,
            })
        },
    ),
    ("SELECT * FROM steps WHERE run = ?1 ORDER BY step", |row| {
        Ok(Change::Step(Box::new(step(row)?)))
    }),
    ("SELECT * FROM events WHERE run = ?1 ORDER BY event", |row| {
        Ok(Change::Event {
            event: row.get("event")?,
            step: row.get("step")?,
            body: row.get("body")?,
        })
    }),
    ("SELECT * FROM effects WHERE run = ?1 ORDER BY effect", |row| {
        Ok(Change::Effect {
            effect: row.get("effect")?,
            step: row.get("step")?,
            kind: Cow::Owned(row.get("kind")?),
            body: row.get("body")?,
        })
    }),
    (
        "SELECT * FROM answers WHERE run = ?1 AND body IS NOT NULL ORDER BY effect",
        |row| {
            Ok(Change::Answer {
                effect: row.get("effect")?,
                place: row.get("place")?,
                body: row.get("body")?,
                prompt_tokens: row.get("prompt_tokens")?,
                completion_tokens: row.get("completion_tokens")?,
            })
        },
    ),
    (
        "SELECT * FROM answers WHERE run = ?1 AND step IS NOT NULL ORDER BY effect",
        |row| {
            Ok(Change::Hand {
                effect: row.get("effect")?,
                step: row.get("step")?,
                dropped: row.get("dropped")?,
            })
        },
    ),
    ("SELECT * FROM accesses WHERE run = ?1 ORDER BY effect, nth", |row| {
        Ok(Change::Access {
            effect: row.get("effect")?,
            nth: row.get("nth")?,
            op: row.get("op")?,
            change: row.get("change")?,
        })
    }),
    (
        "SELECT * FROM accesses WHERE run = ?1 AND place IS NOT NULL AND reply IS NOT NULL ORDER BY effect, nth",
        |row| {
            Ok(Change::Reply {
                effect: row.get("effect")?,
                nth: row.get("nth")?,
                place: row.get("place")?,
                body: row.get("reply")?,
            })
        },
    ),
    ("SELECT * FROM stops WHERE run = ?1 ORDER BY stop", |row| {
        Ok(Change::Stop {
            stop: row.get("stop")?,
            step: row.get("step")?,
            effects: row.get("effects")?,
        })
    }),
];

fn step(row: &Row<'_>) -> rusqlite::Result<Step> {
    Ok(Step {
        step: row.get("step")?,
        handed: row.get("handed")?,
        first_event: row.get("first_event")?,
        events: row.get("events")?,
        first_effect: row.get("first_effect")?,
        effects: row.get("effects")?,
        drops: row.get("drops")?,
        openings: row.get("openings")?,
        cancelled: row.get("cancelled")?,
        outcome: row.get("outcome")?,
    })
}
