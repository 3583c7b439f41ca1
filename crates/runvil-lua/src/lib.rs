//! The section VM: sandboxed Lua 5.5 whose blocks are coroutines that wait for answers.
//!
//! One [`Vm`] serves one section entry. It compiles and runs [`Chunk`]s as [`Block`]s, hands out what a block
//! waits for, takes the answer, and turns failures into error values and back. It knows nothing of prompts, runs
//! or run error kinds: whoever drives it installs its own globals on top.

mod block;
mod cancel;
mod chunk;
mod failure;
mod helper;
mod lazy;
mod locate;
mod order;
mod raw;
mod vm;

pub use self::block::{Block, BlockFailure, BlockStep, Build, Resume};
pub use self::cancel::CancelFlag;
pub use self::chunk::{Chunk, CompileError};
pub use self::failure::{Failure, FieldValue, LUA_KIND, Origin};
pub use self::helper::Helper;
pub use self::vm::{Vm, VmConfig};
pub use mlua;
