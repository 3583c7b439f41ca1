//! The record of a case's run, kept in memory as data, and the replay of it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use runvil_engine::{
    AccessId, Answer, EffectId, Event, FileChange, History, Landed, Outcome, RecordFault, Recorder, RunOutcome,
    RunPrepared, RunStart, StepRecord,
};
use runvil_harness::{Recorded, replay};
use runvil_vfs::{StoreFailure, StoreOp, StoreReply};
use serde::{Serialize, de::DeserializeOwned};

/// Keeps what a replay needs, each piece as JSON text, as a database would.
#[derive(Debug, Default)]
pub(crate) struct Tape(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    source: Vec<u8>,
    start: Option<String>,
    parse_events: Option<String>,
    prepared: Option<String>,
    steps: VecDeque<String>,
    answers: BTreeMap<EffectId, String>,
    outcome: Option<String>,
}

impl Tape {
    /// Replays the run and tells where it differs from the record, if it does.
    ///
    /// # Errors
    /// The record has gaps.
    pub(crate) fn replay(&self) -> Result<Option<String>, String> {
        let mut kept = std::mem::take(&mut *self.kept());
        let Some(start) = &kept.start else { return Ok(None) };
        let recorded = Recorded {
            start: read(start)?,
            source: kept.source.clone(),
            parse_events: kept.parse_events.as_deref().map(read).transpose()?.unwrap_or_default(),
            prepared: kept.prepared.as_deref().map(read).transpose()?,
            outcome: kept.outcome.as_deref().map(read).transpose()?,
        };
        let replayed = replay(&recorded, &recorded.source, &mut kept).map_err(|error| error.to_string())?;
        Ok(replayed.divergence.map(|divergence| divergence.to_string()))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the data of a run is JSON")
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    // Values nest as deep as Lua may make them.
    reader.disable_recursion_limit();
    T::deserialize(&mut reader).map_err(|error| format!("what was recorded cannot be read back: {error}: {text}"))
}

impl Recorder for Tape {
    fn started(&self, start: &RunStart, source: &[u8]) -> Result<(), RecordFault> {
        let mut kept = self.kept();
        kept.start = Some(write(start));
        kept.source = source.to_owned();
        Ok(())
    }

    fn parsed(&self, _: Option<&str>, events: &[Event]) -> Result<(), RecordFault> {
        self.kept().parse_events = Some(write(&events));
        Ok(())
    }

    fn prepared(&self, prepared: &RunPrepared) -> Result<(), RecordFault> {
        self.kept().prepared = Some(write(prepared));
        Ok(())
    }

    fn stepped(&self, step: &StepRecord) -> Result<(), RecordFault> {
        self.kept().steps.push_back(write(step));
        Ok(())
    }

    fn answered(&self, effect: EffectId, answer: &Answer) -> Result<(), RecordFault> {
        self.kept().answers.insert(effect, write(answer));
        Ok(())
    }

    fn accessing(&self, _: AccessId, _: &StoreOp) -> Result<(), RecordFault> {
        Ok(())
    }

    fn changing(&self, _: AccessId, _: &FileChange) -> Result<(), RecordFault> {
        Ok(())
    }

    fn accessed(&self, _: AccessId, _: &Outcome<StoreReply, StoreFailure>) -> Result<(), RecordFault> {
        Ok(())
    }

    fn stopped(&self, _: &[EffectId]) -> Result<(), RecordFault> {
        Ok(())
    }

    fn ended(&self, outcome: &RunOutcome, _: &[Event]) -> Result<(), RecordFault> {
        self.kept().outcome = Some(write(outcome));
        Ok(())
    }
}

impl History for Kept {
    fn next_step(&mut self) -> Result<Option<StepRecord>, RecordFault> {
        Ok(self.steps.pop_front().as_deref().map(read).transpose()?)
    }

    fn answer(&mut self, effect: EffectId) -> Result<Option<Answer>, RecordFault> {
        Ok(self.answers.get(&effect).map(String::as_str).map(read).transpose()?)
    }

    fn stopped(&mut self) -> Result<Vec<EffectId>, RecordFault> {
        Ok(Vec::new())
    }

    fn landed(&mut self) -> Result<Vec<Landed>, RecordFault> {
        Ok(Vec::new())
    }

    fn change(&mut self, _: AccessId) -> Result<Option<FileChange>, RecordFault> {
        Ok(None)
    }
}
