//! `tools.offer_local` and what surrounds a handler (book: Defining local tools with `tools.offer_local`; How local
//! tool handlers run).

use std::{collections::BTreeMap, sync::Arc};

use runvil_lua::{
    Text,
    mlua::{self, Function, IntoLuaMulti, Lua, MetaMethod, MultiValue, Table, UserData, UserDataMethods, Value},
};

use super::{internal, offer, set};
use crate::{
    EventKind, Failure,
    chain::result_text,
    globals::{
        check::{string, type_name},
        data,
    },
    section::SectionContext,
    tools::{Parameter, ParameterFault, parameters},
    wire::ToolSchema,
};

pub(super) fn install(lua: &Lua, context: &Arc<SectionContext>, natives: &Table) -> mlua::Result<()> {
    set(lua, context, natives, "define", |lua, context, given| {
        define(lua, context, &given)?.into_lua_multi(lua).map_err(internal)
    })?;
    set(lua, context, natives, "enter", |lua, context, _| {
        {
            let mut state = context.state();
            let loads = state.libraries.depth();
            state.tools.enter_handler(loads);
        }
        lua.create_userdata(RunningHandler(Arc::clone(context)))
            .map_err(internal)
    })?;
    set(lua, context, natives, "accept", |_, context, given| {
        accept(context, &given)
    })
}

/// Defines a local tool; gives its alias and its handler.
fn define(lua: &Lua, context: &SectionContext, given: &MultiValue) -> Result<(String, Function), Failure> {
    offer::check_open(context, "tools.offer_local")?;
    let alias = string("alias", given.front())?;
    let description = string("description", given.get(1))?;
    let params = match given.get(2) {
        Some(Value::Table(params)) => params,
        other => return Err(wrong_type("params must be a table", other)),
    };
    let handler = match given.get(3) {
        Some(Value::Function(handler)) => handler.clone(),
        other => return Err(wrong_type("handler must be a function", other)),
    };
    runvil_syntax::check_alias(&alias).map_err(|invalid| Failure::lua(invalid.to_string()))?;
    let taken = || Failure::lua(format!("tools.offer_local alias {alias:?} is already registered"));
    if context.state().tools.has_local(&alias) {
        return Err(taken());
    }
    let schema = declared(lua, params)?;
    let schema = ToolSchema::new(alias.clone(), description, schema);
    if context.state().tools.define(schema) {
        Ok((alias, handler))
    } else {
        Err(taken())
    }
}

fn wrong_type(expected: &str, got: Option<&Value>) -> Failure {
    Failure::lua(format!("{expected}, got {}", got.map_or("nil", type_name)))
}

/// Reads the params table into its schema.
fn declared(lua: &Lua, params: &Table) -> Result<serde_json::Value, Failure> {
    let mut declared = BTreeMap::new();
    for (key, spec) in runvil_lua::ordered_pairs(&data::unguarded(lua, params)).map_err(internal)? {
        let Value::String(name) = &key else {
            return Err(fault(&ParameterFault::Name(type_name(&key))));
        };
        let name = name.to_string_lossy();
        let parameter = match &spec {
            Value::String(kind) => Parameter {
                kind: kind.to_string_lossy(),
                description: None,
            },
            Value::Table(spec) => {
                let spec = data::unguarded(lua, spec);
                let kind: Value = spec.raw_get(1).map_err(internal)?;
                let description: Value = spec.raw_get(2).map_err(internal)?;
                Parameter {
                    kind: kind_of(&kind)?,
                    description: match &description {
                        Value::Nil => None,
                        given => Some(description_of(&name, given)?),
                    },
                }
            }
            _ => return Err(fault(&ParameterFault::Spec(name))),
        };
        declared.insert(name, parameter);
    }
    parameters(&declared).map_err(|refused| fault(&refused))
}

/// The type that a spec table leads with.
fn kind_of(first: &Value) -> Result<String, Failure> {
    match first {
        Value::String(kind) => Ok(kind.to_string_lossy()),
        other => Err(fault(&ParameterFault::First(type_name(other)))),
    }
}

fn description_of(name: &str, value: &Value) -> Result<String, Failure> {
    match value {
        Value::String(text) => Ok(text.to_string_lossy()),
        other => Err(fault(&ParameterFault::Description {
            name: name.to_owned(),
            got: type_name(other),
        })),
    }
}

fn fault(fault: &ParameterFault) -> Failure {
    Failure::lua(fault.to_string())
}

/// A handler that has not returned. Lua closes it when the handler is left, however that happens.
struct RunningHandler(Arc<SectionContext>);

impl UserData for RunningHandler {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Close, |_, RunningHandler(context), raised: Value| {
            context.state().tools.leave_handler();
            if !raised.is_nil() && !context.run.cancel.is_cancelled() {
                context.report(EventKind::ToolCallFailed);
            }
            Ok(())
        });
    }
}

/// Takes what a handler returned as the call's result: `(alias, call id, round, value)`.
fn accept(context: &SectionContext, given: &MultiValue) -> Result<Text<String>, Failure> {
    let text = |place: usize| {
        given
            .get(place)
            .and_then(Value::as_string)
            .map(mlua::LuaString::to_string_lossy)
    };
    let (alias, tool_call_id) = (text(0).unwrap_or_default(), text(1).unwrap_or_default());
    let turn = given.get(2).and_then(Value::as_u32).unwrap_or_default();
    let content = match result_text(given.get(3).unwrap_or(&Value::Nil)) {
        Ok(text) => text.unwrap_or_default(),
        Err(kind) => return Err(Failure::lua(format!("cannot return a {kind} as a result"))),
    };
    context.report(EventKind::ToolCallSucceeded);
    let result = EventKind::ToolResult {
        turn,
        tool_call_id,
        alias,
        tool: None,
        trusted: true,
        content: content.clone(),
    };
    context.report(result);
    Ok(Text(content))
}
