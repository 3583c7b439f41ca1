//! Tasks: sections that run as their own chains beside the chain that spawned them (book: Tasks).

mod builtin;
mod cancel;
mod end;
mod fanout;
mod model;
mod notice;
mod schedule;
mod slots;
mod spawn;
mod status;
mod table;
mod wait;

use std::{sync::Arc, time::Duration};

use serde_json::Value;

pub(crate) use builtin::{builtin_schemas, is_builtin};
pub(crate) use model::{AllowedTargets, BuiltinCall};
pub(crate) use notice::Notice;
pub(crate) use slots::Slots;
pub(crate) use table::Tasks;

use crate::{
    ChainId, Failure, TaskOrigin,
    globals::Arguments,
    request::Asked,
    run::{Reply, Run},
};

/// What a chain waits for, as a status shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// A model round.
    Chat,
    /// A tool call.
    ToolCall,
    /// A store operation.
    Store,
    /// Other tasks.
    Tasks,
    /// A chain that it started with `call`.
    Call,
    /// A concurrency slot.
    Queued,
}

impl Waiting {
    /// The value of a status table's `blocked`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::ToolCall => "tool_call",
            Self::Store => "store",
            Self::Tasks => "tasks",
            Self::Call => "call",
            Self::Queued => "queued",
        }
    }
}

/// A task operation of a block. Its arguments were checked by the native that made it.
pub(crate) enum TaskRequest {
    /// `tasks.spawn`.
    Spawn(Box<SpawnRequest>),
    /// `tasks.fanout`.
    Fanout(Box<FanoutRequest>),
    /// `tasks.join_any`.
    JoinAny(WaitRequest),
    /// `tasks.join`.
    Join(WaitRequest),
    /// `tasks.cancel`.
    Cancel(ChainId),
    /// `tasks.ready`.
    Ready(ChainId),
    /// `tasks.status`.
    Status(ChainId),
    /// `tasks.pending`, narrowed to one origin or not.
    Pending(Option<TaskOrigin>),
    /// `tasks.note`.
    Note(String),
    /// `tasks.concurrency`, which sets the limit where it has one.
    Concurrency(Option<u64>),
    /// A call that the model made of a task built-in.
    Builtin(Box<BuiltinCall>),
}

/// What a new task starts from.
pub(crate) struct SpawnRequest {
    /// The heading reference as given.
    pub(crate) target: String,
    /// The argument string that replaces the owner's, for the start event.
    pub(crate) input: Option<String>,
    /// The arguments of its chain.
    pub(crate) args: Arc<Arguments>,
    pub(crate) item: Option<Value>,
    pub(crate) index: Option<i64>,
    /// The copy of the owner's `var`.
    pub(crate) var: Arc<Value>,
}

/// A worker section and the members that its arms run for.
pub(crate) struct FanoutRequest {
    pub(crate) target: String,
    pub(crate) args: Arc<Arguments>,
    /// One member for each arm, up to the first that has no JSON form.
    pub(crate) members: Vec<Value>,
    /// The refusal of that member.
    pub(crate) refused: Option<Failure>,
    pub(crate) var: Arc<Value>,
}

/// The tasks that a wait names, in order, and how long it may last.
pub(crate) struct WaitRequest {
    pub(crate) set: Vec<ChainId>,
    pub(crate) timeout: Option<Seconds>,
}

/// A checked time limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seconds {
    /// As given, for what a model reads.
    seconds: f64,
    limit: Duration,
}

/// A number that is no time limit, as it was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("timeout must be a non-negative finite number of seconds, got {0}")]
pub(crate) struct NotADuration(String);

impl Seconds {
    /// Takes a number of seconds that a duration can hold.
    pub(crate) fn new(seconds: f64) -> Result<Self, NotADuration> {
        match Duration::try_from_secs_f64(seconds) {
            Ok(limit) => Ok(Self { seconds, limit }),
            Err(_) => Err(NotADuration(seconds.to_string())),
        }
    }

    /// Takes a whole number of seconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "past 2^53 seconds, one more makes no difference to a wait"
    )]
    pub(crate) fn whole(seconds: i64) -> Result<Self, NotADuration> {
        Self::new(seconds as f64).map_err(|_| NotADuration(seconds.to_string()))
    }

    /// The limit in whole milliseconds, a started one counting whole. A limit past the range is the longest one.
    fn millis(self) -> u64 {
        u64::try_from(self.limit.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl Run {
    /// Serves a task operation. Only waits park their chain.
    pub(crate) fn serve_task(&mut self, id: &ChainId, request: TaskRequest) -> Asked {
        let reply = match request {
            TaskRequest::Spawn(spawn) => self.spawn(id, *spawn, TaskOrigin::Author).map(handle),
            TaskRequest::Fanout(fanout) => return self.fan_out(id, *fanout),
            TaskRequest::JoinAny(wait) => return self.join_any(id, wait),
            TaskRequest::Join(wait) => return self.join(id, wait),
            TaskRequest::Cancel(task) => self.cancel(id, &task).map(|()| Reply::Nothing),
            TaskRequest::Ready(task) => self
                .tasks
                .owned(id, &task)
                .map(|task| Reply::Json(task.has_ended().into())),
            TaskRequest::Status(task) => self.status(id, &task).map(status::StatusReport::into_reply),
            TaskRequest::Pending(origin) => Ok(handles(self.tasks.live(id, origin))),
            TaskRequest::Note(text) => {
                let task = self.chain(id).task.clone();
                self.tasks.note(&task, text);
                Ok(Reply::Nothing)
            }
            TaskRequest::Concurrency(limit) => Ok(Reply::Json(self.concurrency(id, limit).into())),
            TaskRequest::Builtin(call) => return self.task_builtin(id, *call),
        };
        Asked::Now(reply.unwrap_or_else(Reply::Raise))
    }
}

/// A task handle as Lua reads it.
fn handle(task: ChainId) -> Reply {
    Reply::build(move |lua| {
        let handle = lua.create_table_from([("task", task.to_string())])?;
        runvil_lua::mlua::IntoLuaMulti::into_lua_multi(handle, lua)
    })
}

/// A sequence of task handles.
fn handles(tasks: Vec<ChainId>) -> Reply {
    Reply::build(move |lua| {
        let handles = lua.create_table_with_capacity(tasks.len(), 0)?;
        for task in tasks {
            handles.raw_push(lua.create_table_from([("task", task.to_string())])?)?;
        }
        runvil_lua::mlua::IntoLuaMulti::into_lua_multi(handles, lua)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_a_non_negative_finite_number() {
        for (seconds, millis) in [
            (0.0, 0),
            (0.05, 50),
            (0.07, 70),
            (1.5, 1500),
            (30.0, 30_000),
            (0.0001, 1),
        ] {
            assert_eq!(Seconds::new(seconds).map(Seconds::millis), Ok(millis));
        }
        for (refused, text) in [
            (-1.0, "-1"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
            (1e20, "100000000000000000000"),
        ] {
            let error = Seconds::new(refused).expect_err("refused");
            assert_eq!(
                error.to_string(),
                format!("timeout must be a non-negative finite number of seconds, got {text}")
            );
        }
    }
}
