//! Model handles: a frozen binding with two methods (book: Model handles).

use std::sync::Arc;

use runvil_lua::mlua::{
    self, FromLuaMulti, Function, IntoLua, Lua, MetaMethod, MultiValue, UserData, UserDataMethods, Value,
};

use crate::{Failure, globals::type_name, models::Model};

/// A handle, as Lua holds it.
pub(super) struct Handle(pub(super) Arc<Model>);

/// The methods of every handle of a VM.
struct Methods {
    infer: Function,
    run_loop: Function,
}

/// Why a handle refuses an access.
#[derive(Debug, thiserror::Error)]
enum HandleFault {
    #[error("unknown model handle field {0}")]
    Unknown(String),
    #[error("model handles are frozen: cannot assign field {0}")]
    Frozen(String),
}

impl From<HandleFault> for mlua::Error {
    fn from(fault: HandleFault) -> Self {
        Failure::lua(fault.to_string()).into()
    }
}

/// Keeps the methods of a VM's handles, before the first handle is made.
pub(super) fn bind(lua: &Lua, methods: MultiValue) -> mlua::Result<()> {
    let (infer, run_loop) = FromLuaMulti::from_lua_multi(runvil_lua::entries(lua, methods)?, lua)?;
    lua.set_app_data(Methods { infer, run_loop });
    Ok(())
}

/// The model of a handle, `None` for any other value.
pub(super) fn model_of(value: Option<&Value>) -> Option<Arc<Model>> {
    let handle = value?.as_userdata()?.borrow::<Handle>().ok()?;
    Some(Arc::clone(&handle.0))
}

impl UserData for Handle {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, handle, key: Value| read(lua, &handle.0, &key));
        methods.add_meta_method(MetaMethod::NewIndex, |_, _, (key, _): (Value, Value)| {
            Err::<(), _>(HandleFault::Frozen(shown(&key)).into())
        });
    }
}

/// A field name as messages show it.
fn shown(key: &Value) -> String {
    match key {
        Value::String(name) => format!("{:?}", name.to_string_lossy()),
        other => format!("of type {}", type_name(other)),
    }
}

fn read(lua: &Lua, model: &Model, key: &Value) -> mlua::Result<Value> {
    let unknown = || HandleFault::Unknown(shown(key));
    let Value::String(name) = key else {
        return Err(unknown().into());
    };
    match &*name.as_bytes() {
        b"name" | b"label" => model.label.as_str().into_lua(lua),
        b"model_id" => model.name().into_lua(lua),
        b"description" => model.description.as_str().into_lua(lua),
        b"context" => model.context.into_lua(lua),
        b"capabilities" => model.capabilities.as_slice().into_lua(lua),
        b"provider" => model.provider.as_deref().into_lua(lua),
        b"thinking" => model.thinking.into_lua(lua),
        b"temperature" => model.sampling.temperature.into_lua(lua),
        b"max_tokens" => model.sampling.max_tokens.into_lua(lua),
        b"infer" => method(lua, |methods| &methods.infer),
        b"loop" => method(lua, |methods| &methods.run_loop),
        _ => Err(unknown().into()),
    }
}

fn method(lua: &Lua, which: impl Fn(&Methods) -> &Function) -> mlua::Result<Value> {
    let methods = lua.app_data_ref::<Methods>();
    let methods = methods.expect("methods are bound before a handle is made");
    Ok(Value::Function(which(&methods).clone()))
}
