//! The Engine globals of a section VM, one file for each (book: The Engine globals).

mod arguments;
mod check;
mod compactors;
mod control;
mod data;
mod facts;
mod libraries;
mod log;
mod messages;
mod models;
mod preludes;
mod prompt_reads;
mod prose;
mod state;
mod store;
mod suspending;
mod tasks;
mod tools;
mod when;

use std::sync::Arc;

use runvil_lua::{
    Nulls, Vm,
    mlua::{self, IntoLuaMulti},
};

pub(crate) use arguments::{Arguments, Seeds, current as current_arguments};
pub(crate) use check::{string, type_name, whole_number};
pub(crate) use libraries::{Libraries, end_all as end_library_loads};
pub(crate) use preludes::{installed as preludes_installed, prelude_failure, start as preludes};
pub(crate) use prose::PendingProse;
pub(crate) use state::read_var;
use suspending::Suspending;

use crate::{section::SectionContext, untrusted};

/// Installs every Engine global of a section entry, in the book's order.
pub(crate) fn install(vm: &Vm, context: &Arc<SectionContext>, var: &serde_json::Value) -> mlua::Result<()> {
    let lua = vm.lua();
    let globals = lua.globals();
    arguments::install(vm, context)?;
    state::install_var(lua, var)?;
    facts::install(lua, context)?;
    log::install(lua, context)?;
    let suspending = Suspending::new(vm)?;
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
    vm.lazy_helper(&["tools", "packs"], &tools::TOOLS, tools::natives(lua, context)?)?;
    libraries::install(vm, context)
}
