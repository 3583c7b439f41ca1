//! Pack preludes (book: Pack preludes).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use runvil_lua::{
    Block, BlockFailure, Helper, Seal, Vm,
    mlua::{self, Function, Lua, Table, Value},
};

use super::{check::type_name, state::var_view};
use crate::{Failure, section::SectionContext, tools::Loading};

static PRELUDES: Helper = Helper::new("runvil/preludes.lua", include_str!("../lua/preludes.lua"));

/// What the author's globals lend to prelude code. `var` is a view beside them.
const LENT: [&str; 20] = [
    "assert",
    "error",
    "getmetatable",
    "ipairs",
    "next",
    "pairs",
    "pcall",
    "select",
    "setmetatable",
    "tonumber",
    "tostring",
    "type",
    "xpcall",
    "string",
    "table",
    "math",
    "tools",
    "store",
    "untrusted",
    "json",
];

/// The Engine's own names, whether or not a section has them.
const ENGINE: [&str; 21] = [
    "args",
    "argv",
    "call",
    "compactors",
    "item",
    "json",
    "jump",
    "log",
    "messages",
    "models",
    "packs",
    "prompt",
    "prose",
    "require",
    "store",
    "sys",
    "tasks",
    "tools",
    "ui",
    "untrusted",
    "var",
];

/// The sandbox's own names.
const STANDARD: [&str; 18] = [
    "_G",
    "_VERSION",
    "assert",
    "error",
    "getmetatable",
    "ipairs",
    "math",
    "next",
    "pairs",
    "pcall",
    "select",
    "setmetatable",
    "string",
    "table",
    "tonumber",
    "tostring",
    "type",
    "xpcall",
];

/// The words that no name can be.
const KEYWORDS: [&str; 23] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "global", "goto", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// A prelude that cannot install.
#[derive(Debug, thiserror::Error)]
enum PreludeFault {
    #[error(
        "Pack `{pack}`: its prelude failed to load: {message}. A prelude only defines functions; it must not call tools while loading.{traceback}"
    )]
    Load {
        pack: String,
        message: String,
        traceback: String,
    },
    #[error("Pack `{pack}`: its prelude defines the global `{name}`, which is already an Engine global")]
    Bound { pack: String, name: String },
    #[error("Pack `{pack}`: its prelude defines the global `{name}`, which Pack `{owner}`'s prelude already defines")]
    Owned { pack: String, name: String, owner: String },
    #[error("Pack `{pack}`: its prelude defines the global `{name}`, which is reserved as {kind}")]
    Reserved {
        pack: String,
        name: String,
        kind: &'static str,
    },
    #[error("Pack `{pack}`: its prelude defines a global under {key}; a global's name must be a UTF-8 string")]
    Name { pack: String, key: String },
}

impl From<PreludeFault> for Failure {
    fn from(fault: PreludeFault) -> Self {
        Self::Prelude(fault.to_string())
    }
}

/// One prelude that is ready to run.
struct Ready {
    /// Its function, or why there is none.
    function: Result<Function, String>,
    /// Its globals: what it assigns lands in this table.
    environment: Table,
}

/// The coroutine that installs the Pack preludes, where the prompt declares any that has one.
pub(crate) fn start(vm: &Vm, context: &Arc<SectionContext>) -> Result<Option<Block>, Failure> {
    let count = context.run.catalog.preludes().len();
    if count == 0 {
        return Ok(None);
    }
    begin(vm, context, count)
        .map(Some)
        .map_err(|error| Failure::lua(error.to_string()))
}

fn begin(vm: &Vm, context: &Arc<SectionContext>, count: usize) -> mlua::Result<Block> {
    let lua = vm.lua();
    let ready = context.run.catalog.preludes().iter().map(|prelude| {
        let environment = environment(lua)?;
        let function = match &prelude.script {
            Ok(script) => Ok(vm.load_script(script, &environment)?),
            Err(message) => Err(message.clone()),
        };
        Ok(Ready { function, environment })
    });
    let ready = Arc::new(ready.collect::<mlua::Result<Vec<_>>>()?);
    let (own, shared) = (Arc::clone(context), Arc::clone(&ready));
    let load = lua.create_function(move |_, place: usize| {
        own.state().tools.loading = Loading::Prelude(place - 1);
        match &shared[place - 1].function {
            Ok(function) => Ok((function.clone(), own.run.catalog.preludes()[place - 1].pack.clone())),
            Err(message) => Err(Failure::lua(message.clone()).into()),
        }
    })?;
    let own = Arc::clone(context);
    let owners = Mutex::new(BTreeMap::new());
    let install = lua.create_function(move |lua, place: usize| {
        let mut owners = owners.lock().unwrap_or_else(PoisonError::into_inner);
        let pack = &own.run.catalog.preludes()[place - 1].pack;
        Ok(install(lua, pack, &ready[place - 1].environment, &mut owners)?)
    })?;
    match vm.load_helper(&PRELUDES, (load, install, count))?.pop_front() {
        Some(Value::Function(main)) => vm.start_function(main),
        _ => Err(mlua::Error::runtime("runvil/preludes.lua returns a function")),
    }
}

