//! Tool objects and Pack objects: frozen, and one for each tool and Pack of a section VM.

use std::sync::Arc;

use runvil_lua::mlua::{
    self, AnyUserData, IntoLua, Lua, MetaMethod, MultiValue, Table, UserData, UserDataMethods, Value,
};

use super::{internal, set};
use crate::{Failure, globals::check::type_name, run::RunShared, section::SectionContext, tools::pack_of};

/// Registry slots of the objects by id.
const TOOLS: &str = "runvil.tools.objects";
const PACKS: &str = "runvil.packs.objects";

/// A catalog tool that the run offers, as Lua holds it.
pub(super) struct ToolObject {
    run: Arc<RunShared>,
    pub(super) id: String,
}

/// A Pack that the run knows, as Lua holds it.
pub(super) struct PackObject {
    run: Arc<RunShared>,
    pub(super) id: String,
}

impl UserData for ToolObject {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, tool, key: Value| {
            match key.as_string().map(mlua::LuaString::to_string_lossy).as_deref() {
                Some("id") => tool.id.as_str().into_lua(lua),
                Some("description") => tool
                    .run
                    .catalog
                    .offered(&tool.id)
                    .map(|found| found.description.as_str())
                    .into_lua(lua),
                Some("pack") => pack_object(lua, &tool.run, pack_of(&tool.id))?.into_lua(lua),
                _ => Ok(Value::Nil),
            }
        });
        methods.add_meta_method(MetaMethod::NewIndex, |_, _, (key, _): (Value, Value)| {
            frozen("Tool", &key)
        });
        methods.add_meta_method(MetaMethod::ToString, |_, tool, ()| Ok(format!("Tool {}", tool.id)));
    }
}

impl UserData for PackObject {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, pack, key: Value| {
            match key.as_string().map(mlua::LuaString::to_string_lossy).as_deref() {
                Some("name") => pack.id.as_str().into_lua(lua),
                Some("tools") => {
                    let tools = pack.run.catalog.pack(&pack.id).map(|pack| pack.tools.as_slice());
                    tool_list(lua, &pack.run, tools.unwrap_or_default())?.into_lua(lua)
                }
                _ => Ok(Value::Nil),
            }
        });
        methods.add_meta_method(MetaMethod::NewIndex, |_, _, (key, _): (Value, Value)| {
            frozen("Pack", &key)
        });
        methods.add_meta_method(MetaMethod::ToString, |_, pack, ()| Ok(format!("Pack {}", pack.id)));
    }
}

fn frozen(what: &str, key: &Value) -> mlua::Result<()> {
    let key = match key {
        Value::String(name) => name.to_string_lossy(),
        Value::Integer(index) => index.to_string(),
        other => type_name(other).to_owned(),
    };
    Err(mlua::Error::runtime(format!(
        "{what} objects are frozen: cannot assign field {key:?}"
    )))
}

/// The section VM's one object for an offered tool.
fn tool_object(lua: &Lua, run: &Arc<RunShared>, id: &str) -> mlua::Result<AnyUserData> {
    shared(lua, TOOLS, id, || ToolObject {
        run: Arc::clone(run),
        id: id.to_owned(),
    })
}

/// The section VM's one object for a Pack; nil for one that cannot serve the run.
fn pack_object(lua: &Lua, run: &Arc<RunShared>, id: &str) -> mlua::Result<Option<AnyUserData>> {
    let known = run.catalog.pack(id);
    known
        .map(|_| {
            shared(lua, PACKS, id, || PackObject {
                run: Arc::clone(run),
                id: id.to_owned(),
            })
        })
        .transpose()
}

fn shared<T: UserData + Send + Sync + 'static>(
    lua: &Lua,
    slot: &str,
    id: &str,
    make: impl FnOnce() -> T,
) -> mlua::Result<AnyUserData> {
    let objects = match lua.named_registry_value::<Option<Table>>(slot)? {
        Some(objects) => objects,
        None => {
            let objects = lua.create_table()?;
            lua.set_named_registry_value(slot, &objects)?;
            objects
        }
    };
    if let Some(object) = objects.raw_get::<Option<AnyUserData>>(id)? {
        return Ok(object);
    }
    let object = lua.create_userdata(make())?;
    objects.raw_set(id, &object)?;
    Ok(object)
}

fn tool_list(lua: &Lua, run: &Arc<RunShared>, ids: &[String]) -> mlua::Result<Table> {
    let list = lua.create_table_with_capacity(ids.len(), 0)?;
    for id in ids {
        list.raw_push(tool_object(lua, run, id)?)?;
    }
    Ok(list)
}

/// Installs the look-ups and the lists.
pub(super) fn install(lua: &Lua, context: &Arc<SectionContext>, tools: &Table, packs: &Table) -> mlua::Result<()> {
    set(lua, context, tools, "get", |lua, context, given| {
        get_tool(lua, context, &given)
    })?;
    set(lua, context, packs, "get", |lua, context, given| {
        get_pack(lua, context, &given)
    })?;
    for (name, declared) in [("required", true), ("extras", false)] {
        set(lua, context, tools, name, move |lua, context, _| {
            let catalog = &context.run.catalog;
            let is_listed = |id: &String| catalog.pack(pack_of(id)).is_some_and(|pack| pack.declared) == declared;
            let ids: Vec<_> = catalog.offered_ids().into_iter().filter(is_listed).collect();
            tool_list(lua, &context.run, &ids).map_err(internal)
        })?;
        set(lua, context, packs, name, move |lua, context, _| {
            let known = context
                .run
                .catalog
                .packs()
                .filter(|(_, pack)| pack.declared == declared);
            let objects = known.map(|(id, _)| pack_object(lua, &context.run, id));
            let objects = objects.collect::<mlua::Result<Vec<_>>>().map_err(internal)?;
            lua.create_sequence_from(objects).map_err(internal)
        })?;
    }
    Ok(())
}

fn get_tool(lua: &Lua, context: &SectionContext, given: &MultiValue) -> Result<Option<AnyUserData>, Failure> {
    let id = looked_up("tools.get takes a tool id", given)?;
    let known = context.run.catalog.offered(&id);
    known
        .map(|_| tool_object(lua, &context.run, &id))
        .transpose()
        .map_err(internal)
}

fn get_pack(lua: &Lua, context: &SectionContext, given: &MultiValue) -> Result<Option<AnyUserData>, Failure> {
    let id = looked_up("packs.get takes a Pack id", given)?;
    pack_object(lua, &context.run, &id).map_err(internal)
}

fn looked_up(takes: &str, given: &MultiValue) -> Result<String, Failure> {
    match given.front() {
        Some(Value::String(id)) => Ok(id.to_string_lossy()),
        other => Err(Failure::lua(format!("{takes}, got {}", other.map_or("nil", type_name)))),
    }
}

/// The tool id that a string or a Tool object names.
pub(super) fn tool_id(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.to_string_lossy()),
        Value::UserData(object) => object.borrow::<ToolObject>().ok().map(|tool| tool.id.clone()),
        _ => None,
    }
}

/// The Pack that a Pack object stands for.
pub(super) fn pack_of_object(value: &Value) -> Option<String> {
    value
        .as_userdata()
        .and_then(|object| object.borrow::<PackObject>().ok())
        .map(|pack| pack.id.clone())
}
