//! What a run leaves behind: its report (book: What a run's record holds, The output file).

use runvil_engine::{ChainId, Event, EventKind, Provenance, RecordFault, Recorder, RunFacts, RunOutcome};
use runvil_vfs::{Session, Store, StoreFailure};

use crate::{
    RequirementsReport, RosterEntry,
    blocking::blocking,
    drive::Staged,
    recording::{Recording, Unrecordable},
};

/// A run, from its preparation to its end.
pub struct RunReport {
    /// How the run ended.
    pub outcome: RunOutcome,
    /// The run's name, seed, start instant and the other facts that it started from.
    pub facts: RunFacts,
    /// The hash of the prompt file, with the prefix that names its algorithm.
    pub prompt_hash: String,
    /// Every event, the parse events first.
    pub events: Vec<Event>,
    /// What the environment lacked. Empty for a run that ended before its requirements were checked.
    pub requirements: RequirementsReport,
    /// The run's Packs. Empty for a run that ended before they were picked.
    pub roster: Vec<RosterEntry>,
    /// The text of the declared output file. `None` unless the run completed and its prompt declares one.
    pub output: Option<Result<String, OutputError>>,
    /// The run's store, which the Host may read; `None` where it declared none.
    pub store: Option<Store>,
}

/// Why a completed run's declared output file has no text to report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// The run did not write the file.
    #[error("the run completed without writing its declared output file `{path}`")]
    NotWritten {
        /// The declared path.
        path: String,
    },
    /// The store refuses to read the file.
    #[error("the declared output file `{path}` cannot be read")]
    Unreadable {
        /// The declared path.
        path: String,
        /// The store's own error.
        source: StoreFailure,
    },
}

/// A report in the making: what is known of a run before it ended.
pub struct RunRecord {
    pub(crate) facts: RunFacts,
    pub(crate) prompt_hash: String,
    pub(crate) events: Vec<Event>,
    pub(crate) requirements: RequirementsReport,
    pub(crate) roster: Vec<RosterEntry>,
    pub(crate) store: Option<Store>,
    /// The run's access to it, which ends with the run.
    pub(crate) session: Option<Session>,
    /// The H1 title, under which the run reports; the parse's own name before it is known.
    pub(crate) title: String,
    /// The path of the declared output file.
    pub(crate) output: Option<String>,
    /// The declared input file, where it was put into a real directory before the run's process died.
    pub(crate) staged: Option<Staged>,
    /// What of the Packs is not as the run was recorded to have it.
    pub(crate) pack_changes: Vec<String>,
    pub(crate) recording: Recording,
    /// Events that the Engine could not report, and no step holds.
    pub(crate) lost: Vec<Event>,
    /// The record could not be kept at some point, and ends there.
    pub(crate) broken: bool,
}

impl RunRecord {
    /// The facts that the run starts from.
    #[must_use]
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// The hash of the prompt file.
    #[must_use]
    pub fn prompt_hash(&self) -> &str {
        &self.prompt_hash
    }

    /// The events so far, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Adds the run's next event.
    pub fn add(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Tells the recorder something. A failure is the last thing that it is told.
    pub(crate) fn keep(
        &mut self,
        tell: impl FnOnce(&dyn Recorder) -> Result<(), RecordFault>,
    ) -> Result<(), Unrecordable> {
        let kept = self.recording.keep(tell);
        self.broken |= kept.is_err();
        kept
    }

    /// Tells the recorder of the parse.
    pub(crate) fn keep_parse(&mut self, name: Option<&str>) -> Result<(), Unrecordable> {
        let kept = self.recording.keep(|recorder| recorder.parsed(name, &self.events));
        self.broken |= kept.is_err();
        kept
    }

    /// Adds an event in the Engine's place.
    pub(crate) fn add_lost(&mut self, event: Event) {
        self.lost.push(event.clone());
        self.add(event);
    }

    /// Ends the run: its store access first, then its record, then, if it completed, its declared output file is read.
    pub async fn finish(mut self, mut outcome: RunOutcome) -> RunReport {
        if let Some(session) = &self.session {
            session.end();
        }
        if !self.broken {
            let lost = std::mem::take(&mut self.lost);
            if let Err(unrecordable) = self.keep(|recorder| recorder.ended(&outcome, &lost)) {
                outcome = RunOutcome::Failed(unrecordable.into());
            }
        }
        let output = match (&outcome, self.output, self.store.clone()) {
            (RunOutcome::Completed { .. }, Some(path), Some(store)) => {
                Some(blocking(move || read_output(&store, path)).await)
            }
            _ => None,
        };
        RunReport {
            outcome,
            facts: self.facts,
            prompt_hash: self.prompt_hash,
            events: self.events,
            requirements: self.requirements,
            roster: self.roster,
            output,
            store: self.store,
        }
    }

    /// The event that ends a run which does not succeed, for a run whose Engine cannot report it.
    pub(crate) fn run_failed(&self) -> Event {
        let task = ChainId::root();
        let last = self.events.iter().rev().find(|event| event.provenance.task == task);
        let sequence = last.map_or(0, |event| event.provenance.sequence + 1);
        Event {
            execution: self.facts.name.clone(),
            section: self.title.clone(),
            provenance: Provenance { task, sequence },
            kind: EventKind::RunFailed,
        }
    }
}

fn read_output(store: &Store, path: String) -> Result<String, OutputError> {
    match store.text(path.clone()) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(OutputError::NotWritten { path }),
        Err(source) => Err(OutputError::Unreadable { path, source }),
    }
}
