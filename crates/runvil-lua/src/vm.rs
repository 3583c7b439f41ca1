//! The VM of one section entry.

use std::sync::Arc;

use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLuaMulti, Lua, LuaOptions, MultiValue, StdLib, Table, Value};

use crate::block::{Block, BlockStep, Resume};
use crate::cancel::CancelFlag;
use crate::chunk::Chunk;
use crate::failure::Failure;
use crate::helper::Helper;
use crate::json;
use crate::lazy;
use crate::locate::Located;
use crate::raw::{self, Shared};
use crate::script::Script;

/// What a VM is made from.
#[derive(Clone, Debug)]
pub struct VmConfig {
    /// Seeds `math.random`: the same seed, the same numbers.
    pub seed: [u8; 32],
    /// The most bytes of Lua heap the VM may use, at least 1 (book: The memory ceiling).
    pub memory_bytes: usize,
    /// The run's cancel flag.
    pub cancel: CancelFlag,
}

/// One section VM: a fresh Lua state with the sandbox in place, dropped at the end of its section entry.
#[derive(Debug)]
pub struct Vm {
    lua: Lua,
}

impl Vm {
    /// Makes the VM with the sandbox's globals.
    ///
    /// # Errors
    ///
    /// The process has no memory for it.
    pub fn new(config: &VmConfig) -> mlua::Result<Self> {
        let lua = Lua::new_with(StdLib::STRING | StdLib::TABLE | StdLib::MATH, LuaOptions::new())?;
        let shared = Shared::new(config.cancel.clone(), config.memory_bytes, &config.seed);
        lua.set_app_data(Arc::clone(&shared));
        let convert = lua.create_function(convert)?;
        let setup = raw::Setup {
            shared: &shared,
            convert: &convert,
            seed: &config.seed,
        };
        raw::set_up(&lua, &setup)?;
        lazy::declare(&lua, &["json"], json::library)?;
        // The sandbox itself is there whatever the ceiling is: what comes next runs out of memory as Lua does.
        lua.set_memory_limit(config.memory_bytes.max(1))?;
        Ok(Self { lua })
    }

    /// The Lua state, on which the driver installs its own globals.
    #[must_use]
    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Has the guard on `_G` serve a global: a read gives what `get(name)` returns, an assignment calls
    /// `set(name, value)`. A raw read of the name from `_G` gives nil, and the author's metatable never sees it
    /// (book: What the Engine guard on `_G` still blocks).
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn guard_global(&self, name: &str, get: &Function, set: &Function) -> mlua::Result<()> {
        raw::serve(&self.lua, name, get, set)
    }

