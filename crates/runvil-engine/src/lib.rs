//! The run as a pure, stepped machine: effects and events go out, answers come in.
//!
//! A [`Run`] reads no clock, opens no file, talks to no network and draws no random number. It is built from a
//! [`RunSetup`], stepped, and handed [`Answer`]s. The same setup and the same answers give the same bytes.
//!
//! ```text
//! Prompt::parse ─▶ Run::new ─▶ step() ─▶ Step { effects, drops, events, outcome }
//!                                ▲                    │
//!                                └───── answer() ◀────┘ the Harness performs
//! ```

mod ids;

mod completion;
mod limits;
mod model_info;
pub mod wire;

mod effect;
mod error;
mod event;
mod failure;

pub mod hex;
mod setup;

pub mod prompt;

mod record;

mod chain;
mod request;
mod run;
mod section;
mod subst;

mod conversation;
mod globals;
mod models;
mod store;
mod tasks;
mod tools;
mod untrusted;

pub use completion::{CompletionError, CompletionErrorKind};
pub use effect::{
    Answer, Effect, EffectKind, FORMAT_VERSION, ModelReply, ModelRound, Outcome, RawExchange, ReplyCall, StoreCall,
    ToolCall, ToolFailure, ToolOutput, Usage,
};
pub use error::{CALL_DEPTH_CAP, CallForm, ErrorKind, Failure, Fields, Location, LogQuota, RunError, RunErrorKind};
pub use event::{AbandonReason, Event, EventKind, Provenance, ReplyOrigin, RequestedCall, TaskOrigin};
pub use ids::{ChainId, EffectId, InvalidChainId, RoundId};
pub use limits::{Limits, ZeroLimit};
pub use model_info::{InvalidModelId, ModelId, ModelIdReason, ModelInfo, RAW_MODEL_CONTEXT, ThinkingMode};
pub use models::{PreparedRoles, RoleCheck, UnmetRole, prepare_roles};
pub use record::{
    AccessId, CancelPlace, FileChange, FileState, Handed, History, Landed, RecordFault, Recorder, RunPrepared,
    RunStart, StepRecord,
};
pub use run::{Run, RunOutcome, Step};
pub use runvil_lua::CancelFlag;
pub use setup::{PackEntry, PackSnapshot, RunFacts, RunSetup, StoreAccess, ToolEntry};
