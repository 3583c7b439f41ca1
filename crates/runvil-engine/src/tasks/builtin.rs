//! How the task built-ins show themselves to a model (book: Giving the model task tools).

use serde_json::{Value, json};

use super::AllowedTargets;
use crate::wire::ToolSchema;

/// The four names, in the order in which a round lists them.
const NAMES: [&str; 4] = ["task", "task_cancel", "task_status", "await_tasks"];

/// Whether a name is reserved for a built-in.
pub(crate) fn is_builtin(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The built-ins as a round offers them under an allowlist.
pub(crate) fn builtin_schemas(allowed: &AllowedTargets) -> [ToolSchema; 4] {
    let [task, task_cancel, task_status, await_tasks] = NAMES;
    let targets = match allowed {
        AllowedTargets::Any => {
            "any section of this prompt, named by its heading (for example `## Research`).".to_owned()
        }
        AllowedTargets::Listed(headings) => format!("one of: {}", headings.join(", ")),
    };
    let start = format!(
        "Start a background task that runs one section of this prompt, and get its id at once. Check on it with \
         task_status, or wait for it with await_tasks. `target` must be {targets}"
    );
    let cancel = "Cancel a task you started, by id. Cancelling a task that already ended does nothing.";
    let status = "Report a task you started: running, done, cancelled, or abandoned, with what it is waiting on and its \
                  latest progress note.";
    let wait = "Wait until one of the tasks you started ends, then return every task result that arrived. With a \
                `timeout`, return after that many seconds at the latest; the tasks go on.";
    let by_id = || {
        object(
            &json!({ "id": text("The task id, exactly as task returned it.") }),
            &["id"],
        )
    };
    let target = json!({
        "target": text("The section to run, named by its heading with its `#` markers."),
        "input": text("The argument string of the task; without it the task gets yours."),
    });
    let timeout = json!({ "timeout": { "type": "number", "description": "Optional: the most seconds to wait." } });
    [
        ToolSchema::new(task, start, object(&target, &["target"])),
        ToolSchema::new(task_cancel, cancel, by_id()),
        ToolSchema::new(task_status, status, by_id()),
        ToolSchema::new(await_tasks, wait, object(&timeout, &[])),
    ]
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_what_each_built_in_does_and_takes() {
        let allowed = AllowedTargets::Listed(vec!["## Research".to_owned(), "## Draft".to_owned()]);
        let [task, task_cancel, task_status, await_tasks] = builtin_schemas(&allowed).map(|schema| schema.function);
        assert!(
            task.description
                .contains("`target` must be one of: ## Research, ## Draft")
        );
        assert!(task_cancel.description.starts_with("Cancel a task you started, by id."));
        assert!(
            task_status
                .description
                .starts_with("Report a task you started: running, done, cancelled, or abandoned")
        );
        assert!(
            await_tasks
                .description
                .starts_with("Wait until one of the tasks you started ends, then return every")
        );
        assert_eq!(task.parameters["required"], json!(["target"]));
        for by_id in [task_cancel, task_status] {
            let id = &by_id.parameters["properties"]["id"]["description"];
            assert_eq!(id, "The task id, exactly as task returned it.");
        }
        let timeout = json!({ "type": "number", "description": "Optional: the most seconds to wait." });
        assert_eq!(await_tasks.parameters["properties"]["timeout"], timeout);
    }
}
