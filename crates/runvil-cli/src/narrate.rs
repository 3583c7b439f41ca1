//! `--verbose`: one line for each step of a run.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use runvil_engine::{Answer, ChainId, Effect, EffectId, EffectKind, Event, EventKind, ModelReply, Outcome, Usage};
use runvil_harness::Observer;

use crate::{
    live::checkpoint,
    screen::{harmless, screen},
};

/// Tells the steps of a run on standard error, whether or not a person watches it there.
pub(crate) struct Narrator {
    begun: Instant,
    /// What waits: what it is called, and since when.
    waits: BTreeMap<EffectId, (String, Instant)>,
    /// Log checkpoints are somebody else's to show.
    skips_log: bool,
}

impl Narrator {
    /// `skips_log` leaves the log checkpoints out.
    pub(crate) fn new(skips_log: bool) -> Self {
        Self {
            begun: Instant::now(),
            waits: BTreeMap::new(),
            skips_log,
        }
    }

    fn say(&self, text: &str) {
        screen().line(format!("{:>8} {}", seconds(self.begun.elapsed()), harmless(text)));
    }
}

impl Observer for Narrator {
    fn event(&mut self, event: &Event) {
        let text = match &event.kind {
            EventKind::Lua { message } if !self.skips_log => {
                screen().line(checkpoint(&event.section, message));
                return;
            }
            EventKind::SectionStarted => format!("section {}{}", event.section, of_task(&event.provenance.task)),
            EventKind::TaskStarted { task, target, .. } => format!("task {task} starts at {target}"),
            EventKind::TaskSucceeded { task } => format!("task {task} succeeded"),
            EventKind::TaskFailed { task } => format!("task {task} failed"),
            EventKind::TaskCancelled { task } => format!("task {task} was cancelled"),
            EventKind::TaskAbandoned { task, reason } => format!("task {task} was abandoned: {}", reason.phrase()),
            EventKind::ModelTurnFailed { round, message } => format!("round {} failed: {message}", round.as_str()),
            EventKind::ModelMetadataDegraded { message, .. } => format!("in {}: {message}", event.section),
            EventKind::Request { round, body } => format!("round {} sent {body}", round.as_str()),
            EventKind::Response { round, body } => format!("round {} received {body}", round.as_str()),
            _ => return,
        };
        self.say(&text);
    }

    fn effect_started(&mut self, effect: &Effect) {
        let what = match &effect.kind {
            EffectKind::ModelRound(round) => format!("round {} with {}", round.round.as_str(), round.model),
            EffectKind::ToolCall(call) => format!("tool {}", call.tool),
            EffectKind::Store(_) | EffectKind::Timer { .. } => return,
        };
        self.say(&format!("{what}{}", of_task(&effect.task)));
        self.waits.insert(effect.id, (what, Instant::now()));
    }

    fn effect_answered(&mut self, id: EffectId, answer: &Answer) {
        if let Some((what, since)) = self.waits.remove(&id) {
            let outcome = outcome(answer);
            self.say(&format!("{what}: {outcome} after {}", seconds(since.elapsed())));
        }
    }
}

/// Names a task other than the main walk.
fn of_task(task: &ChainId) -> String {
    if *task == ChainId::root() {
        String::new()
    } else {
        format!(" (task {task})")
    }
}

fn outcome(answer: &Answer) -> String {
    match answer {
        Answer::Model(reply) => match &**reply {
            Outcome::Ok(reply) => served(reply),
            Outcome::Err(error) => format!("failed ({error})"),
        },
        Answer::Tool(Outcome::Ok(output)) => format!("{} bytes", output.text.len()),
        Answer::Tool(Outcome::Err(failure)) => format!("failed ({})", failure.message),
        Answer::Dropped => "given up".to_owned(),
        Answer::Store(_) | Answer::Timer => "answered".to_owned(),
    }
}

fn served(reply: &ModelReply) -> String {
    let Usage {
        prompt_tokens,
        completion_tokens,
        ..
    } = reply.usage.unwrap_or_default();
    let known = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    let calls = match reply.tool_calls.len() {
        0 => String::new(),
        1 => ", 1 tool call".to_owned(),
        calls => format!(", {calls} tool calls"),
    };
    format!("{} + {} tokens{calls}", known(prompt_tokens), known(completion_tokens))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
