//! The spans of one run.

use std::collections::BTreeMap;

use runvil_engine::{Answer, Effect, EffectId, Event, RunOutcome};
use runvil_harness::{LiveText, Observer};
use tracing::Span;

use crate::{Ending, Nesting, span};

/// Hears a run, and opens and closes a span for the run itself, for each section, task, model round, tool call and
/// store operation.
///
/// The spans are nested by what the run says of itself and not by threads, so that side-by-side tasks do not mix.
#[derive(Debug)]
pub struct RunSpans {
    nesting: Nesting<Span>,
    effects: BTreeMap<EffectId, Span>,
}

impl RunSpans {
    /// Opens the span of a run: `prompt` is the name in the prompt's frontmatter, `run` the run's own.
    #[must_use]
    pub fn start(prompt: &str, run: &str) -> Self {
        Self {
            nesting: Nesting::new(span::run(prompt, run)),
            effects: BTreeMap::new(),
        }
    }

    /// Hears the run together with another observer, which hears everything first.
    pub fn beside<'a>(&'a mut self, observer: &'a mut dyn Observer) -> Beside<'a> {
        Beside { observer, spans: self }
    }

    /// Closes the span of the run, and whatever is still open in it.
    pub fn end(self, outcome: &RunOutcome) {
        let Self { nesting, effects } = self;
        for span in effects.values() {
            span::failed(span, "cancelled");
        }
        let how = match outcome {
            RunOutcome::Cancelled => Ending::Cancelled,
            RunOutcome::Completed { .. } | RunOutcome::Failed(_) => Ending::Failed,
        };
        let run = nesting.root().clone();
        for (span, _) in nesting.end() {
            span::closed(&span, how);
        }
        span::ended(&run, outcome);
    }
}

/// The spans of a run beside another observer of it.
pub struct Beside<'a> {
    observer: &'a mut dyn Observer,
    spans: &'a mut RunSpans,
}

impl Observer for Beside<'_> {
    fn event(&mut self, event: &Event) {
        self.observer.event(event);
        self.spans.event(event);
    }

    fn live_text(&mut self, piece: LiveText<'_>) {
        self.observer.live_text(piece);
    }

    fn effect_started(&mut self, effect: &Effect) {
        self.observer.effect_started(effect);
        self.spans.effect_started(effect);
    }

    fn effect_answered(&mut self, id: EffectId, answer: &Answer) {
        self.observer.effect_answered(id, answer);
        self.spans.effect_answered(id, answer);
    }
}

impl Observer for RunSpans {
    fn event(&mut self, event: &Event) {
        for (span, ending) in self.nesting.event(event, span::opened) {
            span::closed(&span, ending);
        }
    }

    fn effect_started(&mut self, effect: &Effect) {
        let parent = self.nesting.innermost(&effect.task);
        if let Some(span) = span::effect(parent, &effect.kind) {
            self.effects.insert(effect.id, span);
        }
    }

    fn effect_answered(&mut self, id: EffectId, answer: &Answer) {
        if let Some(span) = self.effects.remove(&id) {
            span::answered(&span, answer);
        }
    }
}
