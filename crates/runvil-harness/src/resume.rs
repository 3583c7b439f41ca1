//! Going on with a run whose process died, and forking one.

use std::{fmt, sync::Arc};

use runvil_engine::{Answer, Effect, EffectId, EffectKind, History, Outcome, PackSnapshot, RecordFault, ToolFailure};
use runvil_vfs::StoreFailure;

use crate::{
    Divergence, Host, Launch, Observer, Preparation, Prepared, Recorded, RunReport,
    drive::{Retraced, drive_forked, retrace},
    prepare::{prepare_forked, prepare_resumed},
    replay::RecordedAccess,
};

/// What becomes of work that was open when the process died, and of which nobody knows whether it took effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnUnknown {
    /// Nothing is done before somebody decides: resuming fails and names the work.
    #[default]
    Ask,
    /// It is done again.
    Repeat,
    /// The run is told that it failed.
    Fail,
}

/// What becomes of a run whose files are no longer as it left them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnChanged {
    /// Nothing is done before somebody decides: resuming fails and names the files.
    #[default]
    Ask,
    /// It goes on with the files as they are.
    Accept,
}

/// A run whose process died, and how it goes on.
pub struct Resumption {
    /// What is recorded of it, but for its course.
    pub recorded: Recorded,
    /// Its course.
    pub history: Box<dyn History>,
    /// What becomes of work of which nobody knows whether it took effect.
    pub unknown: OnUnknown,
    /// What becomes of it where files in a real directory are no longer as it left them.
    pub changed: OnChanged,
    /// The last effect whose answer the run took over from the one that it forked from: real files up to there are not its
    /// own work.
    pub taken: Option<EffectId>,
}

/// A file in a real directory that a run wrote, changed or deleted, and that is no longer as the run left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path, as the run spelled it.
    pub path: String,
    /// How it is now.
    pub now: FileIs,
}

/// How a file is that is not as it was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileIs {
    /// It has other contents.
    Changed,
    /// There is no such file any more.
    Gone,
    /// It is there, though the run deleted it.
    Back,
}

impl fmt::Display for ChangedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        f.write_str(match self.now {
            FileIs::Changed => " was changed",
            FileIs::Gone => " is gone",
            FileIs::Back => " is there again",
        })
    }
}

/// Where a new run leaves the course of a recorded one.
pub struct Fork {
    /// The course of the recorded run.
    pub history: Box<dyn History>,
    /// The last effect that is answered as it was.
    pub until: EffectId,
    /// Another answer for that effect.
    pub answer: Option<Answer>,
    /// The Packs that the recorded run was prepared with, where it was.
    pub packs: Option<PackSnapshot>,
}

