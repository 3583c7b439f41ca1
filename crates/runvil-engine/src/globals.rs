//! The Engine globals of a section VM, one file for each (book: The Engine globals).

mod arguments;
mod check;
mod control;
mod libraries;
mod prose;

use std::sync::Arc;

use runvil_lua::{Block, BlockFailure, Vm, mlua};
use serde_json::Value;

pub(crate) use arguments::{Arguments, Seeds};
pub(crate) use control::section_target;
pub(crate) use libraries::Libraries;
pub(crate) use prose::PendingProse;

use crate::{Failure, section::SectionContext};

/// Installs every Engine global of a section entry, in the book's order.
pub(crate) fn install(vm: &Vm, context: &Arc<SectionContext>, var: Value) -> mlua::Result<()> {
    let _ = var;
    control::install(vm, context)
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
pub(crate) fn read_var(_lua: &mlua::Lua, _context: &SectionContext) -> Result<Value, Failure> {
    Ok(Value::Object(serde_json::Map::new()))
}
