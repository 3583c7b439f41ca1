//! Run events: what a run reports, in order (book: Run events and records).

use runvil_vfs::OpName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChainId, RoundId, effect::present};

/// Where an event stands: which task reports it, and its number within that task's own sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The reporting task; `0` is the main walk, and parse events count to it.
    pub task: ChainId,
    /// Counted from 0 within the task. A task that starts counts to its owner, at the moment it gets a slot; but for those
    /// events, the order hangs on nothing that other tasks do.
    pub sequence: u64,
}

/// One thing that happened during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The run's name.
    pub execution: String,
    /// The name of the section that reports it; `Prompt` for parse events, the H1 title for run events and the H1 pass.
    pub section: String,
    /// Who reports it.
    pub provenance: Provenance,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Who started a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOrigin {
    /// The prompt's Lua.
    Author,
    /// The model, through its `task` tool.
    Model,
}

impl TaskOrigin {
    /// The lowercase tag that Lua reads and writes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Author => "author",
            Self::Model => "model",
        }
    }
}

/// Why a task was abandoned (book: Abandon reasons).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbandonReason {
    /// The owner ended normally.
    OwnerReturned,
    /// The owner failed with its own error.
    OwnerFailed,
    /// The owner's loop ran past its round cap.
    ToolLoopExhausted,
    /// The owner was stopped from outside.
    OwnerAborted,
    /// The run itself ended.
    RunTerminated,
}

impl AbandonReason {
    /// The phrase that a notice carries.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::OwnerReturned => "the section ended",
            Self::OwnerFailed => "the owner failed",
            Self::ToolLoopExhausted => "the tool loop was exhausted",
            Self::OwnerAborted => "the owner was aborted",
            Self::RunTerminated => "the run ended",
        }
    }
}

/// Which kind of round produced a content event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyOrigin {
    /// A loop round.
    Chat,
    /// An infer round.
    Infer,
}

/// One call of an `assistant_tool_calls` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The model's call id.
    pub id: String,
    /// The name that the model used.
    pub name: String,
    /// The tool id behind the wire name of a bound tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The decoded arguments.
    pub arguments: Value,
}

/// What happened. Each kind's name is its event name in snake case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "the names are the book's; fields are documented where the name does not say it"
)]
pub enum EventKind {
    ParseStarted,
    ParseSucceeded,
    ParseFailed,
    LuaCompilationStarted,
    LuaCompilationSucceeded,
    LuaCompilationFailed,
    RunStarted,
    RunSucceeded,
    RunFailed,
    SectionStarted,
    SectionFinished,
    LuaChunkStarted,
    LuaChunkSucceeded,
    LuaChunkFailed,
    LuaTeardownStarted,
    LuaTeardownSucceeded,
    LuaLibraryLoadStarted {
        /// The library's heading reference.
        library: String,
    },
    LuaLibraryLoadSucceeded {
        library: String,
    },
    LuaLibraryLoadFailed {
        library: String,
    },
    /// A `log` checkpoint.
    Lua {
        message: String,
    },
    VfsReadSucceeded,
    VfsReadFailed,
    VfsReadNumberedSucceeded,
    VfsReadNumberedFailed,
    VfsWriteSucceeded,
    VfsWriteFailed,
    VfsAppendSucceeded,
    VfsAppendFailed,
    VfsReplaceSucceeded,
    VfsReplaceFailed,
    VfsDeleteSucceeded,
    VfsDeleteFailed,
    VfsExistsSucceeded,
    VfsExistsFailed,
    VfsGlobSucceeded,
    VfsGlobFailed,
    /// A served model round, an empty reply included.
    ModelTurnCompleted {
        turn: u32,
        round: RoundId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<String>,
        /// An empty reply's message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    ModelTurnFailed {
        round: RoundId,
        message: String,
    },
    ModelTurnTruncated {
        turn: u32,
        round: RoundId,
    },
    ModelMetadataDegraded {
        turn: u32,
        message: String,
    },
    Thinking {
        text: String,
        turn: u32,
        round: RoundId,
        origin: ReplyOrigin,
        /// The name of the model that the request was sent to.
        model: String,
    },
    AssistantReply {
        text: String,
        turn: u32,
        round: RoundId,
        origin: ReplyOrigin,
        model: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<String>,
        /// What the provider reported, unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        metrics: Option<Value>,
    },
    AssistantToolCalls {
        turn: u32,
        round: RoundId,
        origin: ReplyOrigin,
        model: String,
        calls: Vec<RequestedCall>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        metrics: Option<Value>,
    },
    /// What a request adds to the messages that the list sent before (book: the run log's chat record).
    Chat {
        round: RoundId,
        model: String,
        /// How many messages of the last request on the list this one keeps.
        kept: usize,
        /// The messages after those.
        messages: Vec<crate::wire::Message>,
    },
    ToolScopeValidationStarted,
    ToolScopeValidationSucceeded,
    ToolScopeValidationFailed,
    /// A call that Lua makes to a bound tool.
    ToolCall {
        tool: String,
        alias: String,
        arguments: Value,
    },
    ToolCallSucceeded,
    ToolCallFailed,
    ToolResult {
        turn: u32,
        /// Empty for a script call.
        tool_call_id: String,
        /// The name that the call used.
        alias: String,
        /// The tool id of a bound tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        trusted: bool,
        content: String,
    },
    TaskStarted {
        task: ChainId,
        /// The target section's name without its markers.
        target: String,
        origin: TaskOrigin,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        item: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<i64>,
        var: Value,
    },
    TaskSucceeded {
        task: ChainId,
    },
    TaskFailed {
        task: ChainId,
    },
    TaskCancelled {
        task: ChainId,
    },
    TaskAbandoned {
        task: ChainId,
        reason: AbandonReason,
    },
    TaskNotice {
        task: ChainId,
        /// The owner's round count.
        turn: u32,
        notice: String,
    },
    /// The raw request body of a round, in debug mode.
    Request {
        round: RoundId,
        body: Value,
    },
    /// The raw response body of a round, in debug mode.
    Response {
        round: RoundId,
        body: Value,
    },
}

impl EventKind {
    /// The one event of a store call. It holds nothing of path or content.
    #[must_use]
    pub fn store(operation: OpName, succeeded: bool) -> Self {
        match (operation, succeeded) {
            (OpName::Read, true) => Self::VfsReadSucceeded,
            (OpName::Read, false) => Self::VfsReadFailed,
            (OpName::ReadNumbered, true) => Self::VfsReadNumberedSucceeded,
            (OpName::ReadNumbered, false) => Self::VfsReadNumberedFailed,
            (OpName::Write, true) => Self::VfsWriteSucceeded,
            (OpName::Write, false) => Self::VfsWriteFailed,
            (OpName::Append, true) => Self::VfsAppendSucceeded,
            (OpName::Append, false) => Self::VfsAppendFailed,
            (OpName::StrReplace, true) => Self::VfsReplaceSucceeded,
            (OpName::StrReplace, false) => Self::VfsReplaceFailed,
            (OpName::Delete, true) => Self::VfsDeleteSucceeded,
            (OpName::Delete, false) => Self::VfsDeleteFailed,
            (OpName::Exists, true) => Self::VfsExistsSucceeded,
            (OpName::Exists, false) => Self::VfsExistsFailed,
            (OpName::Glob, true) => Self::VfsGlobSucceeded,
            (OpName::Glob, false) => Self::VfsGlobFailed,
        }
    }
}
