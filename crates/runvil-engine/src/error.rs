//! How things fail: the failures that Lua sees and the errors that end a run (book: Limits and errors).
//!
//! [`Failure`] is every way in which an Engine call can fail. It has one of the thirteen error kinds while Lua can
//! catch it, and becomes one of the run error kinds when nothing does. Each fixed message is written here, once.

use std::{borrow::Cow, fmt};

use runvil_lua::FieldValue;
use runvil_vfs::StoreFailure;
use serde::{Deserialize, Serialize};

use crate::{ChainId, CompletionError, CompletionErrorKind, prompt::HeadingError};

/// The most levels that calls, tasks and fanout arms nest (book: The recursion depth cap).
pub const CALL_DEPTH_CAP: u32 = 8;

/// The stable name of what failed a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RunErrorKind {
    /// The prompt does not parse, or has no `runvil:` key.
    Parse,
    /// The `runvil:` key declares another major version.
    Version,
    /// A round ran without a selected model.
    Binding,
    /// A model call failed.
    Completion,
    /// A tool failed, was out of scope or unknown, or a loop reached its round cap.
    Tool,
    /// A store operation failed, or the run has no store.
    Vfs,
    /// A store call met a claims conflict.
    Determinism,
    /// A section's Lua failed.
    Lua,
    /// A log quota ran out, or calls nested past the depth cap.
    Quota,
    /// A request overflowed the model's context window.
    ContextExhausted,
    /// An invariant of the Engine broke.
    Internal,
    /// The environment falls short of a requirement that the prompt states.
    RequirementsUnmet,
    /// The launch input could not be put in place. A kind of the Harness, outside the twelve.
    Input,
}

impl fmt::Display for RunErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The place that a run error points at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The prompt's name, `<prompt>`, or for an internal fault an Engine source file.
    pub path: String,
    /// 1-based, counted from the top of the file.
    pub line: Option<u32>,
    /// 1-based, in bytes for the body.
    pub column: Option<u32>,
    /// The byte range in the body after the frontmatter.
    pub span: Option<(usize, usize)>,
}

/// The record of a run's failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// What failed.
    pub kind: RunErrorKind,
    /// The failing error's text and that of each cause.
    pub message: String,
    /// Whether running again may succeed.
    pub retryable: bool,
    /// Where, for parse failures and internal faults.
    pub location: Option<Location>,
}

impl RunError {
    /// An error that no second try mends and that points nowhere.
    #[must_use]
    pub fn new(kind: RunErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retryable: false,
            location: None,
        }
    }

    /// A broken invariant of the Engine, located where this is called.
    #[track_caller]
    #[must_use]
    pub fn internal(message: impl fmt::Display) -> Self {
        let caller = std::panic::Location::caller();
        Self {
            location: Some(Location {
                path: caller.file().to_owned(),
                line: Some(caller.line()),
                column: None,
                span: None,
            }),
            ..Self::new(
                RunErrorKind::Internal,
                format!("internal invariant violated: {message}"),
            )
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RunError {}

/// The thirteen kinds that an error value's `kind` field can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the book's (Error values)")]
pub enum ErrorKind {
    Lua,
    Internal,
    Cancelled,
    ContextExhausted,
    EmptyModelReply,
    ToolLoopExhausted,
    TasksLive,
    TaskNotOwned,
    TaskConsumed,
    OutOfScopeTool,
    UnboundTool,
    Store,
    Tool,
}

impl ErrorKind {
    /// The text in Lua.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lua => "lua",
            Self::Internal => "internal",
            Self::Cancelled => "cancelled",
            Self::ContextExhausted => "context_exhausted",
            Self::EmptyModelReply => "empty_model_reply",
            Self::ToolLoopExhausted => "tool_loop_exhausted",
            Self::TasksLive => "tasks_live",
            Self::TaskNotOwned => "task_not_owned",
            Self::TaskConsumed => "task_consumed",
            Self::OutOfScopeTool => "out_of_scope_tool",
            Self::UnboundTool => "unbound_tool",
            Self::Store => "store",
            Self::Tool => "tool",
        }
    }
}

/// A budget of a section VM that raises quota errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogQuota {
    /// The number of `log` calls.
    Events,
    /// Their bytes together.
    Bytes,
}

/// The call form that a depth-cap refusal names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallForm {
    /// `call` and `tasks.spawn`.
    Call,
    /// An arm of `tasks.fanout`.
    Fanout,
}

