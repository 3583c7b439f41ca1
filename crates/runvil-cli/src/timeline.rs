//! What a recorded run did, and when: one line for each thing that takes time, and for each `log` call.

use runvil_engine::{Answer, EffectKind, Event, EventKind, Outcome, RunOutcome, TaskOrigin, Usage};
use runvil_record::{Database, RecordError, RecordedEffect, RecordedEvent, RunId};
use runvil_trace::{Ending, Nesting, Opening};
use serde::Serialize;

/// One line of a timeline. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Line {
    /// Since the start of the run.
    #[serde(rename = "at_us")]
    pub(crate) at: i64,
    /// How long it took; `None` for what takes no time, and for what did not come to an end.
    #[serde(rename = "took_us")]
    pub(crate) took: Option<i64>,
    /// Below how many others it stands.
    pub(crate) depth: usize,
    /// The number of the effect that it is, which `runvil fork --at` takes; `None` for what the run did not ask for.
    pub(crate) effect: Option<u64>,
    /// How it ended.
    pub(crate) state: State,
    #[serde(flatten)]
    pub(crate) what: What,
    /// The line that it stands below, by its place in the order of time.
    #[serde(skip)]
    parent: Option<usize>,
}

/// How a thing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Done,
    Failed,
    Cancelled,
    Abandoned,
    /// The record ends before it.
    Open,
}

impl From<Ending> for State {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::Done,
            Ending::Failed => Self::Failed,
            Ending::Cancelled => Self::Cancelled,
            Ending::Abandoned => Self::Abandoned,
            Ending::Open => Self::Open,
        }
    }
}

/// What a line tells of.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum What {
    /// A walked or called section.
    Section { name: String },
    /// A task or an arm of a fanout.
    Task {
        id: String,
        target: String,
        origin: TaskOrigin,
    },
    /// A model round. What a server did not report is unknown.
    Round {
        round: String,
        model: String,
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        finish_reason: Option<String>,
        error: Option<String>,
    },
    /// A call of a Pack's tool.
    Tool { tool: String, error: Option<String> },
    /// A store operation.
    Store {
        operation: &'static str,
        path: String,
        error: Option<&'static str>,
    },
    /// A sleep.
    Timer { millis: u64 },
    /// A `log` call.
    Log { message: String },
}

/// The timeline of a run that started at this instant, in UTC microseconds since the Unix epoch.
pub(crate) fn of(
    database: &Database,
    run: RunId,
    started: i64,
    outcome: Option<&RunOutcome>,
) -> Result<Vec<Line>, RecordError> {
    let mut builder = Builder {
        started,
        lines: Vec::new(),
        nesting: Nesting::new(None),
    };
    let mut effects = database.effects(run)?.peekable();
    for event in database.events(run)? {
        let event = event?;
        // A step reports its events before what it asks for is performed.
        let earlier = |effect: &Result<RecordedEffect, _>| match (effect, event.step) {
            (Ok(effect), step) => step.is_some_and(|step| effect.step < step),
            (Err(_), _) => true,
        };
        while let Some(effect) = effects.next_if(earlier) {
            builder.effect(&effect?);
        }
        builder.event(&event);
    }
    for effect in effects {
        builder.effect(&effect?);
    }
    if matches!(outcome, Some(RunOutcome::Cancelled)) {
        builder.cancel_last();
    }
    Ok(nested(builder.lines))
}

/// The lines with each below the one that it belongs to: work that goes on side by side is told apart.
fn nested(lines: Vec<Line>) -> Vec<Line> {
    let mut children = vec![Vec::new(); lines.len()];
    let mut waiting = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        match line.parent {
            Some(parent) => children[parent].push(index),
            None => waiting.push(index),
        }
    }
    waiting.reverse();
    let mut lines: Vec<Option<Line>> = lines.into_iter().map(Some).collect();
    let mut nested = Vec::with_capacity(lines.len());
    while let Some(index) = waiting.pop() {
        nested.extend(lines[index].take());
        waiting.extend(children[index].drain(..).rev());
    }
    nested
}

struct Builder {
    started: i64,
    lines: Vec<Line>,
    /// The lines of the open sections and tasks; `None` for the run itself.
    nesting: Nesting<Option<usize>>,
}

impl Builder {
    fn event(&mut self, recorded: &RecordedEvent) {
        let RecordedEvent { at, event, .. } = recorded;
        let at = at.saturating_sub(self.started);
        let Self { lines, nesting, .. } = self;
        let closed = nesting.event(event, |parent, opening| {
            let line = Line {
                parent: *parent,
                ..opened(at, depth(lines, *parent), opening)
            };
            lines.push(line);
            Some(lines.len() - 1)
        });
        for (line, ending) in closed {
            if let Some(line) = line.and_then(|line| self.lines.get_mut(line)) {
                line.took = Some(at.saturating_sub(line.at));
                line.state = ending.into();
            }
        }
        self.log(at, event);
    }

