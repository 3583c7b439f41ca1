//! What the run must have reported.

use serde_json::{Value, json};

use super::equal;
use crate::{
    case::{EventWant, Expect},
    mismatch::{Mismatch, Want},
    observed::Observed,
};

pub(super) fn check(expect: &Expect, seen: &Observed, found: &mut Vec<Mismatch>) {
    if let Some(want) = &expect.logs
        && !want
            .iter()
            .map(|(section, message)| (section.as_str(), message.as_str()))
            .eq(seen.logs())
    {
        found.push(Mismatch::differs(
            "logs",
            json!(want),
            json!(seen.logs().collect::<Vec<_>>()),
        ));
    }
    if expect.events.is_none()
        && expect.events_include.is_empty()
        && expect.events_exclude.is_empty()
        && expect.event_counts.is_empty()
    {
        return;
    }
    let events: Vec<Value> = seen.events.iter().map(|event| json!(event)).collect();
    if let Some(want) = &expect.events {
        whole(want, &events, found);
    }
    included(&expect.events_include, &events, found);
    for kind in &expect.events_exclude {
        if events.iter().any(|event| is_kind(event, kind)) {
            found.push(Mismatch::falls_short(
                "events",
                Want::Lack(kind.clone()),
                brief(&events),
            ));
        }
    }
    for (kind, want) in &expect.event_counts {
        let actual = events.iter().filter(|event| is_kind(event, kind)).count();
        if actual != *want {
            found.push(Mismatch::differs(format!("event_counts.{kind}"), *want, actual));
        }
    }
}

/// The record of what a model round sent, which a whole sequence leaves out unless it names one.
const CHAT: &str = "chat";

fn whole(want: &[EventWant], events: &[Value], found: &mut Vec<Mismatch>) {
    let names_chat = want.iter().any(|want| want.kind() == Some(CHAT));
    let counts = |event: &&Value| names_chat || !is_kind(event, CHAT);
    let events: Vec<_> = events.iter().filter(counts).cloned().collect();
    let fits = want.len() == events.len() && want.iter().zip(&events).all(|(want, event)| is(want, event));
    if !fits {
        let want: Vec<_> = want.iter().map(shown).collect();
        found.push(Mismatch::differs("events", want, brief(&events)));
    }
}

/// Looks for the wanted events in order, others in between allowed.
fn included(want: &[EventWant], events: &[Value], found: &mut Vec<Mismatch>) {
    let mut rest = events.iter();
    for (index, want) in want.iter().enumerate() {
        if rest.any(|event| is(want, event)) {
            continue;
        }
        // The fields of every event of the kind tell what was wrong; without one, the kinds that came do.
        let same: Vec<_> = want
            .kind()
            .map(|kind| events.iter().filter(|event| is_kind(event, kind)).cloned().collect())
            .unwrap_or_default();
        let actual = if same.is_empty() {
            brief(events)
        } else {
            Value::Array(same)
        };
        let what = format!("events_include[{index}]");
        return found.push(Mismatch::falls_short(what, Want::Include(shown(want)), actual));
    }
}

fn is_kind(event: &Value, kind: &str) -> bool {
    event.get("kind").is_some_and(|actual| actual == kind)
}

fn is(want: &EventWant, event: &Value) -> bool {
    match want {
        EventWant::Named(kind, section) => {
            is_kind(event, kind) && event.get("section").is_some_and(|actual| actual == section)
        }
        EventWant::Fields(fields) => fields
            .iter()
            .all(|(key, want)| equal(want, event.get(key).unwrap_or(&Value::Null))),
    }
}

fn shown(want: &EventWant) -> Value {
    match want {
        EventWant::Named(kind, section) => json!([kind, section]),
        EventWant::Fields(fields) => Value::Object(fields.clone()),
    }
}

/// The events as kind and section.
fn brief(events: &[Value]) -> Value {
    events
        .iter()
        .map(|event| json!([event.get("kind"), event.get("section")]))
        .collect()
}
