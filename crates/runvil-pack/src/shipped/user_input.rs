//! The Pack `runvil/user-input`, by which a prompt asks its operator (book: Asking the operator).

use std::sync::Arc;

use async_trait::async_trait;

use crate::arguments::Arguments;
use crate::context::ToolContext;
use crate::definition::ToolDefinition;
use crate::error::ToolError;
use crate::input::INPUT_BROKER;
use crate::name::PackName;
use crate::output::ToolOutput;
use crate::pack::Pack;
use crate::plugin::{PackRegistry, Plugin, RegistryError};
use crate::service::ServiceName;
use crate::tool::Tool;

const PRELUDE: &str = include_str!("user_input.lua");

/// Adds the Pack `runvil/user-input`, with its one tool `user-input/ask`.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserInputPlugin;

impl Plugin for UserInputPlugin {
    fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError> {
        let name: PackName = "runvil/user-input".parse().expect("a fully qualified name");
        registry.add(name, |context| {
            let id = context.id().tool("ask").expect("a tool name");
            let definition = ToolDefinition::new(id, "Wait for the operator's next message and return its text.")
                .survives_stop()
                .repeat_safe();
            Ok(Arc::new(UserInput {
                ask: Arc::new(Ask { definition }),
            }))
        })
    }
}

struct UserInput {
    ask: Arc<Ask>,
}

impl Pack for UserInput {
    fn description(&self) -> &str {
        "Ask the operator and wait for the answer."
    }

    fn prelude(&self) -> Option<&str> {
        Some(PRELUDE)
    }

    fn needs(&self) -> Vec<ServiceName> {
        vec![INPUT_BROKER.name()]
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![self.ask.clone()]
    }
}

struct Ask {
    definition: ToolDefinition,
}

#[async_trait]
impl Tool for Ask {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, _: Arguments, context: ToolContext) -> Result<ToolOutput, ToolError> {
        // A run without a broker never sees the tool; a Host that calls it all the same gets a failure.
        let broker = context
            .run_services()
            .get(INPUT_BROKER)
            .ok_or_else(|| ToolError::other("this run has no operator to ask"))?;
        Ok(ToolOutput::trusted(broker.ask().await?))
    }
}