/// The fields of an error value beside `kind` and `message`.
pub type Fields = Vec<(Cow<'static, str>, FieldValue)>;

/// Every way in which an Engine call fails.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failure {
    /// An argument error or another refusal of the author's code; the message is the caller's own fixed text.
    #[error("{0}")]
    Lua(String),
    /// A heading reference that is malformed or names no visible section.
    #[error(transparent)]
    Heading(#[from] HeadingError),
    /// A block's own uncaught error, mapped to prompt lines, with its traceback.
    #[error("{0}")]
    Runtime(String),
    /// A spent log quota. The message is the caught one; [`Failure::run_message`] gives the uncaught one.
    #[error("{}", match .0 { LogQuota::Events => "lua log event budget exceeded", LogQuota::Bytes => "lua log cumulative byte budget exceeded" })]
    LogQuota(LogQuota),
    /// A call, task or arm past the depth cap.
    #[error("{} recursion exceeded cap of {CALL_DEPTH_CAP}", match .0 { CallForm::Call => "call", CallForm::Fanout => "tasks.fanout" })]
    CallDepth(CallForm),
    /// A call stopped by the Host, or the run's cancel.
    #[error("interrupted: the run was cancelled or this call was stopped")]
    Interrupted,
    /// No model is selected for a round.
    #[error("model binding required for section {section}")]
    Binding {
        /// The section whose round had no model.
        section: String,
    },
    /// A model round failed.
    #[error(transparent)]
    Completion(#[from] CompletionError),
    /// A round came back with nothing in it.
    #[error("{message}")]
    EmptyModelReply {
        /// The backend's phrase, or `empty model reply`.
        message: String,
        /// The provider's finish reason, where it gave one.
        finish_reason: Option<String>,
    },
    /// A request does not fit the model's context window.
    #[error("context exhausted: {}", overflow_detail(.reason))]
    ContextExhausted {
        /// `precheck`, `provider`, or a compactor's own reason.
        reason: String,
    },
    /// A loop reached its round cap.
    #[error("tool-call loop did not converge")]
    ToolLoopExhausted,
    /// A chain ended while author tasks that it owns were live.
    #[error("chain ended with author tasks still live: {}; wait on or cancel every task a chain spawns before it ends", joined(.tasks))]
    TasksLive {
        /// The leaked tasks in spawn order.
        tasks: Vec<ChainId>,
    },
    /// A task that the chain does not own, or an id that names none.
    #[error("task `{task}` is not a task this chain owns")]
    TaskNotOwned {
        /// The id as given.
        task: String,
    },
    /// A result that a wait took before.
    #[error("task `{task}` was already delivered: a task's result is taken by one wait")]
    TaskConsumed {
        /// The task.
        task: ChainId,
    },
    /// What a wait hands back for a cancelled task.
    #[error("task `{task}` was cancelled")]
    TaskCancelled {
        /// The task.
        task: ChainId,
    },
    /// The model called a name that its round did not advertise.
    #[error("tool {name:?} is not in this section's scope; in-scope aliases: {scope:?}{}", if *.offered_elsewhere { " (a catalog tool that was not offered in this section)" } else { "" })]
    OutOfScopeTool {
        /// The name as called.
        name: String,
        /// The round's wire names, in order.
        scope: Vec<String>,
        /// Whether the name is the wire name of a tool that the run offers.
        offered_elsewhere: bool,
    },
    /// A script call names no local tool and no catalog tool.
    #[error("tool {name:?} is not a tool in this run; catalog tools: {catalog:?}")]
    UnboundTool {
        /// The name as passed.
        name: String,
        /// The offered tool ids, sorted.
        catalog: Vec<String>,
    },
    /// A Pack's tool failed on a script call.
    #[error("tool call failure: {message}")]
    Tool {
        /// The tool's model-safe message.
        message: String,
    },
    /// The store refused or failed an operation.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// A caught error value raised again after another suspending call: its kind and message, without its origin.
    #[error("{message}")]
    Rebuilt {
        /// The run error kind that its error kind maps to.
        run_kind: RunErrorKind,
        /// The error kind that it keeps.
        kind: ErrorKind,
        /// Its message.
        message: String,
        /// Its kind's fields.
        fields: Fields,
    },
    /// A Pack prelude that cannot install.
    #[error("{0}")]
    Prelude(String),
    /// An invariant of the Engine broke.
    #[error("{0}")]
    Internal(RunError),
}

/// What a context overflow was, in words.
fn overflow_detail(reason: &str) -> &str {
    match reason {
        "precheck" => "the request precheck overflowed the model's context window",
        "provider" => "the provider rejected the request as exceeding the model's context window",
        other => other,
    }
}

fn joined(ids: &[ChainId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Failure {
    /// A refusal of the author's code.
    pub fn lua(message: impl Into<String>) -> Self {
        Self::Lua(message.into())
    }

    /// A model round's failure: an empty reply has a kind of its own, and so has a context overflow once it is the loop's.
    #[must_use]
    pub fn from_completion(error: CompletionError) -> Self {
        if error.kind == CompletionErrorKind::EmptyReply {
            return Self::EmptyModelReply {
                message: error.to_string(),
                finish_reason: error.finish_reason,
            };
        }
        Self::Completion(error)
    }

    /// The kind that Lua reads.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Lua(_)
            | Self::Heading(_)
            | Self::Runtime(_)
            | Self::LogQuota(_)
            | Self::CallDepth(_)
            | Self::Prelude(_) => ErrorKind::Lua,
            Self::Interrupted | Self::TaskCancelled { .. } => ErrorKind::Cancelled,
            Self::Binding { .. } | Self::Completion(_) | Self::Internal(_) => ErrorKind::Internal,
            Self::EmptyModelReply { .. } => ErrorKind::EmptyModelReply,
            Self::ContextExhausted { .. } => ErrorKind::ContextExhausted,
            Self::ToolLoopExhausted => ErrorKind::ToolLoopExhausted,
            Self::TasksLive { .. } => ErrorKind::TasksLive,
            Self::TaskNotOwned { .. } => ErrorKind::TaskNotOwned,
            Self::TaskConsumed { .. } => ErrorKind::TaskConsumed,
            Self::OutOfScopeTool { .. } => ErrorKind::OutOfScopeTool,
            Self::UnboundTool { .. } => ErrorKind::UnboundTool,
            Self::Tool { .. } => ErrorKind::Tool,
            Self::Store(_) => ErrorKind::Store,
            Self::Rebuilt { kind, .. } => *kind,
        }
    }

    /// The fields beside `kind` and `message`.
    #[must_use]
    pub fn fields(&self) -> Fields {
        let text = |name: &'static str, value: String| vec![(name.into(), FieldValue::Str(value))];
        match self {
            Self::ContextExhausted { reason } => text("reason", reason.clone()),
            Self::EmptyModelReply {
                finish_reason: Some(reason),
                ..
            } => text("finish_reason", reason.clone()),
            Self::TasksLive { tasks } => text("tasks", joined(tasks)),
            Self::TaskNotOwned { task } => text("task", task.clone()),
            Self::TaskConsumed { task } | Self::TaskCancelled { task } => text("task", task.to_string()),
            Self::OutOfScopeTool { name, .. } | Self::UnboundTool { name, .. } => text("name", name.clone()),
            Self::Store(failure) => store_fields(failure),
            Self::Rebuilt { fields, .. } => fields.clone(),
            _ => Vec::new(),
        }
    }

    /// The kind of run error that this becomes when nothing catches it. `in_h1` says whether it left the H1 body's own Lua.
    ///
    /// [`Failure::Interrupted`] ends the run as cancelled instead, so it has none.
    #[must_use]
    pub fn run_kind(&self, in_h1: bool) -> Option<RunErrorKind> {
        let lua = if in_h1 {
            RunErrorKind::RequirementsUnmet
        } else {
            RunErrorKind::Lua
        };
        Some(match self {
            Self::Lua(_) | Self::Heading(_) | Self::Runtime(_) => lua,
            Self::LogQuota(_) | Self::CallDepth(_) => RunErrorKind::Quota,
            Self::Interrupted => return None,
            Self::Binding { .. } => RunErrorKind::Binding,
            Self::Completion(_) | Self::EmptyModelReply { .. } => RunErrorKind::Completion,
            Self::ContextExhausted { .. } => RunErrorKind::ContextExhausted,
            Self::ToolLoopExhausted | Self::OutOfScopeTool { .. } | Self::UnboundTool { .. } | Self::Tool { .. } => {
                RunErrorKind::Tool
            }
            Self::TasksLive { .. }
            | Self::TaskNotOwned { .. }
            | Self::TaskConsumed { .. }
            | Self::TaskCancelled { .. }
            | Self::Prelude(_) => RunErrorKind::Lua,
            Self::Store(failure) if failure.is_determinism() => RunErrorKind::Determinism,
            Self::Store(_) => RunErrorKind::Vfs,
            Self::Rebuilt { run_kind, .. } => *run_kind,
            Self::Internal(_) => RunErrorKind::Internal,
        })
    }

    /// Whether running the prompt again may help.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Completion(error) if error.kind.is_retryable())
    }

    /// The message that the failed run reports; the two log quotas word it in their own way.
    #[must_use]
    pub fn run_message(&self) -> String {
        match self {
            Self::LogQuota(LogQuota::Events) => "lua log event quota exceeded".to_owned(),
            Self::LogQuota(LogQuota::Bytes) => "lua log byte quota exceeded".to_owned(),
            other => other.to_string(),
        }
    }
}

/// The fields of a store error value (book: When a store call fails).
fn store_fields(failure: &StoreFailure) -> Fields {
    failure
        .fields()
        .into_iter()
        .map(|(name, value)| {
            let value = match value {
                runvil_vfs::FieldValue::Text(text) => FieldValue::Str(text),
                runvil_vfs::FieldValue::Count(n) => FieldValue::Int(n),
            };
            (name.into(), value)
        })
        .collect()
}
