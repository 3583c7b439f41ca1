//! `runvil contract`: shows what a prompt declares.

use std::fmt::Write as _;

use runvil_engine::prompt::Prompt;
use runvil_syntax::{ArgDeclaration, FileDeclaration, Frontmatter, RoleDeclaration};
use serde_json::{Value, json};

use crate::{
    args::ContractArgs,
    diagnostic,
    exit::{Exit, Fault},
    files::{self, MAX_PROMPT_BYTES},
    out,
};

pub(crate) fn contract(args: &ContractArgs) -> Result<Exit, Fault> {
    let source = files::read(&args.file, MAX_PROMPT_BYTES)?;
    let prompt = match Prompt::parse(&source, "contract").result {
        Ok(prompt) => prompt,
        Err(error) => {
            out::note(diagnostic::render(&args.file, &source, &error));
            return Ok(Exit::Failure);
        }
    };
    let contract = &prompt.tree().frontmatter;
    if args.json {
        out::print(format_args!("{}\n", to_json(contract)))?;
    } else {
        out::print(to_text(contract))?;
    }
    Ok(Exit::Success)
}

fn to_json(contract: &Frontmatter) -> Value {
    let args = contract.args.declarations.iter().map(|(name, arg)| {
        json!({
            "name": name,
            "type": arg.kind,
            "optional": arg.optional,
            "default": arg.default,
            "description": arg.description,
        })
    });
    let models = contract.models.iter().map(|(label, role)| {
        json!({
            "label": label,
            "keywords": role.keywords,
            "min_context": role.min_context,
            "description": role.description,
        })
    });
    json!({
        "name": contract.name,
        "description": contract.description,
        "runvil": contract.runvil,
        "max_tool_iterations": contract.max_tool_iterations,
        "input": contract.input,
        "output": contract.output,
        "uses": contract.uses,
        "args": args.collect::<Vec<_>>(),
        "models": models.collect::<Vec<_>>(),
    })
}

fn to_text(contract: &Frontmatter) -> String {
    let mut text = format!("{}\n", contract.name);
    for line in contract.description.lines() {
        let _ = writeln!(text, "  {line}");
    }
    match contract.runvil {
        Some(major) => line(&mut text, "runvil", &major.to_string(), None),
        None => line(&mut text, "runvil", "no version: the prompt does not run", None),
    }
    if let Some(rounds) = contract.max_tool_iterations {
        line(&mut text, "max_tool_iterations", &rounds.to_string(), None);
    }
    for (key, file) in [("input", &contract.input), ("output", &contract.output)] {
        if let Some(FileDeclaration { path, description }) = file {
            line(&mut text, key, path, Some(description));
        }
    }
    for entry in &contract.uses {
        line(&mut text, "uses", &entry.to_string(), None);
    }
    for (name, arg) in &contract.args.declarations {
        line(&mut text, "arg", &arg_text(name, arg), arg.description.as_deref());
    }
    for (label, role) in &contract.models {
        line(&mut text, "model", &role_text(label, role), role.description.as_deref());
    }
    text
}

fn line(text: &mut String, key: &str, value: &str, description: Option<&str>) {
    let _ = write!(text, "{key}: {value}");
    if let Some(description) = description {
        let _ = write!(text, " — {description}");
    }
    text.push('\n');
}

fn arg_text(name: &str, arg: &ArgDeclaration) -> String {
    let optional = if arg.optional { ", optional" } else { "" };
    let default = arg
        .default
        .as_ref()
        .map(|default| format!(", default {}", json!(default)));
    let kind = json!(arg.kind);
    format!(
        "{name} ({}{optional}{})",
        kind.as_str().unwrap_or_default(),
        default.unwrap_or_default()
    )
}

fn role_text(label: &str, role: &RoleDeclaration) -> String {
    let mut asks: Vec<String> = role
        .keywords
        .iter()
        .map(|keyword| json!(keyword).as_str().unwrap_or_default().to_owned())
        .collect();
    asks.extend(
        role.min_context
            .map(|tokens| format!("context of at least {tokens} tokens")),
    );
    if asks.is_empty() {
        label.to_owned()
    } else {
        format!("{label} ({})", asks.join(", "))
    }
}
