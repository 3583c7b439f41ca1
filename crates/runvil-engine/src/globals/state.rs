//! `var`: the state that one chain keeps from section to section (book: Keeping state in `var`).

use runvil_lua::{
    State,
    mlua::{self, Lua, Table},
};
use serde_json::Value;

use crate::{Failure, RunError, section::SectionContext};

/// Installs `var` as the chain left it.
pub(super) fn install_var(lua: &Lua, var: &Value) -> mlua::Result<()> {
    let state = State::install(lua, "var", var)?;
    lua.set_app_data(state);
    Ok(())
}

/// The view of `var` that prelude code has.
pub(super) fn var_view(lua: &Lua) -> mlua::Result<Table> {
    state(lua)?.read_only_view(lua)
}

/// Reads a section's `var` back as JSON data.
pub(crate) fn read_var(lua: &Lua, _context: &SectionContext) -> Result<Value, Failure> {
    let state = state(lua).map_err(|error| Failure::Internal(RunError::internal(error)))?;
    state.read_back(lua).map_err(|error| Failure::lua(error.to_string()))
}

fn state(lua: &Lua) -> mlua::Result<State> {
    let state = lua.app_data_ref::<State>();
    state
        .map(|state| state.clone())
        .ok_or_else(|| mlua::Error::runtime("a section VM has its `var`"))
}
