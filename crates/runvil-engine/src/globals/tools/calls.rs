//! `tools.call` and `tools.calls` (book: Calling tools from Lua and counting calls).

use std::sync::Arc;

use runvil_lua::{
    Nulls,
    mlua::{self, IntoLuaMulti, Lua, MultiValue, Table, Value},
};
use serde_json::Map;

use super::{count, internal, objects, set};
use crate::{
    Failure,
    globals::{check::type_name, data},
    request::Request,
    section::SectionContext,
    tasks::is_builtin,
    tools::{CatalogCall, Loading, ToolRequest},
};

/// A call, or a read of a count, that is refused.
#[derive(Debug, thiserror::Error)]
enum CallRefusal {
    #[error("tools.call takes a tool id, a local alias, or a tool object, got {0}")]
    NotATool(&'static str),
    #[error("args must be a table, got {0}")]
    Arguments(&'static str),
    #[error("args must be a JSON-representable table: {0}")]
    ArgumentContents(String),
    #[error("tools.call is unavailable while a prelude loads")]
    InPrelude,
    #[error("tools.calls is read-only")]
    ReadOnly,
    #[error("tools.calls: {key:?} has no seeded count; seeded names: {seeded:?}{hint}")]
    NoCount {
        key: String,
        seeded: Vec<String>,
        hint: &'static str,
    },
}

impl From<CallRefusal> for Failure {
    fn from(refusal: CallRefusal) -> Self {
        Self::Lua(refusal.to_string())
    }
}

pub(super) fn install(lua: &Lua, context: &Arc<SectionContext>, natives: &Table) -> mlua::Result<()> {
    set(lua, context, natives, "prepare", |lua, context, given| {
        prepare(lua, context, &given)
    })?;
    set(lua, context, natives, "turn", |_, context, _| {
        Ok(context.run.turns(&context.task))
    })?;
    set(lua, context, natives, "count", |_, context, given| {
        read_count(context, given.get(1))
    })?;
    set(lua, context, natives, "refuse_count", |_, _, _| {
        Err::<(), _>(CallRefusal::ReadOnly.into())
    })
}

/// Checks a script call and counts it: gives the request for a catalog tool, the alias and a fresh arguments table for
/// a local one.
fn prepare(lua: &Lua, context: &SectionContext, given: &MultiValue) -> Result<MultiValue, Failure> {
    let tool = given.front().unwrap_or(&Value::Nil);
    let name = objects::tool_id(tool).ok_or_else(|| CallRefusal::NotATool(type_name(tool)))?;
    let arguments = arguments(lua, given.get(1))?;
    let catalog = &context.run.catalog;
    let loading = context.state().tools.loading;
    if let Loading::Prelude(place) | Loading::CalledTool(place) = loading {
        context.state().tools.loading = Loading::CalledTool(place);
        return Err(CallRefusal::InPrelude.into());
    }
    if is_builtin(&name) {
        return Err(unbound(context, name));
    }
    if context.state().tools.has_local(&name) {
        count(lua, context, &name)?;
        let arguments = runvil_lua::from_json(lua, &arguments.into(), Nulls::Kept).map_err(internal)?;
        return (name, arguments).into_lua_multi(lua).map_err(internal);
    }
    let Some(tool) = catalog.tool(&name) else {
        return Err(unbound(context, name));
    };
    count(lua, context, &name)?;
    let turn = context.run.turns(&context.task);
    let call = CatalogCall::new(tool, arguments.into(), "", turn);
    Request::Tool(ToolRequest::Script(call))
        .into_lua_multi(lua)
        .map_err(internal)
}

fn unbound(context: &SectionContext, name: String) -> Failure {
    Failure::UnboundTool {
        name,
        catalog: context.run.catalog.offered_ids(),
    }
}

/// The arguments object of a script call.
fn arguments(lua: &Lua, value: Option<&Value>) -> Result<Map<String, serde_json::Value>, CallRefusal> {
    match value {
        None | Some(Value::Nil) => Ok(Map::new()),
        Some(table @ Value::Table(_)) => match data::convert(lua, table, "args") {
            Ok(serde_json::Value::Object(arguments)) => Ok(arguments),
            Ok(_) => Err(CallRefusal::ArgumentContents(
                "args must have named keys, got a list".to_owned(),
            )),
            Err(problem) => Err(CallRefusal::ArgumentContents(problem.to_string())),
        },
        Some(other) => Err(CallRefusal::Arguments(type_name(other))),
    }
}

/// A count of `tools.calls`.
fn read_count(context: &SectionContext, key: Option<&Value>) -> Result<u64, Failure> {
    let key = match key {
        Some(Value::String(key)) => key.to_string_lossy(),
        Some(Value::Integer(key)) => key.to_string(),
        Some(Value::Number(key)) => key.to_string(),
        other => other.map_or("nil", type_name).to_owned(),
    };
    let state = context.state();
    let counts = state.tools.counts();
    if let Some(count) = counts.and_then(|counts| counts.get(&key)) {
        return Ok(*count);
    }
    let seeded: Vec<_> = counts.into_iter().flat_map(|counts| counts.keys()).cloned().collect();
    let hint = if context.run.catalog.offered(&key).is_some() {
        " (a catalog tool that was neither offered in this section nor called with tools.call)"
    } else if seeded.is_empty() {
        ""
    } else {
        " - check for typos or offer it with tools.offer"
    };
    Err(CallRefusal::NoCount { key, seeded, hint }.into())
}
