//! The Engine globals of a section VM, one file for each (book: The Engine globals).

mod arguments;
mod check;
mod compactors;
mod control;
mod data;
mod facts;
mod libraries;
mod messages;
mod models;
mod prompt_reads;
mod prose;
mod store;
mod suspending;
mod tasks;
mod when;

use std::sync::Arc;

use runvil_lua::{
    Block, BlockFailure, Nulls, Vm,
    mlua::{self, IntoLuaMulti, Lua, Value},
};

pub(crate) use arguments::{Arguments, Seeds, current as current_arguments};
pub(crate) use check::{string, type_name, whole_number};
pub(crate) use libraries::{Libraries, end_all as end_library_loads};
pub(crate) use prose::PendingProse;
use suspending::Suspending;

use crate::{Failure, section::SectionContext, untrusted};

/// Installs every Engine global of a section entry, in the book's order.
pub(crate) fn install(vm: &Vm, context: &Arc<SectionContext>, var: &serde_json::Value) -> mlua::Result<()> {
    let lua = vm.lua();
    let globals = lua.globals();
    arguments::install(vm, context)?;
    globals.raw_set("var", runvil_lua::from_json(lua, var, Nulls::Kept)?)?;
    let own = Arc::clone(context);
    let sys = lua.create_table()?;
    let meta = lua.create_table()?;
    meta.raw_set("__index", lua.create_function(move |lua, (_, key): (Value, String)| {
        match facts::get(&own, &key) {
            Some(value) => runvil_lua::from_json(lua, &value, Nulls::Kept),
            None => Err(mlua::Error::runtime(format!("unknown sys field '{key}'"))),
        }
    })?)?;
    sys.set_metatable(Some(meta))?;
    globals.raw_set("sys", sys)?;
    let suspending = Suspending::new(vm)?;
    let own = Arc::clone(context);
    globals.raw_set("log", lua.create_function(move |_, message: String| {
        own.report(crate::EventKind::Lua { message });
        Ok(())
    })?)?;
    prose::install(vm, context)?;
    if let Some(ui) = &context.run.facts.ui {
        let ui = ui.clone();
        globals.raw_set("ui", lua.create_function(move |lua, ()| runvil_lua::from_json(lua, &ui, Nulls::Dropped))?)?;
    }
    if let Some(item) = context.seeds.as_ref().and_then(|seeds| seeds.item.as_ref()) {
        globals.raw_set("item", runvil_lua::from_json(lua, item, Nulls::Kept)?)?;
    }
    let own = Arc::clone(context);
    globals.raw_set("untrusted", lua.create_function(move |_, text: String| Ok(untrusted::wrap(&own.run.nonce, &text)))?)?;
    control::install(vm, &suspending, context)?;
    let own = Arc::clone(context);
    vm.lazy_globals(&["prompt"], move |lua| prompt_reads::table(lua, &own)?.into_lua_multi(lua))?;
    let wrap = suspending.clone();
    vm.lazy_globals(&["store"], move |lua| store::table(lua, &wrap)?.into_lua_multi(lua))?;
    let natives = tasks::natives(lua, context)?;
    vm.lazy_helper(&["tasks"], &tasks::TASKS, natives.into_lua_multi(lua)?)?;
    messages::install(vm, context)?;
    models::install(vm, context)?;
    libraries::install(vm, context)
}

/// The coroutine that installs the Pack preludes, where the run has any.
pub(crate) fn preludes(_vm: &Vm, _context: &SectionContext) -> Result<Option<Block>, Failure> {
    Ok(None)
}

/// What the failure of a prelude is to the run.
pub(crate) fn prelude_failure(_context: &SectionContext, raised: BlockFailure) -> Failure {
    Failure::from_block(raised)
}

/// Reads a section's `var` back as JSON data.
pub(crate) fn read_var(lua: &Lua, _context: &SectionContext) -> Result<serde_json::Value, Failure> {
    let value: Value = lua.globals().raw_get("var").map_err(|error| Failure::lua(error.to_string()))?;
    runvil_lua::to_json(lua, &value, "var").map_err(|error| Failure::lua(error.to_string()))
}
