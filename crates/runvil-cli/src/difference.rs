//! The first thing in which two recorded runs differ.

use std::collections::BTreeMap;

use runvil_engine::{ChainId, Event, EventKind, RunOutcome};
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

/// An event's place. It does not hang on how tasks interleave.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Where a task comes forward among the events of the one that started it hangs on when it gets a slot.
    Start(ChainId),
    /// Any other event is the nth of its task.
    Nth(ChainId, u64),
}

/// Tells the places of a run's events, in order.
#[derive(Default)]
struct Places(BTreeMap<ChainId, u64>);

impl Places {
    fn next(&mut self, event: &Event) -> Place {
        if let EventKind::TaskStarted { task, .. } = &event.kind {
            return Place::Start(task.clone());
        }
        let task = &event.provenance.task;
        let count = self.0.entry(task.clone()).or_default();
        *count += 1;
        Place::Nth(task.clone(), *count)
    }
}

/// Compares two runs, event by event and then by their outcomes; `None` if nothing differs.
pub(crate) fn first(database: &Database, one: RunId, other: RunId) -> Result<Option<Difference>, RecordError> {
    let mut others = BTreeMap::new();
    let mut places = Places::default();
    for event in database.events(other)? {
        let event = event?;
        others.insert(places.next(&event.event), event);
    }
    let mut places = Places::default();
    for event in database.events(one)? {
        let event = event?;
        let counterpart = others.remove(&places.next(&event.event));
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

/// The event without what does not count.
pub(crate) fn comparable(recorded: &RecordedEvent) -> Value {
    let mut value = serde_json::to_value(&recorded.event).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        for field in PASSED_OVER {
            fields.remove(field);
        }
        if let Some(Value::Object(provenance)) = fields.get_mut("provenance") {
            provenance.remove("sequence");
        }
        // A server stamps each response with an id and a time of its own.
        if fields.get("kind").and_then(Value::as_str) == Some("response") {
            fields.remove("body");
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_that_starts_later_moves_no_event_of_its_owner() {
        let event = |task: &str, kind: Value| -> Event {
            let mut event = json!({
                "execution": "r", "section": "A", "provenance": { "task": task, "sequence": 0 },
            });
            let fields = event.as_object_mut().expect("an object");
            fields.extend(kind.as_object().expect("an object").clone());
            serde_json::from_value(event).expect("an event")
        };
        let started = event(
            "0",
            json!({ "kind": "task_started", "task": "0.0", "target": "B", "origin": "author", "var": {} }),
        );
        let other = event("0", json!({ "kind": "section_started" }));
        let own = event("0.0", json!({ "kind": "section_started" }));
        let places = |events: &[&Event]| {
            let mut places = Places::default();
            let mut told: Vec<Place> = events.iter().map(|event| places.next(event)).collect();
            told.sort();
            told
        };
        assert_eq!(
            places(&[&started, &own, &other, &other]),
            places(&[&other, &started, &other, &own])
        );
    }
}
