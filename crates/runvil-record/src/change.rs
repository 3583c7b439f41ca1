//! What a run's record is made of: the changes that its writer makes, in the form in which journals and chunks hold them.
//!
//! Whether a change comes straight from the run or out of the journal of a process that died, it is applied the same way.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// What one call of the recorder came to. It lands whole or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// Its number among the run's, counted from 1.
    pub(crate) sequence: u64,
    /// When it was told, in UTC microseconds since the Unix epoch.
    pub(crate) at: i64,
    /// What changes, in order.
    pub(crate) changes: Vec<Change>,
}

/// The number that a text has in its run.
pub(crate) type TextNumber = i64;

/// The key of a list's last node; 0 is the empty list.
pub(crate) type ListKey = i64;

/// One change of a run's record. A body is a folded value; effects, events, steps and the like have their numbers. It is
/// the form of journals and chunks, too: a kind of change that was ever released stays as it is, and new ones come last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Change {
    /// The run's own row. It comes before every other change.
    Start(Box<Start>),
    /// The run goes on after its process died.
    Resume,
    /// A text that the run did not hold yet.
    Text {
        number: TextNumber,
        hash: [u8; 32],
        body: ByteBuf,
    },
    /// A list that is another one and an item behind it.
    Node {
        key: ListKey,
        before: ListKey,
        item: TextNumber,
    },
    /// The name that the prompt's frontmatter gives it.
    Parse {
        name: Option<String>,
    },
    Prepare {
        body: String,
    },
    Step(Box<Step>),
    /// A step was handed an answer.
    Hand {
        effect: i64,
        step: i64,
        dropped: bool,
    },
    Event {
        event: i64,
        step: i64,
        body: String,
    },
    Effect {
        effect: i64,
        step: i64,
        kind: Cow<'static, str>,
        body: String,
    },
    Answer {
        effect: i64,
        place: i64,
        body: String,
        prompt_tokens: Option<i64>,
        completion_tokens: Option<i64>,
    },
    /// An access to the store, or a change of a real file, is about to be made.
    Access {
        effect: i64,
        nth: i64,
        op: Option<String>,
        change: Option<String>,
    },
    /// An access has landed.
    Reply {
        effect: i64,
        nth: i64,
        place: i64,
        body: String,
    },
    Stop {
        stop: i64,
        step: i64,
        effects: String,
    },
    End {
        outcome: Cow<'static, str>,
        body: String,
    },
    /// What the run came to in sum. It comes before the end.
    Sums(Sums),
    /// Why the Host cancelled the run.
    Cause {
        cause: String,
    },
    /// The Host kept a round from being sent.
    Unsent,
}

impl Change {
    /// Whether it tells what happened in the run, and not what the run is or holds.
    pub(crate) fn is_course(&self) -> bool {
        match self {
            Self::Start(_)
            | Self::Resume
            | Self::Text { .. }
            | Self::Parse { .. }
            | Self::Prepare { .. }
            | Self::End { .. }
            | Self::Sums(_) => false,
            Self::Node { .. }
            | Self::Step(_)
            | Self::Hand { .. }
            | Self::Event { .. }
            | Self::Effect { .. }
            | Self::Answer { .. }
            | Self::Access { .. }
            | Self::Reply { .. }
            | Self::Stop { .. }
            | Self::Cause { .. }
            | Self::Unsent => true,
        }
    }
}

/// How much a run asked for, and the tokens of its rounds, as far as they were reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) effects: i64,
    /// Those that were sent.
    pub(crate) rounds: i64,
    pub(crate) prompt_tokens: Option<i64>,
    pub(crate) completion_tokens: Option<i64>,
    /// Of how many rounds one of the counts is unknown.
    pub(crate) unreported: i64,
}

/// The row of a run that starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) name: String,
    pub(crate) prompt_hash: String,
    pub(crate) prompt: TextNumber,
    pub(crate) file: Option<String>,
    pub(crate) started_at: i64,
    pub(crate) format: u32,
    pub(crate) host: String,
    pub(crate) start: String,
    pub(crate) parent: Option<String>,
    pub(crate) parent_effect: Option<i64>,
}

/// The row of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) step: i64,
    pub(crate) handed: Option<String>,
    pub(crate) first_event: i64,
    pub(crate) events: i64,
    pub(crate) first_effect: i64,
    pub(crate) effects: i64,
    pub(crate) drops: Option<String>,
    pub(crate) openings: Option<String>,
    pub(crate) cancelled: Option<String>,
    pub(crate) outcome: Option<String>,
}
