//! The `tools` and `packs` tables (book: Tool objects and Pack objects).

mod batch;
mod calls;
mod local;
mod objects;
mod offer;

use std::sync::Arc;

use runvil_lua::{
    Helper,
    mlua::{self, Function, IntoLuaMulti, Lua, MultiValue, Table, Value},
};

use super::facts;
use crate::{Failure, section::SectionContext};

/// The Lua half of the tables.
pub(super) static TOOLS: Helper = Helper::new("runvil/tools.lua", include_str!("../lua/tools.lua"));

/// Registry slot of the function that runs the calls of a model round.
const BATCH: &str = "runvil.tools.batch";

/// What the helper is given.
pub(super) fn natives(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<MultiValue> {
    let natives = lua.create_table()?;
    let packs = lua.create_table()?;
    objects::install(lua, context, &natives, &packs)?;
    offer::install(lua, context, &natives, &packs)?;
    calls::install(lua, context, &natives)?;
    local::install(lua, context, &natives)?;
    batch::install(lua, context, &natives)?;
    let bind = lua.create_function(|lua, run: Function| lua.set_named_registry_value(BATCH, run))?;
    natives.raw_set("bind", bind)?;
    (natives, packs).into_lua_multi(lua)
}

/// A native that gives the Lua function that runs the calls of one model round: it takes a
/// [`crate::conversation::RoundCalls`] and returns a sequence of the result texts in call order, or raises what ends
/// the loop. A round has calls only once `tools` was used, which binds it.
pub(crate) fn batch_runner(lua: &Lua) -> mlua::Result<Function> {
    lua.create_function(|lua, ()| lua.named_registry_value::<Function>(BATCH))
}

/// Sets a native that the section's context goes into.
fn set<R: IntoLuaMulti>(
    lua: &Lua,
    context: &Arc<SectionContext>,
    table: &Table,
    name: &str,
    native: impl Fn(&Lua, &Arc<SectionContext>, MultiValue) -> Result<R, Failure> + Send + 'static,
) -> mlua::Result<()> {
    let context = Arc::clone(context);
    table.raw_set(
        name,
        lua.create_function(move |lua, given| Ok(native(lua, &context, given)?))?,
    )
}

/// Counts a call, and serves `sys.model` from the first one on.
fn count(lua: &Lua, context: &SectionContext, name: &str) -> Result<(), Failure> {
    context.state().count_call(&context.run, name);
    facts::add_model(lua, context).map_err(internal)
}

/// The sequence part of a table: the values from index 1 up to the first nil, through a guard too.
fn sequence(table: &Table) -> Result<Vec<Value>, Failure> {
    let mut values = Vec::new();
    loop {
        match table.get(values.len() + 1).map_err(internal)? {
            Value::Nil => return Ok(values),
            value => values.push(value),
        }
    }
}

/// An error of the VM itself, such as one of its memory.
#[allow(clippy::needless_pass_by_value, reason = "`map_err` hands the error over")]
fn internal(error: mlua::Error) -> Failure {
    Failure::lua(error.to_string())
}
