//! The calls of one model round, one step at a time (book: Tool-call batches; Calls that run alone).

use std::sync::Arc;

use runvil_lua::{
    Nulls,
    mlua::{self, AnyUserData, IntoLuaMulti, Lua, MultiValue, Table, Value},
};

use super::{count, internal, set};
use crate::{
    EventKind, Failure, RunError,
    conversation::{RoundCall, RoundCalls},
    globals::{arguments, read_var},
    request::Request,
    section::SectionContext,
    tasks::{AllowedTargets, BuiltinCall, TaskRequest, is_builtin},
    tools::{CatalogCall, CatalogTool, ToolRequest},
};

pub(super) fn install(lua: &Lua, context: &Arc<SectionContext>, natives: &Table) -> mlua::Result<()> {
    set(lua, context, natives, "next_call", |lua, context, given| {
        with_calls(&given, |calls, place| next_call(lua, context, calls, place))
    })?;
    set(lua, context, natives, "answered", |_, context, given| {
        let text = given
            .get(2)
            .and_then(Value::as_string)
            .map(mlua::LuaString::to_string_lossy);
        let served = given.get(3).and_then(Value::as_boolean).unwrap_or_default();
        with_calls(&given, |calls, place| {
            builtin_answered(context, calls, place, text.clone().unwrap_or_default(), served);
            Ok(())
        })
    })
}

/// Borrows the round's calls and reads the 0-based place that follow in the arguments.
fn with_calls<R>(
    given: &MultiValue,
    with: impl FnOnce(&RoundCalls, usize) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let calls = given
        .front()
        .and_then(Value::as_userdata)
        .map(AnyUserData::borrow::<RoundCalls>);
    let place = given
        .get(1)
        .and_then(Value::as_usize)
        .and_then(|place| place.checked_sub(1));
    match (calls, place) {
        (Some(Ok(calls)), Some(place)) => with(&calls, place),
        _ => Err(Failure::Internal(RunError::internal(
            "the calls of a round are read by their place",
        ))),
    }
}

/// What comes next: nothing, catalog calls that run together, a local tool, or a task built-in.
fn next_call(lua: &Lua, context: &SectionContext, round: &RoundCalls, place: usize) -> Result<MultiValue, Failure> {
    let Some(call) = round.calls.get(place) else {
        return Ok(MultiValue::new());
    };
    if is_builtin(&call.name) {
        let request = Request::Task(TaskRequest::Builtin(Box::new(builtin(lua, context, call)?)));
        return ("built-in", request).into_lua_multi(lua).map_err(internal);
    }
    if context.state().tools.has_local(&call.name) {
        count(lua, context, &call.name)?;
        let arguments = serde_json::Value::Object(call.arguments.clone());
        let arguments = runvil_lua::from_json(lua, &arguments, Nulls::Kept).map_err(internal)?;
        let step = ("local", call.name.as_str(), arguments, call.id.as_str(), round.turn);
        return step.into_lua_multi(lua).map_err(internal);
    }
    let mut together = Vec::new();
    for call in &round.calls[place..] {
        let Some(tool) = bound(context, call) else { break };
        count(lua, context, &tool.id)?;
        together.push(CatalogCall::new(
            tool,
            call.arguments.clone().into(),
            &call.id,
            round.turn,
        ));
    }
    let request = Request::Tool(ToolRequest::Batch(together));
    ("batch", request).into_lua_multi(lua).map_err(internal)
}

/// The catalog tool that a call names; `None` for a call that runs alone.
fn bound<'a>(context: &'a SectionContext, call: &RoundCall) -> Option<&'a CatalogTool> {
    if is_builtin(&call.name) || context.state().tools.has_local(&call.name) {
        return None;
    }
    let catalog = &context.run.catalog;
    catalog.by_wire_name(&call.name).and_then(|id| catalog.tool(id))
}

fn builtin(lua: &Lua, context: &SectionContext, call: &RoundCall) -> Result<BuiltinCall, Failure> {
    let allowed = context.state().tools.allowed.clone().unwrap_or(AllowedTargets::Any);
    Ok(BuiltinCall {
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        allowed,
        args: arguments::of_child(lua, context, None)?,
        var: Arc::new(read_var(lua, context)?),
    })
}

fn builtin_answered(context: &SectionContext, round: &RoundCalls, place: usize, content: String, served: bool) {
    let Some(call) = round.calls.get(place) else { return };
    context.report(if served {
        EventKind::ToolCallSucceeded
    } else {
        EventKind::ToolCallFailed
    });
    context.report(EventKind::ToolResult {
        turn: round.turn,
        tool_call_id: call.id.clone(),
        alias: call.name.clone(),
        tool: None,
        trusted: true,
        content,
    });
}
