//! Going on with a run whose process died, and forking one.

use std::sync::Arc;

use runvil_engine::{Answer, Effect, EffectId, EffectKind, History, Outcome, RecordFault, ToolFailure};
use runvil_vfs::StoreFailure;

use crate::{
    Divergence, Host, Launch, Observer, Preparation, Recorded, RunReport,
    drive::drive_from,
    prepare::{prepare, prepare_resumed},
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

/// A run whose process died, and how it goes on.
pub struct Resumption {
    /// What is recorded of it, but for its course.
    pub recorded: Recorded,
    /// Its course.
    pub history: Box<dyn History>,
    /// What becomes of work of which nobody knows whether it took effect.
    pub unknown: OnUnknown,
}

/// Where a new run leaves the course of a recorded one.
pub struct Fork {
    /// The course of the recorded run.
    pub history: Box<dyn History>,
    /// The last effect that is answered as it was.
    pub until: EffectId,
    /// Another answer for that effect.
    pub answer: Option<Answer>,
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
    /// The store does not open any more, or cannot be brought to where it was.
    #[error("the store cannot be brought to where it was: {0}")]
    Store(#[source] StoreFailure),
    /// No thread can be had, or the run is gone with its own.
    #[error("the run cannot be stepped: {0}")]
    Step(String),
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

/// Where a run has been before it is driven.
pub(crate) enum Course {
    /// It goes on behind the last step of its own record.
    Resumed {
        history: Box<dyn History>,
        access: RecordedAccess,
        unknown: OnUnknown,
    },
    /// It goes its own way from some point of another run's.
    Forked(Fork),
}

impl Host {
    /// Goes on with a run whose process died, from its last recorded answer. The launch brings the recorded prompt,
    /// arguments and input, and a recorder that goes on with the run's record.
    ///
    /// The observer hears only what happens from here on.
    ///
    /// # Errors
    /// The run cannot go on. Its record is as it was.
    pub async fn resume(
        &self,
        launch: Launch,
        resumption: Resumption,
        observer: &mut dyn Observer,
    ) -> Result<RunReport, ResumeError> {
        let Resumption {
            recorded,
            history,
            unknown,
        } = resumption;
        if recorded.outcome.is_some() {
            return Err(ResumeError::Ended);
        }
        let access = RecordedAccess::default();
        let prepared = match prepare_resumed(self, launch, &recorded, access.clone()).await {
            Preparation::Ready(prepared) => *prepared,
            Preparation::Ended(report) => return Ok(*report),
        };
        let tools = recorded.prepared.iter().flat_map(|prepared| &prepared.packs.packs);
        for tool in tools.flat_map(|pack| &pack.tools) {
            if !prepared.performer.tools.contains_key(&tool.id) {
                return Err(ResumeError::MissingTool(tool.id.clone()));
            }
        }
        let course = Course::Resumed {
            history,
            access,
            unknown,
        };
        drive_from(prepared, course, observer).await
    }

    /// Starts a new run that has the answers of a recorded one up to some effect, and goes its own way from there. The
    /// launch may bring another prompt; the Host draws what the recorded run drew.
    ///
    /// The run leaves the recorded course earlier where it asks for other work.
    ///
    /// # Errors
    /// The course of the recorded run cannot be read.
    pub async fn fork(
        &self,
        launch: Launch,
        fork: Fork,
        observer: &mut dyn Observer,
    ) -> Result<RunReport, ResumeError> {
        match prepare(self, launch).await {
            Preparation::Ready(prepared) => drive_from(*prepared, Course::Forked(fork), observer).await,
            Preparation::Ended(report) => {
                for event in &report.events {
                    observer.event(event);
                }
                Ok(*report)
            }
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
