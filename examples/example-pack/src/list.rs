//! The plain tool `pantry/list`.

use async_trait::async_trait;
use runvil_pack::{Arguments, PackId, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

/// The file of the run that holds its shopping list.
const FILE: &str = "shopping.md";

/// Adds items to the run's shopping list.
pub(crate) struct List {
    definition: ToolDefinition,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    items: Vec<String>,
}

impl List {
    pub(crate) fn new(pack: &PackId) -> Self {
        let id = pack.tool("list").expect("a tool name");
        // It is not safe to repeat: a second call would write the items a second time.
        let definition =
            ToolDefinition::new(id, "Add items to the shopping list and return the list.").parameters(json!({
                "type": "object",
                "properties": { "items": { "type": "array", "items": { "type": "string" } } },
                "required": ["items"],
                "additionalProperties": false,
            }));
        Self { definition }
    }
}

#[async_trait]
impl Tool for List {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, context: ToolContext) -> Result<ToolOutput, ToolError> {
        let arguments: ListArguments = serde_json::from_value(Value::Object(arguments))
            .map_err(|cause| ToolError::invalid_arguments("list: pass a list of items").with_cause(cause))?;
        let lines: String = arguments.items.iter().map(|item| format!("- {item}\n")).collect();
        // The files are those that the prompt's own `store` sees, under the identity of this very call.
        context.files().append(FILE, &lines).await?;
        Ok(ToolOutput::trusted(context.files().read(FILE).await?))
    }
}
