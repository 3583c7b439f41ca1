//! `call` and `jump` (book: Jump and call).

use std::sync::Arc;

use runvil_lua::{
    Helper, Vm,
    mlua::{self, MultiValue, Value},
};

use super::{
    check::{optional_string, type_name},
    read_var,
};
use crate::{
    Failure,
    prompt::HeadingError,
    request::{CallRequest, Request},
    section::SectionContext,
};

static CONTROL: Helper = Helper::new("runvil/control.lua", include_str!("../lua/control.lua"));

/// Installs both control functions.
pub(super) fn install(vm: &Vm, context: &Arc<SectionContext>) -> mlua::Result<()> {
    let lua = vm.lua();
    let globals = lua.globals();
    let request = lua.create_function({
        let context = Arc::clone(context);
        move |lua, arguments| call_request(lua, &context, &arguments).map_err(mlua::Error::from)
    })?;
    let [call]: [Value; 1] = take(vm.load_helper(&CONTROL, request)?);
    globals.raw_set("call", call)?;
    let context = Arc::clone(context);
    globals.raw_set(
        "jump",
        lua.create_function(move |_, target: Value| jump(&context, &target))?,
    )
}

/// The first values of a helper's result.
fn take<const N: usize>(values: MultiValue) -> [Value; N] {
    let mut values = values.into_iter();
    std::array::from_fn(|_| values.next().unwrap_or(Value::Nil))
}

/// Checks `call(target, input?)` and takes the called chain's copy of `var`.
fn call_request(
    lua: &mlua::Lua,
    context: &SectionContext,
    arguments: &MultiValue,
) -> Result<Request, Failure> {
    let target = section_target(arguments.front())?;
    let input = optional_string("input", arguments.get(1))?;
    let var = read_var(lua, context)?;
    Ok(Request::Call(CallRequest { target, input, var }))
}

/// A heading reference as a Lua string; the look-up comes later.
pub(crate) fn section_target(value: Option<&Value>) -> Result<String, Failure> {
    match value {
        Some(Value::String(text)) => Ok(text.to_string_lossy()),
        other => Err(HeadingError::NotAString(other.map_or("nil", type_name).to_owned()).into()),
    }
}

/// Records the target and ends the block. The block's end looks the target up.
fn jump(context: &SectionContext, target: &Value) -> mlua::Result<()> {
    let target = section_target(Some(target))?;
    context.state().jump = Some(target);
    Err(Failure::lua("jump transfer").into())
}
