//! Compiled Lua with its place in the prompt file.

use std::sync::{Arc, Mutex, PoisonError};

use crate::raw::{CompilerState, Uncompiled};

/// One compiled Lua block: bytecode with its debug information, the label that error messages call it by, and the
/// line of the prompt file on which its Lua starts.
///
/// Cheap to clone. Lua knows the block as `line N`, so that two blocks never share a name within one file (book:
/// Location labels).
#[derive(Clone, Debug)]
pub struct Chunk {
    bytecode: Arc<[u8]>,
    label: Arc<str>,
    first_line: u32,
}

/// Why a block did not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The Lua compiler's own diagnostic, unchanged: it names the block `[string "line N"]`.
    #[error("{0}")]
    Diagnostic(String),
    /// The compiler itself could not run; the block may be fine.
    #[error("the Lua compiler could not start: {0}")]
    Unavailable(String),
}

impl Chunk {
    /// Compiles `source` with a compiler of its own. See [`Compiler::compile`].
    ///
    /// # Errors
    ///
    /// As for [`Compiler::compile`].
    pub fn compile(source: &str, label: &str, first_line: u32) -> Result<Self, CompileError> {
        Compiler::default().compile(source, label, first_line)
    }

    /// The block's location label, such as ``section `Check` prologue``.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The 1-based line of the prompt file on which the block's Lua starts.
    #[must_use]
    pub fn first_line(&self) -> u32 {
        self.first_line
    }

    pub(crate) fn bytecode(&self) -> &[u8] {
        &self.bytecode
    }

    pub(crate) fn shared_label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }
}

/// Compiles the blocks of a file, one after the other.
#[derive(Debug, Default)]
pub struct Compiler {
    /// Had for the first block, and then used for all.
    state: Option<CompilerState>,
}

/// The state of a compiler that is gone: what it compiled left nothing behind, and making one takes longer than most blocks.
static IDLE: Mutex<Option<CompilerState>> = Mutex::new(None);

/// The most memory, in bytes, that an idle state may hold.
const IDLE_BYTES: usize = 1024 * 1024;

impl Drop for Compiler {
    fn drop(&mut self) {
        if let Some(state) = self.state.take()
            && state.memory() <= IDLE_BYTES
        {
            *IDLE.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
        }
    }
}

impl Compiler {
    /// Compiles `source` without running it. `label` is the block's location label and `first_line` the 1-based
    /// line of the prompt file that holds the block's first Lua line.
    ///
    /// # Errors
    ///
    /// [`CompileError`] when the source is not Lua 5.5, or no compiler could be had.
    pub fn compile(&mut self, source: &str, label: &str, first_line: u32) -> Result<Chunk, CompileError> {
        let bytecode = self.bytecode(source, &format!("line {first_line}"))?;
        Ok(Chunk {
            bytecode: bytecode.into(),
            label: label.into(),
            first_line,
        })
    }

    /// Compiles text to bytecode under a chunk name in Lua's own notation.
    pub(crate) fn bytecode(&mut self, source: &str, name: &str) -> Result<Vec<u8>, CompileError> {
        let state = match &mut self.state {
            Some(state) => state,
            none => none.insert(idle_or_new()?),
        };
        state.compile(source, name).map_err(|uncompiled| match uncompiled {
            Uncompiled::Syntax(message) => CompileError::Diagnostic(message),
            // A block that nests too deeply overflows the compiler's own stack, which Lua says without a place.
            Uncompiled::Gave(problem) => CompileError::Diagnostic(format!("[string \"{name}\"]:1: {problem}")),
            Uncompiled::Memory => no_memory(),
        })
    }
}

fn idle_or_new() -> Result<CompilerState, CompileError> {
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).take();
    idle.or_else(CompilerState::new).ok_or_else(no_memory)
}

fn no_memory() -> CompileError {
    CompileError::Unavailable("not enough memory".to_owned())
}
