//! The events that a step hands out.

use std::collections::BTreeMap;

use crate::{ChainId, Event, EventKind, Provenance};

/// Hears each event at the moment it is reported.
pub(super) type Watcher = Box<dyn FnMut(&Event) + Send>;

/// Collects events in order and numbers them within each task.
pub(crate) struct EventLog {
    execution: String,
    next: BTreeMap<ChainId, u64>,
    pending: Vec<Event>,
    watcher: Option<Watcher>,
}

impl EventLog {
    /// A log whose main-walk sequence goes on after the events of the parse.
    pub(super) fn new(execution: String, parse_events: u64) -> Self {
        Self {
            execution,
            next: BTreeMap::from([(ChainId::root(), parse_events)]),
            pending: Vec::new(),
            watcher: None,
        }
    }

    pub(super) fn watch(&mut self, watcher: Watcher) {
        self.watcher = Some(watcher);
    }

    pub(super) fn push(&mut self, task: &ChainId, section: &str, kind: EventKind) {
        let next = self.next.entry(task.clone()).or_default();
        let provenance = Provenance {
            task: task.clone(),
            sequence: *next,
        };
        *next += 1;
        let event = Event {
            execution: self.execution.clone(),
            section: section.to_owned(),
            provenance,
            kind,
        };
        if let Some(watcher) = &mut self.watcher {
            watcher(&event);
        }
        self.pending.push(event);
    }

    pub(super) fn drain(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.pending)
    }
}
