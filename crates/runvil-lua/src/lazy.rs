//! Globals that are made at their first use.
//!
//! Nothing an author can do tells such a global from one that was there from the start: reading it makes it,
//! walking `_G` makes all of them, and assigning it first makes nothing (book: Listing globals).

use std::sync::Arc;

use mlua::{Lua, MultiValue, Value};

use crate::raw::{self, Shared};

/// Makes the values of a group's names, in their order.
type Make = Arc<dyn Fn(&Lua) -> mlua::Result<MultiValue> + Send + Sync>;

#[derive(Clone)]
struct Group {
    names: &'static [&'static str],
    make: Make,
}

/// The groups of a VM that are not made yet.
#[derive(Default)]
struct Groups(Vec<Group>);

/// Declares globals that `make` makes together when the first of them is used.
pub(crate) fn declare(
    lua: &Lua,
    names: &'static [&'static str],
    make: impl Fn(&Lua) -> mlua::Result<MultiValue> + Send + Sync + 'static,
) -> mlua::Result<()> {
    let materialize = match raw::materializer(lua)? {
        Some(function) => function,
        None => lua.create_function(|lua, name: Option<String>| materialize(lua, name.as_deref()))?,
    };
    raw::serve_lazily(lua, names, &materialize)?;
    let group = Group {
        names,
        make: Arc::new(make),
    };
    let mut groups = lua.remove_app_data::<Groups>().unwrap_or_default();
    groups.0.push(group);
    lua.set_app_data(groups);
    Shared::of(lua).set_lazy_globals(true);
    Ok(())
}

/// Makes the group of `name`, or every group; returns the value of `name`.
fn materialize(lua: &Lua, name: Option<&str>) -> mlua::Result<Value> {
    let mut found = Value::Nil;
    for group in pending(lua, name) {
        let values = (group.make)(lua)?;
        let function = raw::materializer(lua)?;
        for (&global, value) in group.names.iter().zip(values) {
            if let Some(function) = &function {
                raw::settle(lua, global, &value, function)?;
            }
            if name == Some(global) {
                found = value;
            }
        }
        forget(lua, group.names);
    }
    Ok(found)
}

/// Makes every lazy global that is left.
pub(crate) fn materialize_all(lua: &Lua) -> mlua::Result<()> {
    materialize(lua, None).map(|_| ())
}

fn pending(lua: &Lua, name: Option<&str>) -> Vec<Group> {
    let groups = lua.app_data_ref::<Groups>();
    let all = groups.iter().flat_map(|groups| groups.0.iter());
    all.filter(|group| name.is_none_or(|name| group.names.contains(&name)))
        .cloned()
        .collect()
}

fn forget(lua: &Lua, names: &[&str]) {
    let Some(mut groups) = lua.app_data_mut::<Groups>() else {
        return;
    };
    groups.0.retain(|group| group.names != names);
    if groups.0.is_empty() {
        Shared::of(lua).set_lazy_globals(false);
    }
}
