//! Block coroutines: what they ask for, and how they end.

use mlua::{Lua, MultiValue, Table, Thread, Value};

use crate::failure::{Failure, LUA_KIND};
use crate::raw::{self, Ended};
use crate::vm::Vm;

/// One run of a block. It belongs to the VM that started it.
#[derive(Debug)]
pub struct Block {
    thread: Thread,
    started: bool,
}

type BuildFn = dyn FnOnce(&Lua) -> mlua::Result<MultiValue> + Send;

/// Builds the values that a suspending call returns.
pub struct Build(Box<BuildFn>);

impl Build {
    /// Defers the building of values to the moment of the resume.
    pub fn new(values: impl FnOnce(&Lua) -> mlua::Result<MultiValue> + Send + 'static) -> Self {
        Self(Box::new(values))
    }
}

impl std::fmt::Debug for Build {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Build")
    }
}

/// What a block is resumed with.
#[derive(Debug)]
pub enum Resume {
    /// Its first run, without arguments.
    Start,
    /// The values that the suspending call returns; at the first run, the block's arguments.
    Values(MultiValue),
    /// The values that this builds, once the error values of earlier calls are forgotten: error values among them
    /// keep their origins.
    Build(Build),
    /// The failure that the suspending call raises, as an error value at level 0.
    Raise(Failure),
}

/// How far a block got.
#[derive(Debug)]
pub enum BlockStep {
    /// It waits: the arguments of its `suspend` call.
    Request(MultiValue),
    /// It returned.
    Returned(MultiValue),
    /// It failed.
    Failed(BlockFailure),
}

/// What ended a block.
#[derive(Debug)]
pub enum BlockFailure {
    /// A failure that was never caught, or the exact error value of one, raised again before another suspending
    /// call: the failure as it was raised.
    Raised {
        /// The failure, its origin included.
        failure: Failure,
        /// The text it would have as a Lua runtime error: position, message and traceback with prompt lines.
        located: String,
    },
    /// An error value whose origin is no longer known: its kind, message and fields as they stand in the table.
    Rebuilt {
        /// The failure, without origin.
        failure: Failure,
        /// As for `Raised`.
        located: String,
    },
    /// Any other error, an error value of kind `lua` without origin among them (book: Runtime error messages and
    /// tracebacks).
    Runtime {
        /// `{label}:{line}: runtime error: …` and the traceback, with prompt lines.
        message: String,
    },
    /// The run's cancel.
    Interrupted,
}

impl Block {
    pub(crate) fn new(thread: Thread) -> Self {
        Self { thread, started: false }
    }

    pub(crate) fn resume(&mut self, vm: &Vm, with: Resume) -> BlockStep {
        let step = self.arguments(vm, with).and_then(|arguments| {
            self.started = true;
            raw::resume(vm.lua(), &self.thread, arguments)
        });
        match step {
            Ok((Ended::Yielded, values)) => BlockStep::Request(values),
            Ok((Ended::Returned, values)) => BlockStep::Returned(values),
            Ok((Ended::Raised { out_of_memory }, _)) => self.failed(vm, out_of_memory),
            Err(error) => fail(vm, |_| raised_by_native(vm, &error, None)),
        }
    }

    /// The values that the coroutine is resumed with. A waiting `suspend` expects whether it succeeds first.
    fn arguments(&self, vm: &Vm, with: Resume) -> mlua::Result<MultiValue> {
        let lua = vm.lua();
        if !self.started {
            return answer(lua, with);
        }
        raw::forget_origins(lua)?;
        let (succeeds, mut values) = match answer(lua, with) {
            Ok(values) => (true, values),
            Err(error) => (false, MultiValue::from_iter([Value::Table(error_value(lua, &error)?)])),
        };
        values.push_front(Value::Boolean(succeeds));
        Ok(values)
    }

    /// Reads what the coroutine raised.
    fn failed(&self, vm: &Vm, out_of_memory: bool) -> BlockStep {
        fail(vm, |lua| match raw::trace(lua, &self.thread) {
            Ok((raised, traceback)) => classify(vm, raised, traceback.as_deref(), out_of_memory),
            Err(error) => raised_by_native(vm, &error, None),
        })
    }
}

/// The values of an answer, or the error to raise.
fn answer(lua: &Lua, with: Resume) -> mlua::Result<MultiValue> {
    match with {
        Resume::Start => Ok(MultiValue::new()),
        Resume::Values(values) => counted(lua, values),
        Resume::Build(build) => counted(lua, (build.0)(lua)?),
        Resume::Raise(failure) => Err(failure.into()),
    }
}

