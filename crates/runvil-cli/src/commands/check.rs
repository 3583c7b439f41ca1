//! `runvil check`: parses prompt files and compiles their Lua.

use std::path::Path;

use runvil_engine::prompt::Prompt;
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
        Err(json!({ "file": name, "ok": false, "error": error }))
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
            if !quiet {
                out::note(format_args!("{name}: ok"));
            }
            Ok(json!({ "file": name, "ok": true, "error": null }))
        }
        Err(error) => bad(
            diagnostic::render(path, &source, &error),
            diagnostic::to_json(&source, &error),
        ),
    }
}
