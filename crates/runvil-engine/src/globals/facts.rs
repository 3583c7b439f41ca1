//! `sys`: the facts that the run keeps about itself (book: Run facts in `sys` and `ui`).

use serde_json::{Map, Value};

use super::when;
use crate::section::SectionContext;

/// One field of `sys`, `None` where there is none now.
pub(crate) fn get(context: &SectionContext, field: &str) -> Option<Value> {
    let run = &context.run;
    Some(match field {
        "when" => when::render(run.facts.started_at).into(),
        "id" => context.id.as_str().into(),
        "taskid" => context.task.to_string().into(),
        "section_name" => context.name.as_str().into(),
        "execution" => run.facts.name.as_str().into(),
        "section_count" => run.prompt.tree().top_level.len().into(),
        "index" => context.seeds.as_ref()?.index?.into(),
        "model" => context.state().tools.model()?.into(),
        _ => return None,
    })
}

/// Every field that there is now.
pub(crate) fn all(context: &SectionContext) -> Value {
    const FIELDS: [&str; 8] =
        ["when", "id", "taskid", "section_name", "execution", "section_count", "index", "model"];
    let fields = FIELDS.into_iter().filter_map(|field| Some((field.to_owned(), get(context, field)?)));
    Value::Object(fields.collect::<Map<_, _>>())
}
