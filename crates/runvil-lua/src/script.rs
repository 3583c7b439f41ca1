//! Lua that comes from outside the prompt and the program, such as a Pack's prelude.

use std::sync::Arc;

use crate::chunk::{CompileError, Compiler};

/// A compiled Lua source with a name of its own, which its frames and errors show as `name:line:`.
#[derive(Clone, Debug)]
pub struct Script {
    bytecode: Arc<[u8]>,
}

impl Script {
    /// Compiles `source` without running it.
    ///
    /// # Errors
    ///
    /// [`CompileError`] when the source is not Lua 5.5, or no compiler could be had.
    pub fn compile(source: &str, name: &str) -> Result<Self, CompileError> {
        let bytecode = Compiler::default().bytecode(source, &format!("={name}"))?.into();
        Ok(Self { bytecode })
    }

    pub(crate) fn bytecode(&self) -> &[u8] {
        &self.bytecode
    }
}