/// The globals of prelude code: what it assigns lands in this table, what it may see lies behind it.
fn environment(lua: &Lua) -> mlua::Result<Table> {
    let globals = lua.globals();
    let lent = lua.create_table_with_capacity(0, LENT.len() + 1)?;
    for name in LENT {
        lent.raw_set(name, globals.get::<Value>(name)?)?;
    }
    lent.raw_set("var", var_view(lua)?)?;
    let behind = lua.create_table_with_capacity(0, 2)?;
    behind.raw_set("__index", lent)?;
    behind.raw_set("__metatable", false)?;
    let environment = lua.create_table()?;
    environment.set_metatable(Some(behind))?;
    Ok(environment)
}

/// Makes what a prelude assigned globals of the section, or nothing of it.
fn install(lua: &Lua, pack: &str, environment: &Table, owners: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let internal = |error: mlua::Error| Failure::lua(error.to_string());
    let mut defined = BTreeMap::new();
    for (key, value) in runvil_lua::ordered_pairs(environment).map_err(internal)? {
        let Value::String(name) = &key else {
            let key = format!("a key of type {}", type_name(&key));
            return Err(PreludeFault::Name {
                pack: pack.to_owned(),
                key,
            }
            .into());
        };
        let Ok(name) = name.to_str() else {
            let key = "a string key that is not valid UTF-8".to_owned();
            return Err(PreludeFault::Name {
                pack: pack.to_owned(),
                key,
            }
            .into());
        };
        defined.insert(name.to_owned(), value);
    }
    let globals = lua.globals();
    for name in defined.keys() {
        let (pack, name) = (pack.to_owned(), name.clone());
        if let Some(kind) = reserved(&name) {
            return Err(PreludeFault::Reserved { pack, name, kind }.into());
        }
        if let Some(owner) = owners.get(&name) {
            return Err(PreludeFault::Owned {
                pack,
                name,
                owner: owner.clone(),
            }
            .into());
        }
        if !globals.raw_get::<Value>(name.as_str()).map_err(internal)?.is_nil() {
            return Err(PreludeFault::Bound { pack, name }.into());
        }
    }
    for (name, value) in defined {
        let value = match value {
            Value::Table(table) => {
                let seal = Seal {
                    protection: &format!("{name} is sealed"),
                    refusal: &format!("{name} is read-only: Pack `{pack}` defines it; cannot set"),
                    quotes_every_field: true,
                };
                Value::Table(seal.table(lua, &table).map_err(internal)?)
            }
            other => other,
        };
        globals.raw_set(name.as_str(), value).map_err(internal)?;
        owners.insert(name, pack.to_owned());
    }
    Ok(())
}

fn reserved(name: &str) -> Option<&'static str> {
    if ENGINE.contains(&name) {
        Some("an Engine global")
    } else if STANDARD.contains(&name) {
        Some("a Lua standard-library global")
    } else if KEYWORDS.contains(&name) {
        Some("a Lua keyword")
    } else {
        None
    }
}

/// Ends the installation: one whose prelude called a tool fails, even where the prelude caught the refusal.
pub(crate) fn installed(context: &SectionContext) -> Result<(), Failure> {
    let loading = std::mem::take(&mut context.state().tools.loading);
    match loading {
        Loading::CalledTool(place) => Err(load_failure(
            context,
            place,
            "tools.call is unavailable while a prelude loads",
        )),
        Loading::Done | Loading::Prelude(_) => Ok(()),
    }
}

/// What the failure of a prelude is to the run.
pub(crate) fn prelude_failure(context: &SectionContext, raised: BlockFailure) -> Failure {
    let loading = std::mem::take(&mut context.state().tools.loading);
    let failure = Failure::from_block(raised);
    match (loading, failure) {
        (_, failure @ (Failure::Prelude(_) | Failure::Interrupted | Failure::Internal(_))) => failure,
        (Loading::Prelude(place) | Loading::CalledTool(place), failure) => {
            load_failure(context, place, &failure.to_string())
        }
        (Loading::Done, failure) => failure,
    }
}

fn load_failure(context: &SectionContext, place: usize, text: &str) -> Failure {
    let (message, traceback) = match text.find("\nstack traceback:") {
        Some(end) => text.split_at(end),
        None => (text, ""),
    };
    let pack = context.run.catalog.preludes()[place].pack.clone();
    PreludeFault::Load {
        pack,
        message: message.to_owned(),
        traceback: traceback.to_owned(),
    }
    .into()
}
