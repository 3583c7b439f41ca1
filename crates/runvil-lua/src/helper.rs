//! Lua that belongs to the program itself.

use std::sync::OnceLock;

use crate::chunk::Compiler;

/// A Lua source file of the program: compiled once in a process, loaded as bytecode into each VM that needs it.
///
/// Its frames show as `name:line:` in tracebacks and are never mapped to prompt lines (book: Errors that pass
/// through several blocks).
#[derive(Debug)]
pub struct Helper {
    name: &'static str,
    source: &'static str,
    bytecode: OnceLock<Vec<u8>>,
    nests: bool,
}

impl Helper {
    /// Names the source. `name` is what tracebacks show, such as `runvil/tasks.lua`.
    #[must_use]
    pub const fn new(name: &'static str, source: &'static str) -> Self {
        Self {
            name,
            source,
            bytecode: OnceLock::new(),
            nests: false,
        }
    }

    /// As [`Helper::new`], for functions whose calls may nest as deep as Lua's own do. Authors are handed them as they are,
    /// since calls through C nest some 200 deep.
    #[must_use]
    pub const fn nesting(name: &'static str, source: &'static str) -> Self {
        Self {
            name,
            source,
            bytecode: OnceLock::new(),
            nests: true,
        }
    }

    pub(crate) fn nests(&self) -> bool {
        self.nests
    }

    pub(crate) fn bytecode(&self) -> &[u8] {
        self.bytecode.get_or_init(|| {
            let compiled = Compiler::default().bytecode(self.source, &format!("={}", self.name));
            compiled.expect("a helper is part of the program and compiles")
        })
    }
}
