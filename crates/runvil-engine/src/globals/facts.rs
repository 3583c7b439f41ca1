//! `sys`: the facts that the run keeps about itself (book: Run facts in `sys` and `ui`).

use runvil_lua::{
    Nulls, Seal,
    mlua::{self, Lua, Table},
};
use serde_json::{Map, Value};

use super::when;
use crate::section::SectionContext;

/// How `sys` shows itself.
const SEAL: Seal<'_> = Seal {
    protection: "sys is sealed",
    refusal: "sys is read-only; cannot set",
    quotes_every_field: true,
};

/// What a read of a field that is not there raises, up to its name.
const UNKNOWN: &str = "unknown sys field";

/// What a read by a key that is no string raises.
const NO_NAME: &str = "sys fields must be accessed by string key";

/// Registry slot of the fields of a VM's `sys`.
const FIELDS: &str = "runvil.sys";

/// Makes `sys`.
pub(super) fn table(lua: &Lua, context: &SectionContext) -> mlua::Result<Table> {
    let fields = lua.create_table()?;
    for (name, value) in all(context).as_object().into_iter().flatten() {
        fields.raw_set(name.as_str(), runvil_lua::from_json(lua, value, Nulls::Kept)?)?;
    }
    let sealed = SEAL.fields(lua, &fields, UNKNOWN, NO_NAME)?;
    lua.set_named_registry_value(FIELDS, fields)?;
    Ok(sealed)
}

/// Adds `sys.model`, where the section has one from its first tool call on.
pub(super) fn add_model(lua: &Lua, context: &SectionContext) -> mlua::Result<()> {
    let fields = lua.named_registry_value::<Option<Table>>(FIELDS)?;
    match (fields, context.state().tools.model()) {
        (Some(fields), Some(model)) => fields.raw_set("model", model),
        _ => Ok(()),
    }
}

/// One field of `sys`, `None` where there is none now.
pub(crate) fn get(context: &SectionContext, field: &str) -> Option<Value> {
    let run = &context.run;
    Some(match field {
        "when" => when::render(run.facts.started_at).into(),
        "id" => context.id.as_str().into(),
        "taskid" => context.task.to_string().into(),
        "section_name" => context.name.as_str().into(),
        "execution" => run.facts.name.as_str().into(),
        "section_count" => run.prompt.tree().top_level.len().into(),
        "index" => context.seeds.as_ref()?.index?.into(),
        "model" => context.state().tools.model()?.into(),
        _ => return None,
    })
}

/// Every field that there is now.
pub(crate) fn all(context: &SectionContext) -> Value {
    const FIELDS: [&str; 8] = [
        "when",
        "id",
        "taskid",
        "section_name",
        "execution",
        "section_count",
        "index",
        "model",
    ];
    let fields = FIELDS
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), get(context, field)?)));
    Value::Object(fields.collect::<Map<_, _>>())
}