/// The error value to raise. One that does not fit under the memory ceiling gives way to a small one, which says so.
fn error_value(lua: &Lua, error: &mlua::Error) -> mlua::Result<Table> {
    Failure::from_native(error)
        .into_error_value(lua)
        .or_else(|refused| Failure::from_native(&refused).into_error_value(lua))
}

/// Puts strings on the Lua heap, where the memory ceiling counts them: one that was made of a Rust `String` is not.
fn counted(lua: &Lua, values: MultiValue) -> mlua::Result<MultiValue> {
    let count = |value| match value {
        Value::String(text) => lua.create_string(text.as_bytes()).map(Value::String),
        other => Ok(other),
    };
    values.into_iter().map(count).collect()
}

/// Under a cancel the interrupt wins over whatever was raised.
fn fail(vm: &Vm, describe: impl FnOnce(&Lua) -> BlockFailure) -> BlockStep {
    BlockStep::Failed(if vm.shared().cancel.is_cancelled() {
        BlockFailure::Interrupted
    } else {
        describe(vm.lua())
    })
}

fn classify(vm: &Vm, raised: Value, traceback: Option<&str>, out_of_memory: bool) -> BlockFailure {
    match raised {
        Value::Error(error) => raised_by_native(vm, &error, traceback),
        Value::Table(table) => {
            raised_table(vm, &table, traceback).unwrap_or_else(|error| raised_by_native(vm, &error, traceback))
        }
        Value::String(text) if out_of_memory => {
            runtime(vm, &format!("memory error: {}", text.to_string_lossy()), traceback)
        }
        other => runtime(vm, &runtime_error(&display(&other)), traceback),
    }
}

fn raised_by_native(vm: &Vm, error: &mlua::Error, traceback: Option<&str>) -> BlockFailure {
    end_with(vm, Failure::from_native(error), Freshness::Origin, traceback)
}

fn raised_table(vm: &Vm, table: &Table, traceback: Option<&str>) -> mlua::Result<BlockFailure> {
    let lua = vm.lua();
    if !raw::is_error_value(lua, table)? {
        let text = display(&Value::Table(table.clone()));
        return Ok(runtime(vm, &runtime_error(&text), traceback));
    }
    Ok(match Failure::behind(lua, table)? {
        Some(failure) => end_with(vm, failure, Freshness::Origin, traceback),
        None => end_with(vm, Failure::read(table)?, Freshness::Table, traceback),
    })
}

/// Whether a failure is known as it was raised, or only from its table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freshness {
    Origin,
    Table,
}

fn end_with(vm: &Vm, failure: Failure, freshness: Freshness, traceback: Option<&str>) -> BlockFailure {
    let located = located(vm, &runtime_error(&failure.message), traceback);
    if failure.kind == LUA_KIND && failure.origin.is_none() {
        BlockFailure::Runtime { message: located }
    } else if freshness == Freshness::Origin {
        BlockFailure::Raised { failure, located }
    } else {
        BlockFailure::Rebuilt { failure, located }
    }
}

fn runtime(vm: &Vm, message: &str, traceback: Option<&str>) -> BlockFailure {
    BlockFailure::Runtime {
        message: located(vm, message, traceback),
    }
}

/// Puts the prefix in front of a message that does not have it yet.
fn runtime_error(message: &str) -> String {
    const PREFIX: &str = "runtime error: ";
    if message.starts_with(PREFIX) {
        message.to_owned()
    } else {
        format!("{PREFIX}{message}")
    }
}

/// Maps a message and its traceback to prompt lines, headed by the first position that was mapped.
fn located(vm: &Vm, message: &str, traceback: Option<&str>) -> String {
    let text = traceback.map_or_else(|| message.to_owned(), |frames| format!("{message}\n{frames}"));
    let located = vm.locate(&text);
    match located.first {
        Some(position) => format!("{position}: {}", located.text),
        None => located.text,
    }
}

/// The text of a raised value that is no failure.
fn display(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string_lossy(),
        Value::Integer(number) => number.to_string(),
        Value::Nil | Value::Boolean(_) | Value::Number(_) => value.to_string().unwrap_or_default(),
        other => format!("(error object is a {} value)", other.type_name()),
    }
}
