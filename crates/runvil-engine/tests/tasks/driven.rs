//! A run whose Harness is the test.

use std::{collections::BTreeMap, sync::Arc};

use runvil_engine::{
    Answer, Effect, EffectId, EffectKind, Event, EventKind, Limits, Outcome, PackSnapshot, Run, RunFacts, RunOutcome,
    RunSetup, StoreAccess, prompt::Prompt,
};
use runvil_vfs::{Identity, StoreFailure, StoreReply};

/// Opens store access for everyone but one identity.
pub(crate) struct Access {
    pub(crate) refused: Option<&'static str>,
}

impl StoreAccess for Access {
    fn open(&mut self, _root: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }

    fn fork(&mut self, child: &Identity) -> Result<(), StoreFailure> {
        if self.refused == Some(child.name()) {
            return Err(StoreFailure::Backend {
                message: "no more sessions".to_owned(),
            });
        }
        Ok(())
    }
}

/// A run whose effects the test answers.
pub(crate) struct Driven {
    pub(crate) run: Run,
    pub(crate) open: Vec<Effect>,
    pub(crate) drops: Vec<EffectId>,
    pub(crate) events: Vec<Event>,
    pub(crate) outcome: Option<RunOutcome>,
}

impl Driven {
    pub(crate) fn start(sections: &str) -> Self {
        Self::start_with(sections, Limits::default(), None)
    }

    pub(crate) fn start_with(sections: &str, limits: Limits, refused: Option<&'static str>) -> Self {
        let mut driven = Self::load(sections, limits, refused);
        driven.step();
        driven
    }

    pub(crate) fn load(sections: &str, limits: Limits, refused: Option<&'static str>) -> Self {
        let source = format!("---\nname: t\ndescription: d\nrunvil: 0\n---\n# T\n{sections}");
        let prompt = Prompt::parse(source.as_bytes(), "test")
            .result
            .expect("the prompt parses");
        let facts = RunFacts {
            name: "test".to_owned(),
            seed: [0; 32],
            started_at: 0,
            args: String::new(),
            limits,
            ui: None,
            debug: false,
        };
        let run = Run::new(RunSetup {
            prompt: Arc::new(prompt),
            facts,
            packs: PackSnapshot::default(),
            roles: BTreeMap::new(),
            store: Some(Box::new(Access { refused })),
        });
        let run = run.expect("the version is supported");
        Self {
            run,
            open: Vec::new(),
            drops: Vec::new(),
            events: Vec::new(),
            outcome: None,
        }
    }

    pub(crate) fn step(&mut self) {
        let step = self.run.step();
        self.open.extend(step.effects);
        for id in step.drops {
            self.open.retain(|effect| effect.id != id);
            self.run.answer(id, Answer::Dropped);
            self.drops.push(id);
        }
        self.events.extend(step.events);
        self.outcome = step.outcome;
        if self.outcome.is_none() && self.open.is_empty() {
            self.outcome = self.run.step().outcome;
        }
    }

    /// Queues the answer to the open effect at `place`, without a step.
    pub(crate) fn give(&mut self, place: usize, answer: Answer) {
        let effect = self.open.remove(place);
        self.run.answer(effect.id, answer);
    }

    /// Answers the open effect at `place`, and steps.
    pub(crate) fn answer(&mut self, place: usize, answer: Answer) {
        self.give(place, answer);
        self.step();
    }

    pub(crate) fn place_of_timer(&self) -> usize {
        self.open
            .iter()
            .position(|effect| matches!(effect.kind, EffectKind::Timer { .. }))
            .expect("a timer is open")
    }

    /// The run result, or how the run stands.
    pub(crate) fn text(&self) -> Result<&str, &Option<RunOutcome>> {
        match &self.outcome {
            Some(RunOutcome::Completed { text }) => Ok(text),
            other => Err(other),
        }
    }

    /// The events that end tasks: the task, how it ended, and why it was abandoned.
    pub(crate) fn ends(&self) -> Vec<String> {
        self.events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::TaskSucceeded { task } => Some(format!("{task} succeeded")),
                EventKind::TaskFailed { task } => Some(format!("{task} failed")),
                EventKind::TaskCancelled { task } => Some(format!("{task} cancelled")),
                EventKind::TaskAbandoned { task, reason } => Some(format!("{task}: {}", reason.phrase())),
                _ => None,
            })
            .collect()
    }
}

pub(crate) fn there() -> Answer {
    Answer::Store(Outcome::Ok(StoreReply::Exists(true)))
}

pub(crate) fn failed(message: &str) -> Answer {
    Answer::Store(Outcome::Err(StoreFailure::Backend {
        message: message.to_owned(),
    }))
}

pub(crate) fn block(heading: &str, lua: &str) -> String {
    format!("{heading}\n```lua\n{lua}\n```\n")
}
