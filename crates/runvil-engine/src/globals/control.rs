//! `call` and `jump` (book: Jump and call).

use std::sync::Arc;

use runvil_lua::{
    Helper,
    mlua::{self, IntoLuaMulti, Lua, MultiValue, Value},
};

use super::{
    arguments,
    check::{optional_string, type_name},
    read_var,
};
use crate::{
    Failure,
    prompt::HeadingError,
    request::{CallRequest, Request},
    section::SectionContext,
};

/// Why `jump` cannot take place, and what its own unwinding says.
#[derive(Debug, thiserror::Error)]
enum JumpRefusal {
    #[error(
        "jump is unavailable inside a local tool handler: return a value from the handler and call jump from the block after the tool call returns"
    )]
    InHandler,
    #[error(
        "jump is unavailable while a library loads: return a value from the library and call jump from the section after require returns"
    )]
    InLibrary,
    #[error("jump transfer")]
    Transfer,
}

/// The Lua half of both.
pub(super) static CONTROL: Helper = Helper::new("runvil/control.lua", include_str!("../lua/control.lua"));

/// The native that makes the request of a `call`, and `jump`.
pub(super) fn natives(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<MultiValue> {
    let own = Arc::clone(context);
    let call = lua.create_function(move |lua, given| Ok(call_request(lua, &own, &given)?))?;
    let own = Arc::clone(context);
    let jump = lua.create_function(move |_, target: Value| jump(&own, &target))?;
    (call, jump).into_lua_multi(lua)
}

/// Checks `call(target, input?)` and takes the called chain's copy of `var` and of the arguments.
fn call_request(lua: &Lua, context: &SectionContext, given: &MultiValue) -> Result<Request, Failure> {
    let target = section_target(given.front())?;
    let input = optional_string("input", given.get(1))?;
    let args = arguments::of_child(lua, context, input)?;
    let var = read_var(lua, context)?;
    Ok(Request::Call(CallRequest { target, args, var }))
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
    let mut state = context.state();
    let refusal = if state.tools.in_handler() {
        JumpRefusal::InHandler
    } else if state.libraries.is_loading() {
        JumpRefusal::InLibrary
    } else {
        state.jump = Some(target);
        JumpRefusal::Transfer
    };
    Err(Failure::Lua(refusal.to_string()).into())
}
