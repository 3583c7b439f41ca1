//! The structured tool `pantry/count`.

use std::sync::Arc;

use async_trait::async_trait;
use runvil_pack::{Arguments, PackId, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::stock::Stock;

/// Says how much of an item there is.
pub(crate) struct Count {
    definition: ToolDefinition,
    stock: Arc<dyn Stock>,
}

/// What a call passes. Parsing the arguments into a type checks them and documents them at once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CountArguments {
    item: String,
}

impl Count {
    pub(crate) fn new(pack: &PackId, stock: Arc<dyn Stock>) -> Self {
        let id = pack.tool("count").expect("a tool name");
        let definition = ToolDefinition::new(id, "Say how much of an item is in stock.")
            .parameters(json!({
                "type": "object",
                "properties": { "item": { "type": "string", "description": "The item's name." } },
                "required": ["item"],
                "additionalProperties": false,
            }))
            // Lua gets a table. That works because the output is trusted: the stock is our own.
            .structured()
            // Asking twice changes nothing.
            .repeat_safe();
        Self { definition, stock }
    }
}

#[async_trait]
impl Tool for Count {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, _: ToolContext) -> Result<ToolOutput, ToolError> {
        let arguments: CountArguments = serde_json::from_value(Value::Object(arguments)).map_err(|cause| {
            // The message is for the model; the cause stays in the Host's log.
            ToolError::invalid_arguments("count: pass the item's name as text").with_cause(cause)
        })?;
        let count = self
            .stock
            .count(&arguments.item)
            .await
            .map_err(|message| ToolError::new(ToolErrorKind::Backend, format!("count: {message}")))?;
        Ok(ToolOutput::trusted(
            json!({ "item": arguments.item, "count": count }).to_string(),
        ))
    }
}
