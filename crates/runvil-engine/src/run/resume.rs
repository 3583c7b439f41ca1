//! What a chain is resumed with.

use runvil_lua::{
    Build, Nulls, from_json,
    mlua::{self, IntoLuaMulti, Lua, MultiValue},
};
use serde_json::Value;

use crate::Failure;

/// What wakes a chain.
pub(crate) enum Resume {
    /// Its first entry.
    Begin,
    /// The answer that its running block waits for.
    Lua(Reply),
    /// The end of its wait for tasks, judged as they stand when it runs.
    Wait,
}

/// Makes values in the VM of the chain that is resumed.
type BuildFn = Box<dyn FnOnce(&Lua) -> mlua::Result<MultiValue> + Send>;

/// The answer to a request that a block made.
///
/// It is built without the VM: the values come to life in the chain that is resumed.
pub(crate) enum Reply {
    /// The block starts.
    Start,
    /// The call returns nothing.
    Nothing,
    /// The call returns one text.
    Text(String),
    /// The call returns one value converted from JSON, its nulls as `json.null`.
    Json(Value),
    /// The call returns what this builds in the chain's VM.
    Build(BuildFn),
    /// The call raises.
    Raise(Failure),
}

impl Reply {
    /// Values built in the VM of the chain that is resumed.
    pub(crate) fn build(values: impl FnOnce(&Lua) -> mlua::Result<MultiValue> + Send + 'static) -> Self {
        Self::Build(Box::new(values))
    }

    /// What the VM of the resumed chain is given.
    pub(crate) fn into_lua(self) -> runvil_lua::Resume {
        use runvil_lua::Resume as R;
        match self {
            Self::Start => R::Start,
            Self::Raise(failure) => R::Raise(failure.into()),
            Self::Nothing => R::Values(MultiValue::new()),
            Self::Text(text) => R::Build(Build::new(move |lua| text.into_lua_multi(lua))),
            Self::Json(value) => R::Build(Build::new(move |lua| {
                from_json(lua, &value, Nulls::Kept)?.into_lua_multi(lua)
            })),
            Self::Build(build) => R::Build(Build::new(build)),
        }
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self::Raise(failure)
    }
}
