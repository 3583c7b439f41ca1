//! `require`: sections as libraries (book: Sharing code with `require`).

use std::sync::Arc;

use runvil_lua::{
    Helper,
    mlua::{self, IntoLuaMulti, Lua, MultiValue, Table, Value},
};
use runvil_syntax::{Block, SectionId};

use super::{check::type_name, prose::PendingProse};
use crate::{EventKind, Failure, section::SectionContext};

/// The Lua half of `require`.
pub(super) static REQUIRE: Helper = Helper::nesting("runvil/require.lua", include_str!("../lua/require.lua"));

/// A `require` that cannot load.
#[derive(Debug, thiserror::Error)]
enum RequireError {
    /// The argument is not a string; holds its type.
    #[error("require takes a section heading string such as '## helpers', got {0}")]
    NotAString(&'static str),
    /// The library is loading already; holds the headings in load order, the repeated one at both ends.
    #[error("require cycle: {0}")]
    Cycle(String),
}

impl From<RequireError> for Failure {
    fn from(error: RequireError) -> Self {
        Self::Lua(error.to_string())
    }
}

/// The library loads that are under way in a section, outermost first.
#[derive(Default)]
pub(crate) struct Libraries {
    loading: Vec<Load>,
}

/// One library load.
struct Load {
    library: SectionId,
    /// The prose of whoever requires it, put back when the load ends.
    outer_prose: PendingProse,
}

impl Libraries {
    /// Whether a library loads, so that `jump` is refused.
    pub(crate) fn is_loading(&self) -> bool {
        !self.loading.is_empty()
    }

    /// How many libraries load, one inside the other.
    pub(crate) fn depth(&self) -> usize {
        self.loading.len()
    }

    /// The section from whose place a `require` resolves: the innermost loading library.
    fn position(&self) -> Option<SectionId> {
        self.loading.last().map(|load| load.library)
    }
}

/// The steps of a load, in the order in which the helper names them.
pub(super) fn natives(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<MultiValue> {
    let own = Arc::clone(context);
    let resolve = lua.create_function(move |_, heading: Value| Ok(resolve(&own, &heading)?))?;
    let own = Arc::clone(context);
    let begin = lua.create_function(move |lua, library: usize| begin(lua, &own, SectionId(library)))?;
    let own = Arc::clone(context);
    let enter = lua.create_function(move |_, place: usize| {
        enter(&own, place);
        Ok(())
    })?;
    let ended = |succeeded: bool| {
        let own = Arc::clone(context);
        lua.create_function(move |_, ()| {
            // Loads that a cancel cuts short end where it is told that it struck, however far their Lua comes.
            if succeeded || !own.run.cancel.is_cancelled() {
                end(&own, succeeded);
            }
            Ok(())
        })
    };
    (resolve, begin, enter, ended(true)?, ended(false)?).into_lua_multi(lua)
}

/// The section that a heading names within reach, as a number that keys it.
fn resolve(context: &SectionContext, heading: &Value) -> Result<usize, Failure> {
    let Value::String(heading) = heading else {
        return Err(RequireError::NotAString(type_name(heading)).into());
    };
    let from = context.state().libraries.position().or(context.section);
    let reach = context.run.prompt.reach_from(from);
    Ok(reach.resolve(&heading.to_string_lossy())?.0)
}

/// Begins a load and gives the library's blocks as functions, in order.
fn begin(lua: &Lua, context: &SectionContext, library: SectionId) -> mlua::Result<Table> {
    let tree = context.run.prompt.tree();
    {
        let mut state = context.state();
        if let Some(first) = state.libraries.loading.iter().position(|load| load.library == library) {
            let chain = state.libraries.loading[first..]
                .iter()
                .map(|load| load.library)
                .chain([library]);
            let headings: Vec<_> = chain.map(|id| tree[id].heading()).collect();
            return Err(Failure::from(RequireError::Cycle(headings.join(" -> "))).into());
        }
        let outer_prose = state.prose.clone();
        state.libraries.loading.push(Load { library, outer_prose });
    }
    context.report(EventKind::LuaLibraryLoadStarted {
        library: tree[library].heading(),
    });
    let blocks = lua.create_table()?;
    for lua_block in tree[library].blocks.iter().filter_map(Block::as_lua) {
        let function = runvil_lua::load(lua, context.run.prompt.chunk(lua_block))?;
        blocks.raw_push(function)?;
    }
    Ok(blocks)
}

/// Makes the prose right above a library's block pending while that block runs.
fn enter(context: &SectionContext, place: usize) {
    let mut state = context.state();
    let Some(library) = state.libraries.position() else {
        return;
    };
    let mut above = None;
    let mut seen = 0;
    for block in &context.run.prompt.tree()[library].blocks {
        match block {
            Block::Prose(prose) => above = Some(prose.text.as_str()),
            Block::Lua(_) => {
                seen += 1;
                if seen == place {
                    break;
                }
                above = None;
            }
        }
    }
    state.prose = PendingProse::new(above.unwrap_or_default());
}

/// Ends the innermost load, and puts the prose of whoever required it back.
pub(super) fn end(context: &SectionContext, succeeded: bool) {
    let Some(load) = context.state().libraries.loading.pop() else {
        return;
    };
    let library = context.run.prompt.tree()[load.library].heading();
    context.state().prose = load.outer_prose;
    context.report(if succeeded {
        EventKind::LuaLibraryLoadSucceeded { library }
    } else {
        EventKind::LuaLibraryLoadFailed { library }
    });
}
