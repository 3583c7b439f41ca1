//! The section VM: sandboxed Lua 5.5 whose blocks are coroutines that wait for answers.
//!
//! One [`Vm`] serves one section entry. It compiles and runs [`Chunk`]s as [`Block`]s, hands out what a block
//! waits for, takes the answer, and turns failures into error values and back. It knows nothing of prompts, runs
//! or run error kinds: whoever drives it installs its own globals on top.

mod block;
mod cancel;
mod chunk;
mod entries;
mod failure;
mod helper;
mod json;
mod lazy;
mod locate;
mod log;
mod order;
mod pattern;
mod raw;
mod script;
mod seal;
mod state;
mod text;
mod vm;

pub use self::block::{Block, BlockFailure, BlockStep, Build, Resume};
pub use self::cancel::CancelFlag;
pub use self::chunk::{Chunk, CompileError, Compiler};
pub use self::entries::ordered_pairs;
pub use self::failure::{Failure, FieldValue, LUA_KIND, Origin};
pub use self::helper::Helper;
pub use self::json::{NotJson, Nulls, Problem, ToJsonError, from_json, out_of_memory, to_json, type_name};
pub use self::log::{LogRefusal, log_function};
pub use self::script::Script;
pub use self::seal::Seal;
pub use self::state::{State, StateError};
pub use self::text::Text;
pub use self::vm::{Vm, VmConfig, entries, load};
pub use mlua;
