//! The Engine globals of a section VM, one file for each (book: The Engine globals).

mod arguments;
mod check;
mod compactors;
mod control;
pub(crate) mod data;
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
mod tasks;
mod tools;
mod unfinished;
mod when;

use std::sync::Arc;

use runvil_lua::{
    Helper, Nulls, Text, Vm,
    mlua::{self, IntoLuaMulti, Lua, LuaString, MultiValue},
};

pub(crate) use arguments::{Arguments, Seeds, current as current_arguments};
pub(crate) use check::{string, type_name, whole_number};
pub(crate) use libraries::Libraries;
pub(crate) use preludes::{installed as preludes_installed, prelude_failure, start as preludes};
pub(crate) use prose::PendingProse;
pub(crate) use state::read_var;
pub(crate) use unfinished::{end_library_loads, end_unfinished};

use crate::{section::SectionContext, untrusted};

/// The globals that a helper makes at the first use of one of them, and the natives that it asks for.
const MADE_BY_HELPERS: [(&[&str], &Helper); 6] = [
    (&["call", "jump"], &control::CONTROL),
    (&["store"], &store::STORE),
    (&["tasks"], &tasks::TASKS),
    (&["models", "compactors"], &models::LOOP),
    (&["tools", "packs"], &tools::TOOLS),
    (&["require"], &libraries::REQUIRE),
];

/// Installs every Engine global of a section entry. Most are made at their first use: an entry pays for what it uses.
pub(crate) fn install(vm: &Vm, context: &Arc<SectionContext>, var: &serde_json::Value) -> mlua::Result<()> {
    let lua = vm.lua();
    arguments::install(vm, context)?;
    state::install_var(lua, var)?;
    prose::install(vm, context)?;
    messages::install(vm, context)?;
    if let Some(item) = context.seeds.as_ref().and_then(|seeds| seeds.item.as_ref()) {
        lua.globals()
            .raw_set("item", runvil_lua::from_json(lua, item, Nulls::Kept)?)?;
    }
    let own = Arc::clone(context);
    let natives = lua.create_function(move |lua, room: LuaString| natives(lua, &own, &room.to_string_lossy()))?;
    let natives = natives.into_lua_multi(lua)?;
    for (names, helper) in MADE_BY_HELPERS {
        vm.lazy_helper(names, helper, natives.clone())?;
    }
    let own = Arc::clone(context);
    vm.lazy_globals(&["sys"], move |lua| facts::table(lua, &own)?.into_lua_multi(lua))?;
    let own = Arc::clone(context);
    vm.lazy_globals(&["log"], move |lua| log::function(lua, &own)?.into_lua_multi(lua))?;
    let own = Arc::clone(context);
    vm.lazy_globals(&["prompt"], move |lua| {
        prompt_reads::table(lua, &own)?.into_lua_multi(lua)
    })?;
    let own = Arc::clone(context);
    vm.lazy_globals(&["untrusted"], move |lua| {
        let own = Arc::clone(&own);
        let wrap = move |_: &Lua, text: String| Ok(Text(untrusted::wrap(&own.run.nonce, &text)));
        lua.create_function(wrap)?.into_lua_multi(lua)
    })?;
    if context.run.facts.ui.is_some() {
        let own = Arc::clone(context);
        vm.lazy_globals(&["ui"], move |lua| {
            let ui = own.run.facts.ui.clone();
            lua.create_function(move |lua, ()| {
                ui.as_ref()
                    .map(|ui| runvil_lua::from_json(lua, ui, Nulls::Dropped))
                    .transpose()
            })?
            .into_lua_multi(lua)
        })?;
    }
    Ok(())
}

/// What a helper's globals build on, by the name under which it asks.
fn natives(lua: &Lua, context: &Arc<SectionContext>, room: &str) -> mlua::Result<MultiValue> {
    match room {
        "control" => control::natives(lua, context),
        "store" => store::natives(lua)?.into_lua_multi(lua),
        "tasks" => tasks::natives(lua, context)?.into_lua_multi(lua),
        "models" => models::natives(lua, context),
        "tools" => tools::natives(lua, context),
        "require" => libraries::natives(lua, context),
        other => Err(mlua::Error::runtime(format!("no natives are called {other}"))),
    }
}
