//! `args` and `argv`: a chain's argument string, and what it parses to (book: Arguments).

use std::sync::Arc;

use runvil_lua::{
    Nulls, Seal, Vm,
    mlua::{self, Lua, Value},
};
use runvil_syntax::Args;
use serde_json::json;

use super::check::{is_data, lua_type};
use crate::{Failure, section::SectionContext};

/// The refusal of every assignment to a frozen `argv`.
const FROZEN: &str = "argv is frozen outside H1: assign it in H1 only";

/// How the tables of a frozen `argv` show themselves.
const SEAL: Seal<'_> = Seal {
    protection: "argv is frozen",
    refusal: "argv is frozen outside H1: cannot set field",
    quotes_every_field: false,
};

/// A chain's argument string and the frozen `argv` that goes with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    /// The string, never parsed or trimmed.
    pub(crate) text: String,
    /// What Lua reads as `argv`; `None` is nil.
    pub(crate) argv: Option<serde_json::Value>,
}

impl Arguments {
    /// Parses an argument string under the prompt's declaration. Text that is not JSON, and JSON null, give nil.
    pub(crate) fn derive(declared: &Args, text: String) -> Self {
        let argv = if declared.structured {
            serde_json::from_str(&text)
                .ok()
                .filter(|value: &serde_json::Value| !value.is_null())
        } else {
            Some(json!({ "prose": text }))
        };
        Self { text, argv }
    }
}

/// What a spawn gives the first section that a task enters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seeds {
    /// The `item` global.
    pub(crate) item: Option<serde_json::Value>,
    /// The field `sys.index`.
    pub(crate) index: Option<i64>,
}

/// Installs `args`, and `argv`: a plain value in the H1 pass, frozen everywhere else.
pub(super) fn install(vm: &Vm, context: &SectionContext) -> mlua::Result<()> {
    let lua = vm.lua();
    lua.globals().raw_set("args", context.args.text.as_str())?;
    let argv = context.args.argv.as_ref();
    if context.section.is_some() {
        let frozen = argv.map_or(Ok(Value::Nil), |argv| SEAL.value(lua, argv))?;
        return vm.guard_constant("argv", &frozen, FROZEN);
    }
    // What H1 code assigns lies in `_G` itself; while nothing does, the guard keeps an author's metatable away from it.
    let absent = lua.create_function(|_, ()| Ok(Value::Nil))?;
    let assign = lua.create_function(|lua, (_, value): (Value, Value)| lua.globals().raw_set("argv", value))?;
    vm.guard_global("argv", &absent, &assign)?;
    let value = argv.map_or(Ok(Value::Nil), |argv| runvil_lua::from_json(lua, argv, Nulls::Kept))?;
    lua.globals().raw_set("argv", value)
}

/// The arguments of a chain that this section starts: its own where it is given an input, else those of this chain.
pub(crate) fn of_child(lua: &Lua, context: &SectionContext, input: Option<String>) -> Result<Arc<Arguments>, Failure> {
    match input {
        Some(input) => {
            let declared = &context.run.prompt.tree().frontmatter.args;
            Ok(Arc::new(Arguments::derive(declared, input)))
        }
        None => current(lua, context),
    }
}

/// The chain's arguments as they stand now: in the H1 pass, with the `argv` that its code left there.
pub(crate) fn current(lua: &Lua, context: &SectionContext) -> Result<Arc<Arguments>, Failure> {
    if context.section.is_some() {
        return Ok(Arc::clone(&context.args));
    }
    let left = lua
        .globals()
        .raw_get("argv")
        .map_err(|error| Failure::lua(error.to_string()))?;
    let argv = match left {
        Value::Nil => None,
        value if is_data(&value) => {
            Some(runvil_lua::to_json(lua, &value, "argv").map_err(|problem| Failure::lua(problem.to_string()))?)
        }
        other => {
            return Err(Failure::lua(format!(
                "argv must be JSON data, got {}",
                lua_type(&other)
            )));
        }
    };
    Ok(Arc::new(Arguments {
        text: context.args.text.clone(),
        argv,
    }))
}
