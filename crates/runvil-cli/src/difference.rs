//! The first thing in which two recorded runs differ.

use std::collections::BTreeMap;

use runvil_engine::{ChainId, Event, RunOutcome};
use runvil_record::{Database, RecordError, RecordedEvent, RunId};
use serde_json::Value;

/// Fields of events in which two runs of the same course differ all the same: what the run is called, and what servers
/// measure.
const PASSED_OVER: [&str; 2] = ["execution", "metrics"];

/// Where two runs part. `None` stands for a run that has nothing there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Difference {
    /// At an event of a task.
    Event {
        one: Option<Box<RecordedEvent>>,
        other: Option<Box<RecordedEvent>>,
    },
    /// Only in how they ended.
    Ending {
        one: Option<RunOutcome>,
        other: Option<RunOutcome>,
    },
}

/// An event's place: its task, and its number within the task. It does not hang on how tasks interleave.
type Place = (ChainId, u64);

/// Compares two runs, event by event and then by their outcomes; `None` if nothing differs.
pub(crate) fn first(database: &Database, one: RunId, other: RunId) -> Result<Option<Difference>, RecordError> {
    let mut others = BTreeMap::new();
    for event in database.events(other)? {
        let event = event?;
        others.insert(place(&event.event), event);
    }
    for event in database.events(one)? {
        let event = event?;
        let counterpart = others.remove(&place(&event.event));
        if counterpart.as_ref().map(comparable) != Some(comparable(&event)) {
            return Ok(Some(Difference::Event {
                one: Some(Box::new(event)),
                other: counterpart.map(Box::new),
            }));
        }
    }
    // What the other run alone has.
    if let Some(event) = others.into_values().min_by_key(|event| event.number) {
        return Ok(Some(Difference::Event {
            one: None,
            other: Some(Box::new(event)),
        }));
    }
    let (one, other) = (database.run(one)?.outcome, database.run(other)?.outcome);
    Ok((one != other).then_some(Difference::Ending { one, other }))
}

fn place(event: &Event) -> Place {
    (event.provenance.task.clone(), event.provenance.sequence)
}

/// The event without what does not count.
pub(crate) fn comparable(recorded: &RecordedEvent) -> Value {
    let mut value = serde_json::to_value(&recorded.event).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        for field in PASSED_OVER {
            fields.remove(field);
        }
        // A server stamps each response with an id and a time of its own.
        if fields.get("kind").and_then(Value::as_str) == Some("response") {
            fields.remove("body");
        }
    }
    value
}
