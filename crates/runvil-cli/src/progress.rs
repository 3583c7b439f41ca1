//! How far a run is, in one line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use runvil_engine::{Answer, ChainId, Effect, EffectId, EffectKind, Event, EventKind};
use runvil_harness::Observer;

use crate::{
    screen::{harmless, screen},
    usage::{Meter, Usage},
};

/// How long a run may take before anything of this is shown.
const GRACE: Duration = Duration::from_millis(500);

/// How often the line is drawn.
const INTERVAL: Duration = Duration::from_millis(200);

/// What a run is at. Clones look at the same run.
#[derive(Clone)]
pub(crate) struct Progress {
    begun: Instant,
    meter: Arc<Meter>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The prompt's title, which stands until a section is entered.
    title: String,
    /// The sections that the main walk is in, the innermost last.
    sections: Vec<String>,
    tasks: BTreeSet<ChainId>,
    /// The rounds and the tool calls that are not answered yet; a tool by its id.
    waits: BTreeMap<EffectId, Option<String>>,
}

impl Progress {
    pub(crate) fn new(meter: Arc<Meter>) -> Self {
        Self {
            begun: Instant::now(),
            meter,
            state: Arc::default(),
        }
    }

    /// Draws the line until the run has ended.
    pub(crate) async fn draw(self) {
        tokio::time::sleep(GRACE).await;
        let mut ticks = tokio::time::interval(INTERVAL);
        loop {
            ticks.tick().await;
            let line = self.state().line(&self.meter.usage(), self.begun.elapsed());
            screen().draw_status(&line);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn line(&self, usage: &Usage, elapsed: Duration) -> String {
        let section = self.sections.last().unwrap_or(&self.title);
        let mut parts = vec![harmless(section).replace(['\n', '\t'], " ")];
        if !self.tasks.is_empty() {
            parts.push(counted(self.tasks.len() as u64, "task"));
        }
        let rounds_out = self.waits.values().filter(|tool| tool.is_none()).count();
        if usage.rounds > 0 {
            let mut rounds = counted(usage.rounds, "round");
            if rounds_out > 0 {
                let _ = write!(rounds, " ({rounds_out} waiting)");
            }
            parts.push(rounds);
        }
        let tools: BTreeSet<_> = self.waits.values().flatten().collect();
        parts.extend(tools.into_iter().cloned());
        parts.extend(tokens(usage));
        parts.push(duration(elapsed));
        parts.retain(|part| !part.is_empty());
        parts.join(" · ")
    }
}

impl Observer for Progress {
    fn event(&mut self, event: &Event) {
        let main = event.provenance.task == ChainId::root();
        let mut state = self.state();
        match &event.kind {
            EventKind::RunStarted => state.title.clone_from(&event.section),
            EventKind::SectionStarted if main => state.sections.push(event.section.clone()),
            // A section that fails is never reported as finished, but its end always is.
            EventKind::LuaTeardownSucceeded if main && state.sections.last() == Some(&event.section) => {
                state.sections.pop();
            }
            EventKind::TaskStarted { task, .. } => {
                state.tasks.insert(task.clone());
            }
            EventKind::TaskSucceeded { task }
            | EventKind::TaskFailed { task }
            | EventKind::TaskCancelled { task }
            | EventKind::TaskAbandoned { task, .. } => {
                state.tasks.remove(task);
            }
            _ => {}
        }
    }

    fn effect_started(&mut self, effect: &Effect) {
        let wait = match &effect.kind {
            EffectKind::ModelRound(_) => None,
            EffectKind::ToolCall(call) => Some(call.tool.clone()),
            EffectKind::Store(_) | EffectKind::Timer { .. } => return,
        };
        self.state().waits.insert(effect.id, wait);
    }

    fn effect_answered(&mut self, id: EffectId, _: &Answer) {
        self.state().waits.remove(&id);
    }
}

/// A count with its noun.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The tokens of the rounds that ended, as far as they are known.
pub(crate) fn tokens(usage: &Usage) -> Option<String> {
    match (usage.known_tokens(), usage.rounds_of_unknown_use) {
        (None, 0) => None,
        (None, _) => Some("tokens unknown".to_owned()),
        (Some(known), 0) => Some(counted(known, "token")),
        (Some(known), _) => Some(format!("at least {}", counted(known, "token"))),
    }
}

/// A length of time in whole seconds.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes @ 1..60, seconds) => format!("{minutes} min {seconds:02} s"),
        (minutes, _) => format!("{} h {:02} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_what_is_known() {
        let mut state = State {
            title: "Title".to_owned(),
            ..State::default()
        };
        let mut usage = Usage::default();
        assert_eq!(state.line(&usage, Duration::ZERO), "Title · 0 s");
        state.sections.push("Main".to_owned());
        state.tasks.extend([ChainId::root().child(0), ChainId::root().child(1)]);
        usage.rounds = 3;
        usage.rounds_of_unknown_use = 1;
        assert_eq!(
            state.line(&usage, Duration::from_secs(75)),
            "Main · 2 tasks · 3 rounds · tokens unknown · 1 min 15 s"
        );
        usage.prompt_tokens = Some(12);
        assert_eq!(
            state.line(&usage, Duration::from_secs(3700)),
            "Main · 2 tasks · 3 rounds · at least 12 tokens · 1 h 01 min"
        );
    }
}
