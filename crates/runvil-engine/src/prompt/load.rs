//! Loading: one ordered pass of the parser, with each Lua block compiled on the way.

use runvil_lua::{Chunk, CompileError as LuaError, Compiler as LuaCompiler};
use runvil_syntax::{CompileError, Compiler, LuaBlock, ParseError, ParseEvent, ParseEventKind};

use super::Prompt;
use crate::{ChainId, Event, EventKind, Location, Provenance, RunError, RunErrorKind};

/// The location path of a failure that happens before the prompt's name is known. The Host replaces it.
const UNNAMED: &str = "<prompt>";

/// What a parse gives: its events in every case, and the prompt or the first problem.
#[derive(Debug)]
pub struct Parsed {
    /// The parse events, the first records of a run.
    pub events: Vec<Event>,
    /// The prompt, or why there is none.
    pub result: Result<Prompt, ParseError>,
}

impl Prompt {
    /// Parses a file and compiles its Lua blocks. Nothing of it runs.
    #[must_use]
    pub fn parse(source: &[u8], execution: &str) -> Parsed {
        let mut loader = Loader {
            execution,
            events: Vec::new(),
            chunks: Vec::new(),
            lua: LuaCompiler::default(),
        };
        let parsed = runvil_syntax::parse(source, &mut loader);
        let Loader { events, chunks, .. } = loader;
        let parse_events = events.len() as u64;
        let result = parsed.map(|tree| Prompt {
            tree,
            chunks,
            hash: Prompt::hash_of(source),
            parse_events,
        });
        Parsed { events, result }
    }
}

struct Loader<'a> {
    execution: &'a str,
    events: Vec<Event>,
    chunks: Vec<Chunk>,
    lua: LuaCompiler,
}

impl Compiler for Loader<'_> {
    fn compile(&mut self, block: &LuaBlock) -> Result<(), CompileError> {
        let compiled = self.lua.compile(&block.source, &block.location, block.line);
        let chunk = compiled.map_err(|error| match error {
            LuaError::Diagnostic(diagnostic) => CompileError::Syntax(diagnostic),
            error @ LuaError::Unavailable(_) => CompileError::Internal(error.to_string()),
        })?;
        self.chunks.push(chunk);
        Ok(())
    }

    fn report(&mut self, event: ParseEvent<'_>) {
        let kind = match event.kind {
            ParseEventKind::ParseStarted => EventKind::ParseStarted,
            ParseEventKind::ParseSucceeded => EventKind::ParseSucceeded,
            ParseEventKind::ParseFailed => EventKind::ParseFailed,
            ParseEventKind::LuaCompilationStarted => EventKind::LuaCompilationStarted,
            ParseEventKind::LuaCompilationSucceeded => EventKind::LuaCompilationSucceeded,
            ParseEventKind::LuaCompilationFailed => EventKind::LuaCompilationFailed,
        };
        self.events.push(Event {
            execution: self.execution.to_owned(),
            section: event.section.to_owned(),
            provenance: Provenance {
                task: ChainId::root(),
                sequence: self.events.len() as u64,
            },
            kind,
        });
    }
}

impl From<&ParseError> for RunError {
    /// The run error of a file that does not parse (book: `Parse` and `Version`).
    fn from(error: &ParseError) -> Self {
        let location = Location {
            path: error.name.as_deref().unwrap_or(UNNAMED).to_owned(),
            line: error.line(),
            column: error.column(),
            span: error.span.map(|span| (span.start, span.end)),
        };
        RunError {
            location: Some(location),
            ..RunError::new(RunErrorKind::Parse, error.message())
        }
    }
}