    /// The sections that ended with a cancelled run did not fail.
    fn cancel_last(&mut self) {
        let end = |line: &Line| line.took.map(|took| line.at.saturating_add(took));
        let is_section = |line: &&mut Line| matches!(line.what, What::Section { .. });
        let last = self.lines.iter().filter_map(end).max();
        for line in self.lines.iter_mut().filter(is_section) {
            if line.state == State::Failed && end(line) == last {
                line.state = State::Cancelled;
            }
        }
    }

    fn log(&mut self, at: i64, event: &Event) {
        if let EventKind::Lua { message } = &event.kind {
            let parent = *self.nesting.innermost(&event.provenance.task);
            self.lines.push(Line {
                at,
                took: None,
                depth: depth(&self.lines, parent),
                effect: None,
                state: State::Done,
                what: What::Log {
                    message: message.clone(),
                },
                parent,
            });
        }
    }

    fn effect(&mut self, recorded: &RecordedEffect) {
        let parent = *self.nesting.innermost(&recorded.effect.task);
        self.lines.push(Line {
            at: recorded.at.saturating_sub(self.started),
            took: recorded.answered_at.map(|at| at.saturating_sub(recorded.at)),
            depth: depth(&self.lines, parent),
            effect: Some(recorded.effect.id.0),
            state: state(recorded),
            what: performed(&recorded.effect.kind, recorded.answer.as_ref()),
            parent,
        });
    }
}

/// What became of an effect.
pub(crate) fn state(recorded: &RecordedEffect) -> State {
    match &recorded.answer {
        _ if recorded.dropped => State::Cancelled,
        Some(Answer::Dropped) => State::Cancelled,
        None => State::Open,
        Some(answer) if failed(answer) => State::Failed,
        Some(_) => State::Done,
    }
}

/// The depth of a line below this one.
fn depth(lines: &[Line], parent: Option<usize>) -> usize {
    parent.and_then(|line| lines.get(line)).map_or(0, |line| line.depth + 1)
}

fn opened(at: i64, depth: usize, opening: Opening<'_>) -> Line {
    let what = match opening {
        Opening::Section { name, .. } => What::Section { name: name.to_owned() },
        Opening::Task { task, target, origin } => What::Task {
            id: task.to_string(),
            target: target.to_owned(),
            origin,
        },
    };
    Line {
        at,
        took: None,
        depth,
        effect: None,
        state: State::Open,
        what,
        parent: None,
    }
}

fn failed(answer: &Answer) -> bool {
    match answer {
        Answer::Model(outcome) => matches!(**outcome, Outcome::Err(_)),
        Answer::Tool(outcome) => matches!(outcome, Outcome::Err(_)),
        Answer::Store(outcome) => matches!(outcome, Outcome::Err(_)),
        Answer::Timer | Answer::Dropped => false,
    }
}

/// An effect, with what its answer tells.
fn performed(kind: &EffectKind, answer: Option<&Answer>) -> What {
    match kind {
        EffectKind::ModelRound(round) => {
            let outcome = match answer {
                Some(Answer::Model(outcome)) => Some(&**outcome),
                _ => None,
            };
            let (usage, finish_reason, error) = match outcome {
                Some(Outcome::Ok(reply)) => (reply.usage, reply.finish_reason.clone(), None),
                Some(Outcome::Err(error)) => (error.usage, error.finish_reason.clone(), Some(error.to_string())),
                None => (None, None, None),
            };
            let Usage {
                prompt_tokens,
                completion_tokens,
                ..
            } = usage.unwrap_or_default();
            What::Round {
                round: round.round.as_str().to_owned(),
                model: round.model.name().to_owned(),
                input_tokens: prompt_tokens,
                output_tokens: completion_tokens,
                finish_reason,
                error,
            }
        }
        EffectKind::ToolCall(call) => What::Tool {
            tool: call.tool.clone(),
            error: match answer {
                Some(Answer::Tool(Outcome::Err(failure))) => Some(failure.message.clone()),
                _ => None,
            },
        },
        EffectKind::Store(call) => What::Store {
            operation: call.op.name().as_str(),
            path: call.op.path().to_owned(),
            error: match answer {
                Some(Answer::Store(Outcome::Err(failure))) => Some(failure.reason().as_str()),
                _ => None,
            },
        },
        EffectKind::Timer { millis } => What::Timer { millis: *millis },
    }
}
