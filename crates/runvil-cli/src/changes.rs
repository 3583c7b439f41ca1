//! What is not as it was when a run was recorded, said before anything runs.

use std::path::Path;

use runvil_engine::{Limits, ModelInfo, ThinkingMode};
use runvil_model::Catalog;
use serde_json::Value;

use crate::{
    budget::Budget,
    commands::run::read_ui,
    config::Config,
    files, local,
    models::{self, Gate, without_server},
    record,
    repeat::Known,
};

/// What a recorded run is taken up with.
pub(crate) struct Now<'a> {
    pub(crate) config: &'a Config,
    pub(crate) gate: Option<&'a Gate>,
    /// What the endpoint lists, where that is known.
    pub(crate) catalog: Option<&'a Catalog>,
    /// The budget that holds.
    pub(crate) budget: &'a Budget,
    /// The prompt file that is run in place of the recorded text.
    pub(crate) prompt: Option<&'a Path>,
}

/// Each change as a sentence, with the old and the new value and which of them holds.
pub(crate) fn changes(known: &Known, now: &Now<'_>) -> Vec<String> {
    let mut changes = Vec::new();
    version(&mut changes, known);
    prompt(&mut changes, known, now);
    given_files(&mut changes, known);
    endpoint(&mut changes, known, now);
    model(&mut changes, known, now);
    limits(&mut changes, &known.start().facts.limits, &now.config.limits);
    budgets(&mut changes, known, now);
    changes
}

fn version(changes: &mut Vec<String>, known: &Known) {
    let was = &known.settings.version;
    if was != record::VERSION && !was.is_empty() {
        changes.push(format!(
            "the run was recorded by version {was}, this is version {}",
            record::VERSION
        ));
    }
}

fn prompt(changes: &mut Vec<String>, known: &Known, now: &Now<'_>) {
    match (now.prompt, &known.run.file) {
        (Some(path), _) => changes.push(format!("{} is run in place of the recorded text", path.display())),
        (None, Some(file)) if known.edited().is_some() => {
            changes.push(format!("{file} was edited since; the recorded text is run"));
        }
        (None, Some(file)) if !Path::new(file).exists() => {
            changes.push(format!("{file} is gone; the recorded text is run"));
        }
        (None, _) => {}
    }
}

/// The files that the run was given, whose contents the record keeps.
fn given_files(changes: &mut Vec<String>, known: &Known) {
    let start = known.start();
    let mut compare = |path: Option<&Path>, is_same: &dyn Fn(&Path) -> bool, what: &str| match path {
        Some(path) if !path.exists() => {
            changes.push(format!("{} is gone; the recorded {what} is given", path.display()));
        }
        Some(path) if path.is_file() && !is_same(path) => changes.push(format!(
            "{} was edited since; the recorded {what} is given",
            path.display()
        )),
        _ => {}
    };
    let same_input = |path: &Path| files::read_text(path).ok() == start.input;
    compare(known.settings.input.as_deref(), &same_input, "input");
    let same_ui = |path: &Path| read_ui(path).ok() == start.facts.ui;
    compare(known.settings.ui.as_deref(), &same_ui, "UI snapshot");
}

fn endpoint(changes: &mut Vec<String>, known: &Known, now: &Now<'_>) {
    let (was, is) = (known.settings.endpoint.as_deref(), now.gate.map(Gate::root));
    if was != is {
        let [was, is] = [was, is].map(|root| root.unwrap_or("none"));
        changes.push(format!("the endpoint was {was} and is {is} now"));
    }
}

/// The model that a run would get now, beside the one that the run has.
fn model(changes: &mut Vec<String>, known: &Known, now: &Now<'_>) {
    let Some(was) = &known.start().model else { return };
    let name = name(was);
    let listed = now.catalog.map(|catalog| &catalog.models[..]).unwrap_or_default();
    let named = known.settings.model.as_deref().or(now.config.model.id.as_deref());
    let current = named
        .map(|named| without_server(named).to_owned())
        .or_else(|| listed.first().map(self::name));
    if let Some(current) = current.filter(|current| *current != name) {
        changes.push(format!(
            "the model was {name} and would be {current} now; {name} is asked"
        ));
    }
    if local::is_asked_for(&name) {
        return;
    }
    let found = listed.iter().find(|model| model.id == was.id);
    if found.is_none() && !listed.is_empty() {
        changes.push(format!("the endpoint does not list {name}; it is asked all the same"));
    }
    let said = found.cloned().or_else(|| models::assumed(was.id.name()).ok());
    if let Some(is) = said.map(|model| models::configured(model, now.config)) {
        let told = &now.config.model;
        if found.is_some() || told.context.is_some() {
            differs(changes, "the context window of the model", &was.context, &is.context);
        }
        if found.is_some() || told.thinking.is_some() {
            differs(changes, "whether the model thinks", thinking(was), thinking(&is));
        }
    }
}

/// The name that a person knows the model by.
fn name(model: &ModelInfo) -> String {
    let id = model.id.to_string();
    if local::is_asked_for(&id) {
        id
    } else {
        model.id.name().to_owned()
    }
}

fn thinking(model: &ModelInfo) -> &'static str {
    match model.thinking {
        ThinkingMode::Never => "never",
        ThinkingMode::Switchable => "switchable",
        ThinkingMode::Always => "always",
    }
}

/// A value that would be another one now, and stays.
fn differs<T: PartialEq + std::fmt::Display + ?Sized>(changes: &mut Vec<String>, what: &str, was: &T, is: &T) {
    if was != is {
        changes.push(format!("{what} was {was} and would be {is} now; {was} holds"));
    }
}

fn limits(changes: &mut Vec<String>, was: &Limits, is: &Limits) {
    let values = |limits: &Limits| match serde_json::to_value(limits) {
        Ok(Value::Object(values)) => values,
        _ => serde_json::Map::new(),
    };
    let (was, is) = (values(was), values(is));
    for (key, was) in &was {
        if let Some(is) = is.get(key) {
            differs(changes, &format!("`{key}` under [limits]"), was, is);
        }
    }
}

/// The budget, where the command line says another one or the configuration has changed.
fn budgets(changes: &mut Vec<String>, known: &Known, now: &Now<'_>) {
    let (Some(was), Some(configured)) = (known.settings.budget(), known.settings.configured_budget) else {
        return;
    };
    let rows = |budget: &Budget| {
        let count = |count: Option<u64>| count.map_or_else(|| "none".to_owned(), |count| count.to_string());
        [
            count(budget.max_rounds),
            count(budget.max_total_tokens),
            budget
                .max_seconds
                .map_or_else(|| "none".to_owned(), |seconds| seconds.to_string()),
        ]
    };
    let names = ["max_rounds", "max_total_tokens", "max_seconds"];
    let values = rows(&was).into_iter().zip(rows(now.budget));
    let settings = rows(&configured).into_iter().zip(rows(&now.config.budget));
    for ((name, (was, holds)), (said, says)) in names.into_iter().zip(values).zip(settings) {
        if was != holds {
            changes.push(format!("`{name}` was {was} and is {holds} now"));
        } else if said != says {
            changes.push(format!(
                "`{name}` under [budget] was {said} and is {says} now; {holds} holds"
            ));
        }
    }
}
