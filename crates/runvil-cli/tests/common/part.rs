//! Records that lack something, as those of processes that died do.

use runvil_engine::{EffectId, History as _, Recorder as _};
use runvil_record::{HostFacts, RunHistory, RunId, RunWriter};

use super::Place;

/// A part of a record.
#[derive(Default)]
pub(crate) struct Part {
    /// How many steps it has.
    pub(crate) steps: usize,
    /// The effects whose answers it lacks.
    pub(crate) lacks: Vec<u64>,
    /// The effects whose answers it has, though no step was handed them.
    pub(crate) open: Vec<u64>,
    /// Whether it has the outcome.
    pub(crate) ended: bool,
}

fn keep_answer(writer: &RunWriter, history: &mut RunHistory, effect: EffectId, part: &Part) {
    let answer = history.answer(effect).expect("readable");
    if let Some(answer) = answer.filter(|_| !part.lacks.contains(&effect.0)) {
        writer.answered(effect, &answer).expect("kept");
    }
}

impl Place {
    /// Puts a record with a part of what happened in a run into the place of that run's.
    pub(crate) fn shorten(&self, run: RunId, part: &Part) -> RunId {
        let database = self.database();
        let (recorded, summary) = (
            database.run(run).expect("a run"),
            database.summary(run).expect("a summary"),
        );
        let facts = HostFacts {
            file: recorded.file,
            host: recorded.host,
            parent: summary.parent,
        };
        let writer = database.record(facts).expect("a record");
        writer.started(&recorded.start, &recorded.source).expect("kept");
        let parsed = database.parse_events(run).expect("events");
        writer.parsed(summary.prompt_name.as_deref(), &parsed).expect("kept");
        writer
            .prepared(&recorded.prepared.expect("a run that was built"))
            .expect("kept");
        let mut history = database.history(run).expect("a history");
        for _ in 0..part.steps {
            let Some(step) = history.next_step().expect("readable") else {
                break;
            };
            for handed in &step.handed {
                keep_answer(&writer, &mut history, handed.effect, part);
            }
            writer.stepped(&step).expect("kept");
        }
        for effect in &part.open {
            keep_answer(&writer, &mut history, EffectId(*effect), part);
        }
        if part.ended {
            writer
                .ended(&recorded.outcome.expect("a run that ended"), &[])
                .expect("kept");
        }
        database.delete_runs(&[run]).expect("deleted");
        writer.id()
    }
}
