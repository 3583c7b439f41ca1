//! `runvil check`: parses prompt files and compiles their Lua.

use std::path::Path;

use runvil_engine::prompt::Prompt;
use runvil_syntax::{Block, Section};
use serde_json::{Value, json};

use crate::{
    args::CheckArgs,
    diagnostic,
    exit::{Exit, Fault},
    files::{self, MAX_PROMPT_BYTES},
    out,
};

/// The execution id of parses that no run follows.
const EXECUTION: &str = "check";

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Fault> {
    let mut entries = Vec::new();
    let mut exit = Exit::Success;
    for path in &args.files {
        let entry = check_file(path, args.json);
        if entry.is_err() {
            exit = Exit::Failure;
        }
        entries.push(entry.unwrap_or_else(|entry| entry));
    }
    if args.json {
        out::print(format_args!("{}\n", Value::Array(entries)))?;
    }
    Ok(exit)
}

/// Checks one file, and tells its result unless it is kept for the JSON array. Both ways out hold the array's entry.
fn check_file(path: &Path, quiet: bool) -> Result<Value, Value> {
    let name = path.display().to_string();
    let bad = |text: String, error: Value| {
        if !quiet {
            out::note(text);
        }
        Err(json!({ "file": name, "ok": false, "error": error, "warnings": [] }))
    };
    let source = match files::read(path, MAX_PROMPT_BYTES) {
        Ok(source) => source,
        Err(error) => {
            let message = error.to_string();
            return bad(
                Fault::from(error).to_string(),
                json!({ "code": "unreadable", "message": message }),
            );
        }
    };
    match Prompt::parse(&source, EXECUTION).result {
        Ok(_) => {
            let warnings = warnings(&source);
            if !quiet {
                for (line, message) in &warnings {
                    out::note(format_args!("{name}:{line}: warning: {message}"));
                }
                out::note(format_args!("{name}: ok"));
            }
            let told = |(line, message)| json!({ "line": line, "message": message });
            let warnings: Vec<Value> = warnings.into_iter().map(told).collect();
            Ok(json!({ "file": name, "ok": true, "error": null, "warnings": warnings }))
        }
        Err(error) => bad(
            diagnostic::render(path, &source, &error),
            diagnostic::to_json(&source, &error),
        ),
    }
}

/// What is no error and hardly meant, each with its line.
fn warnings(source: &[u8]) -> Vec<(u32, String)> {
    let Ok(prompt) = runvil_syntax::parse_structure(source) else {
        return Vec::new();
    };
    // Lua can read any section through `prompt`.
    if prompt.lua_blocks().any(|block| block.source.contains("prompt")) {
        return Vec::new();
    }
    let sections = prompt.sections.iter().filter(|section| has_only_prose(section));
    let warning = |section: &Section| {
        let message = format!("section `{}` has prose but no Lua, so no model sees it", section.name);
        (section.line, message)
    };
    sections.map(warning).collect()
}

/// Whether a section has text that only its own Lua could send to a model, and no Lua. The items of a list have a use of
/// their own.
fn has_only_prose(section: &Section) -> bool {
    let is_prose = |block: &Block| matches!(block, Block::Prose(_));
    !section.blocks.is_empty() && section.blocks.iter().all(is_prose) && section.items.is_none()
}
