//! Where two courses of a run first differ, for a reader.

use std::fmt;

use runvil_engine::{Effect, EffectKind, Event, RunOutcome, Step, StepRecord};
use serde::Serialize;
use serde_json::Value;

/// How many bytes of a text are shown around the place where it differs.
const SHOWN: usize = 60;

/// Which part of a run differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An event.
    Event,
    /// A piece of work that the run asks for.
    Effect,
    /// Which effects the run gave up.
    Drops,
    /// Where the cancel took effect.
    Cancel,
    /// How the run ended.
    Outcome,
}

impl Part {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Effect => "effect",
            Self::Drops => "dropped effects",
            Self::Cancel => "cancel",
            Self::Outcome => "outcome",
        }
    }
}

/// The first difference between a record and a replay, or between two records. It displays as a few lines for a reader.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// The step, counted from 0; `None` for the parse, and between records.
    pub step: Option<u64>,
    /// What differs.
    pub part: Part,
    /// What the record has there; `None` where it has nothing.
    pub recorded: Option<Value>,
    /// What came instead; `None` where nothing did.
    pub replayed: Option<Value>,
}

impl Divergence {
    /// Compares one thing of a run.
    pub fn between<T: Serialize + PartialEq>(
        step: Option<u64>,
        part: Part,
        recorded: Option<&T>,
        replayed: Option<&T>,
    ) -> Option<Self> {
        if recorded == replayed {
            return None;
        }
        let value = |side: &T| serde_json::to_value(side).expect("the data of a run is JSON");
        Some(Self {
            step,
            part,
            recorded: recorded.map(value),
            replayed: replayed.map(value),
        })
    }

    /// The path of the first difference within the two, such as `.request.messages[1].content`, and what is there.
    #[must_use]
    pub fn place(&self) -> (String, Option<&Value>, Option<&Value>) {
        let mut path = String::new();
        let (recorded, replayed) = descend(&mut path, self.recorded.as_ref(), self.replayed.as_ref());
        (path, recorded, replayed)
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = self.recorded.as_ref().or(self.replayed.as_ref());
        write!(f, "{}{}", self.part.as_str(), which.map(title).unwrap_or_default())?;
        if let Some(step) = self.step {
            write!(f, " (step {step})")?;
        }
        let (path, recorded, replayed) = self.place();
        if !path.is_empty() {
            write!(f, "\n  at {path}")?;
        }
        let (recorded, replayed) = shown(recorded, replayed);
        write!(f, "\n  recorded: {recorded}\n  now:      {replayed}")
    }
}

/// What names an event or an effect.
fn title(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let mut title = String::new();
    if let Some(id) = value.get("id") {
        title = format!(" {id}");
    }
    let kind = text("kind").or_else(|| {
        value
            .get("kind")
            .and_then(|kind| kind.get("effect"))
            .and_then(Value::as_str)
    });
    if let Some(kind) = kind {
        title.push_str(&format!(" {kind}"));
    }
    if let Some(section) = text("section") {
        title.push_str(&format!(" of section {section}"));
    }
    title
}

/// Goes down to where the two differ first.
fn descend<'v>(
    path: &mut String,
    recorded: Option<&'v Value>,
    replayed: Option<&'v Value>,
) -> (Option<&'v Value>, Option<&'v Value>) {
    match (recorded, replayed) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            for name in names {
                if a.get(name) != b.get(name) {
                    path.push_str(&format!(".{name}"));
                    return descend(path, a.get(name), b.get(name));
                }
            }
            (recorded, replayed)
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            match (0..a.len().max(b.len())).find(|&index| a.get(index) != b.get(index)) {
                Some(index) => {
                    path.push_str(&format!("[{index}]"));
                    descend(path, a.get(index), b.get(index))
                }
                None => (recorded, replayed),
            }
        }
        _ => (recorded, replayed),
    }
}

/// Both sides, in short: of two texts the part around the first difference.
fn shown(recorded: Option<&Value>, replayed: Option<&Value>) -> (String, String) {
    if let (Some(Value::String(a)), Some(Value::String(b))) = (recorded, replayed) {
        let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        return (excerpt(a, same), excerpt(b, same));
    }
    let side = |value: Option<&Value>| match value {
        Some(value) => excerpt(&value.to_string(), 0),
        None => "nothing".to_owned(),
    };
    match (recorded, replayed) {
        (Some(a), None) => (summary(a), side(None)),
        (None, Some(b)) => (side(None), summary(b)),
        _ => (side(recorded), side(replayed)),
    }
}

/// A whole event or effect by its name, where it has one.
fn summary(value: &Value) -> String {
    let title = title(value);
    if title.is_empty() {
        excerpt(&value.to_string(), 0)
    } else {
        title.trim_start().to_owned()
    }
}

/// The part of a text around a byte, as a quoted text.
fn excerpt(text: &str, around: usize) -> String {
    let floor = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(around.min(text.len()).saturating_sub(SHOWN / 2));
    let end = floor((start + 2 * SHOWN).min(text.len()));
    let (before, after) = (
        if start > 0 { "…" } else { "" },
        if end < text.len() { "…" } else { "" },
    );
    format!("{before}{:?}{after}", &text[start..end])
}

/// Compares the events of a step.
pub(super) fn events(step: Option<u64>, recorded: &[Event], replayed: &[Event]) -> Option<Divergence> {
    first(step, Part::Event, recorded, replayed)
}

/// Compares two outcomes.
pub(super) fn outcomes(
    step: Option<u64>,
    recorded: Option<&RunOutcome>,
    replayed: Option<&RunOutcome>,
) -> Option<Divergence> {
    Divergence::between(step, Part::Outcome, recorded, replayed)
}

/// Compares a step with the recorded one.
pub(crate) fn steps(number: u64, recorded: &StepRecord, step: &Step) -> Option<Divergence> {
    let at = Some(number);
    events(at, &recorded.events, &step.events)
        .or_else(|| first::<Effect>(at, Part::Effect, &recorded.effects, &step.effects))
        .or_else(|| {
            let some = |drops| Some(drops).filter(|drops: &&Vec<_>| !drops.is_empty());
            Divergence::between(at, Part::Drops, some(&recorded.drops), some(&step.drops))
        })
        .or_else(|| Divergence::between(at, Part::Cancel, recorded.cancelled.as_ref(), step.cancelled.as_ref()))
        .or_else(|| outcomes(at, recorded.outcome.as_ref(), step.outcome.as_ref()))
}

fn first<T: Serialize + PartialEq>(
    step: Option<u64>,
    part: Part,
    recorded: &[T],
    replayed: &[T],
) -> Option<Divergence> {
    (0..recorded.len().max(replayed.len()))
        .find_map(|index| Divergence::between(step, part, recorded.get(index), replayed.get(index)))
}

/// Whether two effects ask for work of the same kind, so that the answer to one can answer the other. A round or a tool's
/// call may say something else; of an operation of the store, the answer would be wrong.
#[must_use]
pub fn is_same_kind(one: &EffectKind, other: &EffectKind) -> bool {
    match (one, other) {
        (EffectKind::ModelRound(_), EffectKind::ModelRound(_))
        | (EffectKind::Timer { .. }, EffectKind::Timer { .. }) => true,
        (EffectKind::ToolCall(one), EffectKind::ToolCall(other)) => one.tool == other.tool,
        (EffectKind::Store(one), EffectKind::Store(other)) => one.op == other.op,
        _ => false,
    }
}
