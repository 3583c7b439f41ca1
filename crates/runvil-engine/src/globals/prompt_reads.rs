//! `prompt.section` and `prompt.list` (book: Reading sections with `prompt.section` and `prompt.list`).

use std::sync::Arc;

use runvil_lua::mlua::{self, Lua, Table, Value};
use runvil_syntax::Section;

use super::control::section_target;
use crate::{Failure, section::SectionContext};

/// A read that the named section cannot serve.
#[derive(Debug, thiserror::Error)]
#[error("section `{heading}` has no pre-parsed items")]
struct NoItems {
    /// The heading as given, trimmed.
    heading: String,
}

/// Makes the `prompt` table.
pub(super) fn table(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 2)?;
    let own = Arc::clone(context);
    table.raw_set(
        "section",
        lua.create_function(move |lua, target: Value| {
            read(&own, &target, |section| {
                lua.create_string(&section.markdown).map(Value::String)
            })
        })?,
    )?;
    let own = Arc::clone(context);
    table.raw_set(
        "list",
        lua.create_function(move |lua, target: Value| {
            read(&own, &target, |section| match &section.items {
                Some(items) => lua
                    .create_sequence_from(items.iter().map(String::as_str))
                    .map(Value::Table),
                None => Err(Failure::lua(
                    NoItems {
                        heading: trimmed(&target),
                    }
                    .to_string(),
                )
                .into()),
            })
        })?,
    )?;
    Ok(table)
}

/// Looks a visible section up and reads it; a miss is nil.
fn read(
    context: &SectionContext,
    target: &Value,
    value: impl FnOnce(&Section) -> mlua::Result<Value>,
) -> mlua::Result<Value> {
    let heading = section_target(Some(target))?;
    let prompt = &context.run.prompt;
    match prompt
        .visible_from(context.section)
        .find(&heading)
        .map_err(Failure::from)?
    {
        Some(id) => value(&prompt.tree()[id]),
        None => Ok(Value::Nil),
    }
}

fn trimmed(target: &Value) -> String {
    section_target(Some(target)).unwrap_or_default().trim().to_owned()
}
