//! The requests that a block makes by yielding, read out of Lua once, and the module that serves each.

use runvil_lua::mlua::{self, MultiValue, UserData, Value};
use runvil_vfs::StoreOp;

use std::sync::Arc;

use crate::{
    ChainId,
    conversation::RoundRequest,
    globals::Arguments,
    run::{Reply, Run},
    tasks::TaskRequest,
    tools::ToolRequest,
};

/// How a request is answered.
pub(crate) enum Asked {
    /// At once: the block goes on.
    Now(Reply),
    /// Later: the chain waits.
    Later,
}

impl From<Reply> for Asked {
    fn from(reply: Reply) -> Self {
        Self::Now(reply)
    }
}

/// One request of a block. Its arguments were checked by the Lua that made it.
pub(crate) enum Request {
    Call(CallRequest),
    Round(RoundRequest),
    Tool(ToolRequest),
    Store(StoreOp),
    Task(TaskRequest),
}

/// `call(target, input?)`: where the called chain starts, and with what arguments and copy of `var`.
pub(crate) struct CallRequest {
    pub(crate) target: String,
    pub(crate) args: Arc<Arguments>,
    pub(crate) var: serde_json::Value,
}

impl Run {
    /// Serves one request of a chain's running block.
    pub(crate) fn serve(&mut self, id: &ChainId, request: Request) -> Asked {
        match request {
            Request::Call(call) => self.call(id, call),
            Request::Round(round) => self.start_round(id, round),
            Request::Tool(tool) => self.serve_tool(id, tool),
            Request::Store(op) => self.start_store(id, op),
            Request::Task(task) => self.serve_task(id, task),
        }
    }
}

impl Request {
    /// Takes the request out of what a block yielded.
    pub(crate) fn read(mut values: MultiValue) -> mlua::Result<Self> {
        match values.pop_front() {
            Some(Value::UserData(request)) => request.take(),
            other => Err(mlua::Error::runtime(format!(
                "expected a request, got {}",
                other.as_ref().map_or("nothing", Value::type_name)
            ))),
        }
    }
}

/// A native of the section VM checks its arguments, and gives the request to the Lua that yields it.
impl UserData for Request {}