/// Why a run cannot go on. Nothing was performed, and its record is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The record cannot be read.
    #[error("the record cannot be read: {0}")]
    Record(#[source] RecordFault),
    /// The record hands a step an answer that it does not hold.
    #[error("the record lacks the answer to effect {0}")]
    NoAnswer(EffectId),
    /// The run has ended.
    #[error("the run has ended; it can be replayed or forked, not resumed")]
    Ended,
    /// This program does not repeat what the record holds.
    #[error("the run does not repeat as it was recorded, so it cannot go on from there: {0}")]
    Diverged(Box<Divergence>),
    /// The Host lacks a tool that the run has.
    #[error("this host lacks the tool `{0}`, which the run has")]
    MissingTool(String),
    /// Open work, of which nobody knows whether it took effect.
    #[error("it is not known whether this took effect before the process died: {}", names(.0))]
    Unknown(Vec<Effect>),
    /// Files in a real directory are no longer as the run left them.
    #[error("files of the store are not as the run left them: {}", listed(.0))]
    Changed(Vec<ChangedFile>),
    /// The store does not open any more, or cannot be brought to where it was.
    #[error("the store cannot be brought to where it was: {0}")]
    Store(#[source] StoreFailure),
    /// No thread can be had, or the run is gone with its own.
    #[error("the run cannot be stepped: {0}")]
    Step(String),
}

/// How many changed files are named one by one.
const NAMED: usize = 10;

/// The files, as far as a person wants to read them.
fn listed(files: &[ChangedFile]) -> String {
    let mut text: Vec<String> = files.iter().take(NAMED).map(ToString::to_string).collect();
    match files.len().saturating_sub(NAMED) {
        0 => {}
        1 => text.push("and 1 more".to_owned()),
        more => text.push(format!("and {more} more")),
    }
    text.join("; ")
}

/// Open work in a few words each.
fn names(effects: &[Effect]) -> String {
    let name = |effect: &Effect| match &effect.kind {
        EffectKind::ToolCall(call) => format!("effect {}, a call of {}", effect.id, call.tool),
        EffectKind::Store(call) => {
            let op = format!("{:?}", call.op.name()).to_lowercase();
            format!(
                "effect {}, {op} of {} in the store, which somebody else has changed",
                effect.id,
                call.op.path()
            )
        }
        EffectKind::ModelRound(_) | EffectKind::Timer { .. } => format!("effect {}", effect.id),
    };
    effects.iter().map(name).collect::<Vec<_>>().join("; ")
}

/// The failure that the run is told of work of which nobody knows whether it took effect.
pub(crate) fn failed_unknown(kind: &EffectKind) -> Answer {
    const MESSAGE: &str = "the process ended before this call did, and it is not known whether it took effect";
    match kind {
        EffectKind::Store(call) => Answer::Store(Outcome::Err(StoreFailure::Io {
            path: call.op.path().to_owned(),
            message: MESSAGE.to_owned(),
        })),
        _ => Answer::Tool(Outcome::Err(ToolFailure {
            message: MESSAGE.to_owned(),
        })),
    }
}

/// The recorded course of a run that goes on.
pub(crate) struct Course {
    pub(crate) history: Box<dyn History>,
    pub(crate) access: RecordedAccess,
    pub(crate) unknown: OnUnknown,
    pub(crate) changed: OnChanged,
    pub(crate) taken: Option<EffectId>,
}

/// A run that can go on along a recorded course, or from its end. Nothing of it has been performed yet.
pub struct Continuation {
    way: Way,
    changes: Vec<String>,
}

enum Way {
    /// It has been taken along its own record.
    Retraced(Box<Retraced>),
    /// It is to follow the record of another.
    Forked(Box<Prepared>, Fork),
    /// It came to its end when it was prepared.
    Ended(Box<RunReport>),
}

impl Continuation {
    /// What of the Packs is not as it was when the recorded run was prepared, one sentence each. A resumed run keeps what was
    /// recorded, a forked one has what is there now; the Packs that are there now perform both.
    #[must_use]
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Goes on to the end. The observer hears of a resumed run what happens from here on, and of a forked one everything.
    ///
    /// # Errors
    /// The record cannot be kept, or the course of the other run cannot be read.
    pub async fn go_on(self, observer: &mut dyn Observer) -> Result<RunReport, ResumeError> {
        match self.way {
            Way::Retraced(retraced) => retraced.go_on(observer).await,
            Way::Forked(prepared, fork) => drive_forked(*prepared, fork, observer).await,
            Way::Ended(report) => {
                for event in &report.events {
                    observer.event(event);
                }
                Ok(*report)
            }
        }
    }
}

impl Host {
    /// Takes a run whose process died along its record to where it can go on. The launch brings the recorded prompt,
    /// arguments and input, and a recorder that goes on with the run's record.
    ///
    /// A run that had not been prepared when its process died is prepared here, which its record holds.
    ///
    /// # Errors
    /// The run cannot go on. Its record is as it was.
    pub async fn resume(&self, launch: Launch, resumption: Resumption) -> Result<Continuation, ResumeError> {
        let Resumption {
            recorded,
            history,
            unknown,
            changed,
            taken,
        } = resumption;
        if recorded.outcome.is_some() {
            return Err(ResumeError::Ended);
        }
        let access = RecordedAccess::default();
        let prepared = match prepare_resumed(self, launch, &recorded, access.clone()).await {
            Preparation::Ready(prepared) => *prepared,
            Preparation::Ended(report) => {
                return Ok(Continuation {
                    way: Way::Ended(report),
                    changes: Vec::new(),
                });
            }
        };
        let tools = recorded.prepared.iter().flat_map(|prepared| &prepared.packs.packs);
        for tool in tools.flat_map(|pack| &pack.tools) {
            if !prepared.performer.tools.contains_key(&tool.id) {
                return Err(ResumeError::MissingTool(tool.id.clone()));
            }
        }
        let course = Course {
            history,
            access,
            unknown,
            changed,
            taken,
        };
        let changes = prepared.record.pack_changes.clone();
        let retraced = retrace(prepared, course).await?;
        Ok(Continuation {
            way: Way::Retraced(Box::new(retraced)),
            changes,
        })
    }

    /// Prepares a new run that has the answers of a recorded one up to some effect, and goes its own way from there. The
    /// launch may bring another prompt; the Host draws what the recorded run drew.
    ///
    /// The run leaves the recorded course earlier where it asks for other work.
    pub async fn fork(&self, launch: Launch, fork: Fork) -> Continuation {
        match prepare_forked(self, launch, fork.packs.as_ref()).await {
            Preparation::Ready(prepared) => Continuation {
                changes: prepared.record.pack_changes.clone(),
                way: Way::Forked(prepared, fork),
            },
            Preparation::Ended(report) => Continuation {
                changes: Vec::new(),
                way: Way::Ended(report),
            },
        }
    }
}

/// A seed and a start instant that are given, such as those of a recorded run.
#[derive(Debug, Clone, Copy)]
pub struct GivenOrigin {
    /// The seed.
    pub seed: crate::Seed,
    /// The start instant in UTC milliseconds since the Unix epoch.
    pub now: i64,
}

impl crate::Origin for GivenOrigin {
    fn seed(&self) -> crate::Seed {
        self.seed
    }

    fn now(&self) -> i64 {
        self.now
    }
}

/// Whether a tool's call may be made again though nobody knows whether it took effect.
pub(crate) fn is_repeat_safe(tools: &crate::packs::ToolTable, tool: &str) -> bool {
    tools
        .get(tool)
        .map(Arc::as_ref)
        .is_some_and(|tool| tool.definition().repeat_safe)
}
