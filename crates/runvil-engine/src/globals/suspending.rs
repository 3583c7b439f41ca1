//! Suspending calls: a native checks the arguments, and the Lua around it yields the request that it returns.

use runvil_lua::{
    Helper, Vm,
    mlua::{self, Function, Lua, MultiValue, Value},
};

use crate::{Failure, request::Request};

static SUSPENDING: Helper = Helper::new("runvil/suspending.lua", include_str!("../lua/suspending.lua"));

/// Wraps natives of one VM.
#[derive(Clone)]
pub(crate) struct Suspending(Function);

impl Suspending {
    pub(crate) fn new(vm: &Vm) -> mlua::Result<Self> {
        match vm.load_helper(&SUSPENDING, ())?.pop_front() {
            Some(Value::Function(wrap)) => Ok(Self(wrap)),
            _ => Err(mlua::Error::runtime("runvil/suspending.lua returns a function")),
        }
    }

    /// The Lua function that suspends on the request that `check` makes of its arguments.
    pub(crate) fn wrap(
        &self,
        lua: &Lua,
        check: impl Fn(&Lua, MultiValue) -> Result<Request, Failure> + Send + 'static,
    ) -> mlua::Result<Function> {
        let native = lua.create_function(move |lua, arguments| Ok(check(lua, arguments)?))?;
        self.0.call(native)
    }
}
