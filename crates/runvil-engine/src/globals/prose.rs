//! The `prose` global: the pending prose above a block (book: Pending prose and the `prose` global).

use std::sync::Arc;

use runvil_lua::{
    Vm,
    mlua::{self, Lua, LuaString, Value},
};

use super::{facts, read_var};
use crate::{
    Failure,
    section::SectionContext,
    subst::{Global, Sources, substitute},
};

/// The refusal of every assignment to `prose`.
const READ_ONLY: &str = "prose is read-only: assign to `var` or a section global instead";

/// The prose above the running block. It renders at its first read, and then stays as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingProse {
    /// `None` before any block has started.
    source: Option<Arc<str>>,
    /// On the Lua heap, where the memory ceiling counts it.
    rendered: Option<LuaString>,
}

impl PendingProse {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            source: Some(text.into()),
            rendered: None,
        }
    }
}

/// Serves `prose` through the guard on `_G`.
pub(super) fn install(vm: &Vm, context: &Arc<SectionContext>) -> mlua::Result<()> {
    let lua = vm.lua();
    let own = Arc::clone(context);
    let read = lua.create_function(move |lua, ()| read(lua, &own))?;
    let refuse = lua.create_function(|_, _: Value| Err::<(), _>(mlua::Error::runtime(READ_ONLY)))?;
    vm.guard_global("prose", &read, &refuse)
}

/// Reads the prose, and renders it if nothing read it before. A failed render is not remembered.
fn read(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<Option<LuaString>> {
    let (source, rendered) = {
        let prose = &context.state().prose;
        (prose.source.clone(), prose.rendered.clone())
    };
    let (Some(source), None) = (source, &rendered) else {
        return Ok(rendered);
    };
    // A render reads `var` back, whether or not a placeholder names it.
    let var = read_var(lua, context)?;
    let text = substitute(
        &source,
        &SectionSources {
            lua,
            context,
            var: &var,
        },
    )?;
    let text = lua.create_string(text)?;
    context.state().prose.rendered = Some(text.clone());
    Ok(Some(text))
}

/// What the placeholders of a section's prose read, and of the libraries that it loads.
struct SectionSources<'a> {
    lua: &'a Lua,
    context: &'a SectionContext,
    var: &'a serde_json::Value,
}

impl Sources for SectionSources<'_> {
    fn check(&self, length: usize) -> Result<(), Failure> {
        let run = &self.context.run;
        if run.cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        if length as u64 > run.facts.limits.lua_memory_bytes {
            return Err(Failure::lua(runvil_lua::out_of_memory().to_string()));
        }
        Ok(())
    }

    fn args(&self) -> &str {
        &self.context.args.text
    }

    fn argv(&self) -> Option<&serde_json::Value> {
        self.context.args.argv.as_ref()
    }

    fn item(&self) -> Option<&serde_json::Value> {
        self.context.seeds.as_ref()?.item.as_ref()
    }

    fn var(&self) -> &serde_json::Value {
        self.var
    }

    fn sys(&self) -> serde_json::Value {
        facts::all(self.context)
    }

    /// Reads the global as any code would, an author metatable included. A look-up that raises finds nothing to render.
    fn global(&self, name: &str) -> Global {
        match self.lua.globals().get::<Value>(name) {
            Ok(Value::Nil) => Global::Unset,
            Ok(value) => runvil_lua::to_json(self.lua, &value, name).map_or(Global::NotJson, Global::Data),
            Err(_) => Global::NotJson,
        }
    }
}
