//! What the parser asks of its caller: to compile each Lua block, and to hear what happens.

use serde::{Deserialize, Serialize};

use crate::LuaBlock;

/// Compiles a prompt's Lua blocks while the file is parsed, so that a block's error has its place among the others.
pub trait Compiler {
    /// Compiles one block without running it. It is called once for each block in source order, so that the `n`th call brings the
    /// block whose [`LuaBlock::index`] is `n`.
    ///
    /// # Errors
    /// The block does not compile, or the compiler cannot start. The parse ends with that problem.
    fn compile(&mut self, block: &LuaBlock) -> Result<(), CompileError>;

    /// Hears one parse event (book: The six parse event kinds).
    fn report(&mut self, event: ParseEvent<'_>) {
        let _ = event;
    }
}

/// Takes every Lua block as it is, for a reader that wants the structure alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uncompiled;

impl Compiler for Uncompiled {
    fn compile(&mut self, _block: &LuaBlock) -> Result<(), CompileError> {
        Ok(())
    }
}

/// Why a block was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The source is not Lua. Holds the compiler's own diagnostic.
    #[error("{0}")]
    Syntax(String),
    /// The compiler failed through no fault of the source.
    #[error("{0}")]
    Internal(String),
}

/// One thing that happens during a parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseEvent<'a> {
    /// What happens.
    pub kind: ParseEventKind,
    /// The section whose block it concerns, the H1 title for a block of the H1 body, and [`ParseEvent::PROMPT`] for the parse itself.
    pub section: &'a str,
}

impl ParseEvent<'_> {
    /// The section name under which the parse itself is reported.
    pub const PROMPT: &'static str = "Prompt";
}

/// The six parse event kinds, in the order of a parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParseEventKind {
    /// Parsing begins.
    ParseStarted,
    /// A Lua block starts to compile.
    LuaCompilationStarted,
    /// That block compiled.
    LuaCompilationSucceeded,
    /// That block did not compile.
    LuaCompilationFailed,
    /// The whole file parsed.
    ParseSucceeded,
    /// The parse failed.
    ParseFailed,
}
