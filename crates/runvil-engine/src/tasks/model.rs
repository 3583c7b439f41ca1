//! The task built-ins: the four tools with which a model starts and manages tasks (book: Giving the model task tools).

use std::sync::Arc;

use runvil_lua::mlua::IntoLuaMulti;
use serde_json::{Map, Value};

use super::{Seconds, SpawnRequest, wait::WaitKind};
use crate::{
    ChainId, Failure, InvalidChainId, TaskOrigin,
    globals::Arguments,
    request::Asked,
    run::{Reply, Run},
};

/// The targets that a section lets its model start tasks on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AllowedTargets {
    /// Any section that the section's chain can resolve.
    Any,
    /// These heading references, trimmed.
    Listed(Vec<String>),
}

impl AllowedTargets {
    /// Whether a target may be started. Only white space around it does not count.
    fn allow(&self, target: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(headings) => headings.iter().any(|heading| heading == target.trim()),
        }
    }
}

/// One call of a built-in by the model.
pub(crate) struct BuiltinCall {
    /// One of the four names.
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
    /// The section's allowlist.
    pub(crate) allowed: AllowedTargets,
    /// The arguments of the section's chain.
    pub(crate) args: Arc<Arguments>,
    /// The copy of the section's `var`.
    pub(crate) var: Arc<Value>,
}

/// Why a built-in refuses a call. The model reads it as the call's result.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("task: `target` must be a string naming a section heading, such as `## Research`")]
    Target,
    #[error("task: `input` must be a string when given")]
    Input,
    #[error("task: target `{target}` is not allowed; allowed targets: {}", .allowed.join(", "))]
    NotAllowed { target: String, allowed: Vec<String> },
    #[error("task: {0}")]
    Start(Failure),
    #[error("{name}: `id` must be a task id string, exactly as `task` returned it")]
    IdType { name: String },
    #[error(
        "{name}: `{id}` is not a task id: required a dot-separated path of decimal components; use the id `task` returned"
    )]
    Id { name: String, id: String },
    #[error("{name}: no model task with id {id}")]
    Unknown { name: String, id: ChainId },
    #[error("await_tasks: `timeout` must be a non-negative number of seconds when given")]
    Timeout,
}

/// The model's wait for the tasks that it started.
pub(super) struct Awaiting {
    tasks: Vec<ChainId>,
    timeout: Option<Seconds>,
}

impl Awaiting {
    pub(super) fn tasks(&self) -> &[ChainId] {
        &self.tasks
    }
}

impl Run {
    /// Answers a built-in's call with its text, and whether it was served.
    pub(super) fn task_builtin(&mut self, id: &ChainId, call: BuiltinCall) -> Asked {
        let answer = match call.name.as_str() {
            "task" => self.start_model_task(id, call),
            "task_cancel" => self.model_task(id, &call).map(|task| {
                self.tasks.get_mut(&task).noticed = true;
                self.cancel_task(&task);
                format!("Task id={task} cancelled")
            }),
            "task_status" => self.model_task(id, &call).map(|task| self.report_of(&task).line(&task)),
            _ => return self.await_tasks(id, &call),
        };
        Asked::Now(answered(answer))
    }

    fn start_model_task(&mut self, id: &ChainId, call: BuiltinCall) -> Result<String, Refusal> {
        let Some(Value::String(target)) = call.arguments.get("target") else {
            return Err(Refusal::Target);
        };
        let input = match call.arguments.get("input") {
            None | Some(Value::Null) => None,
            Some(Value::String(input)) => Some(input.clone()),
            Some(_) => return Err(Refusal::Input),
        };
        if !call.allowed.allow(target) {
            let AllowedTargets::Listed(allowed) = call.allowed else {
                return Err(Refusal::Target);
            };
            return Err(Refusal::NotAllowed {
                target: target.clone(),
                allowed,
            });
        }
        let args = match &input {
            Some(input) => {
                let declared = &self.shared.prompt.tree().frontmatter.args;
                Arc::new(Arguments::derive(declared, input.clone()))
            }
            None => call.args,
        };
        let spawn = SpawnRequest {
            target: target.clone(),
            input,
            args,
            item: None,
            index: None,
            var: call.var,
        };
        let task = self.spawn(id, spawn, TaskOrigin::Model).map_err(Refusal::Start)?;
        Ok(format!("Task id={task} started"))
    }

    /// The task that a call names, if the model of this chain started it.
    fn model_task(&mut self, id: &ChainId, call: &BuiltinCall) -> Result<ChainId, Refusal> {
        let name = call.name.clone();
        let Some(Value::String(text)) = call.arguments.get("id") else {
            return Err(Refusal::IdType { name });
        };
        let task = match text.parse() {
            Ok(task) => task,
            Err(InvalidChainId { text }) => return Err(Refusal::Id { name, id: text }),
        };
        match self.tasks.owned(id, &task) {
            Ok(found) if found.origin == TaskOrigin::Model => Ok(task),
            _ => Err(Refusal::Unknown { name, id: task }),
        }
    }

    /// `await_tasks`: answers at once with what waits already, or parks until a model task ends or the time runs out.
    fn await_tasks(&mut self, id: &ChainId, call: &BuiltinCall) -> Asked {
        let timeout = match call.arguments.get("timeout") {
            None | Some(Value::Null) => None,
            Some(seconds) => match seconds.as_f64().map(Seconds::new) {
                Some(Ok(seconds)) => Some(seconds),
                _ => return Asked::Now(answered(Err(Refusal::Timeout))),
            },
        };
        let waiting = self.take_notices(id);
        if !waiting.is_empty() {
            return Asked::Now(answered(Ok(waiting.join("\n"))));
        }
        let tasks = self.tasks.live(id, Some(TaskOrigin::Model));
        if tasks.is_empty() && timeout.is_none() {
            return Asked::Now(answered(Ok("nothing to wait for".to_owned())));
        }
        let timer = timeout.map(|limit| self.start_timer(id, limit));
        self.wait(id, WaitKind::Model(Awaiting { tasks, timeout }), timer)
    }

    /// What a woken `await_tasks` answers.
    pub(super) fn conclude_await(&mut self, id: &ChainId, awaiting: &Awaiting, timed_out: bool) -> Reply {
        let mut lines = self.take_notices(id);
        if timed_out {
            let running: Vec<_> = self
                .tasks
                .live(id, Some(TaskOrigin::Model))
                .iter()
                .filter(|task| awaiting.tasks.contains(task))
                .map(ToString::to_string)
                .collect();
            match (awaiting.tasks.is_empty(), awaiting.timeout) {
                (true, Some(Seconds { seconds, .. })) => lines.push(format!("slept {seconds} seconds")),
                _ if !running.is_empty() => {
                    lines.push(format!("timed out; tasks {} still running", running.join(", ")));
                }
                _ => {}
            }
        }
        answered(Ok(lines.join("\n")))
    }
}

/// The answer's text, and whether the call was served.
fn answered(answer: Result<String, Refusal>) -> Reply {
    let served = answer.is_ok();
    let text = answer.unwrap_or_else(|refusal| refusal.to_string());
    Reply::build(move |lua| (text, served).into_lua_multi(lua))
}