    /// Has the guard on `_G` serve a global that always reads as `value`, nil included, and whose assignment is
    /// refused by a runtime error with the text `refusal`.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn guard_constant(&self, name: &str, value: &Value, refusal: &str) -> mlua::Result<()> {
        raw::serve_constant(&self.lua, name, value, refusal)
    }

    /// Declares globals that `make` makes together, one value for each name in order, when the first of them is
    /// used. No code in the VM can tell them from globals that were there from the start.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn lazy_globals(
        &self,
        names: &'static [&'static str],
        make: impl Fn(&Lua) -> mlua::Result<MultiValue> + Send + Sync + 'static,
    ) -> mlua::Result<()> {
        lazy::declare(&self.lua, names, make)
    }

    /// As [`lazy_globals`](Self::lazy_globals), made by a helper that returns the values. Authors are handed
    /// [`entries`] of its functions, unless the helper is a nesting one.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn lazy_helper(
        &self,
        names: &'static [&'static str],
        helper: &'static Helper,
        arguments: MultiValue,
    ) -> mlua::Result<()> {
        self.lazy_globals(names, move |lua| {
            let values = run_helper(lua, helper, kit(lua)?, arguments.clone())?;
            if helper.nests() {
                Ok(values)
            } else {
                entries(lua, values)
            }
        })
    }

    /// Runs a helper once and returns its values. It gets `arguments`, and its globals are the kit: the sandbox's
    /// base functions and libraries as nobody can change them, the raw table functions, `suspend(...)`, which
    /// hands its arguments out as the block's request and returns the answer or raises it, and
    /// `fail(kind, message, fields)`, which raises an error value at level 0.
    ///
    /// # Errors
    ///
    /// Whatever the helper raises while it loads.
    pub fn load_helper(&self, helper: &Helper, arguments: impl IntoLuaMulti) -> mlua::Result<MultiValue> {
        run_helper(&self.lua, helper, kit(&self.lua)?, arguments)
    }

    /// Loads a block as a function, for whoever runs it from inside another block. Its lines map from then on.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn load(&self, chunk: &Chunk) -> mlua::Result<Function> {
        load(&self.lua, chunk)
    }

    /// Loads a script as a function whose globals are `environment`.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn load_script(&self, script: &Script, environment: &Table) -> mlua::Result<Function> {
        self.lua
            .load(script.bytecode())
            .set_mode(ChunkMode::Binary)
            .set_environment(environment.clone())
            .into_function()
    }

    /// Loads a block as a coroutine that has not run yet.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn start(&self, chunk: &Chunk) -> mlua::Result<Block> {
        self.start_function(self.load(chunk)?)
    }

    /// Makes a coroutine of any function of this VM.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn start_function(&self, function: Function) -> mlua::Result<Block> {
        Ok(Block::new(self.lua.create_thread(function)?))
    }

    /// Runs the block until it asks for something, returns, or fails. Under a cancel every failure reads as
    /// [`BlockFailure::Interrupted`](crate::BlockFailure::Interrupted).
    pub fn resume(&self, block: &mut Block, with: Resume) -> BlockStep {
        block.resume(self, with)
    }

    /// Rewrites each `[string "line N"]:L` of the VM's blocks in `text` to `{label}:{line}` with the line of the
    /// prompt file. Text that names no block of the VM stays as it is.
    #[must_use]
    pub fn map_lines(&self, text: &str) -> String {
        self.locate(text).text
    }

    pub(crate) fn locate(&self, text: &str) -> Located {
        self.shared().labels().locate(text)
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Shared::of(&self.lua)
    }
}

/// Loads a block as a function, for native code of the VM: as [`Vm::load`].
///
/// # Errors
///
/// A Lua memory error.
pub fn load(lua: &Lua, chunk: &Chunk) -> mlua::Result<Function> {
    Shared::of(lua)
        .labels()
        .register(chunk.first_line(), chunk.shared_label());
    lua.load(chunk.bytecode()).set_mode(ChunkMode::Binary).into_function()
}

/// C functions in place of the Lua functions among the values and in their fields. An author's function that ends in a
/// call of one keeps its frame, so that an error names its line.
///
/// # Errors
///
/// A Lua memory error.
pub fn entries(lua: &Lua, values: MultiValue) -> mlua::Result<MultiValue> {
    raw::entries(lua, values)
}

/// What helpers run in; made at the first use, of functions that no code of the VM can change.
struct Kit(Table);

fn kit(lua: &Lua) -> mlua::Result<Table> {
    if let Some(Kit(kit)) = lua.app_data_ref::<Kit>().as_deref() {
        return Ok(kit.clone());
    }
    let kit = raw::kit(lua)?;
    lua.set_app_data(Kit(kit.clone()));
    Ok(kit)
}

fn run_helper(lua: &Lua, helper: &Helper, kit: Table, arguments: impl IntoLuaMulti) -> mlua::Result<MultiValue> {
    lua.load(helper.bytecode())
        .set_mode(ChunkMode::Binary)
        .set_environment(kit)
        .call(arguments)
}

/// Turns a Rust error that was raised into Lua into an error value; passes anything else through.
fn convert(lua: &Lua, raised: Value) -> mlua::Result<Value> {
    match raised {
        Value::Error(error) => Failure::from_native(&error).into_error_value(lua).map(Value::Table),
        other => Ok(other),
    }
}
