//! `web/fetch` as a tool.

use std::sync::Arc;

use async_trait::async_trait;
use runvil_pack::{Arguments, PackId, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::arguments::FetchCall;
use super::failure::Failure;
use super::page::{self, Page};
use crate::policy::CHARACTER_CEILING;
use crate::transport::HttpTransport;

/// Fetches one web page and returns it as text.
pub(crate) struct FetchTool {
    definition: ToolDefinition,
    transport: Arc<dyn HttpTransport>,
    runtime: Handle,
}

impl FetchTool {
    /// The fetch tool of the Pack `pack`, whose calls run on `runtime`.
    pub(crate) fn new(pack: &PackId, transport: Arc<dyn HttpTransport>, runtime: Handle) -> Self {
        let id = pack.tool("fetch").expect("a tool name");
        let definition = ToolDefinition::new(id, "Fetch a web page and return its main content as markdown.")
            .parameters(parameters())
            .repeat_safe();
        Self {
            definition,
            transport,
            runtime,
        }
    }

    /// Fetches on a task of its own, so that a fault in it ends the call and not the Host. Dropping the call ends the
    /// task, and with it the connection.
    async fn fetch(&self, call: FetchCall) -> Result<Page, Failure> {
        let transport = self.transport.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn_on(async move { page::fetch(&*transport, call).await }, &self.runtime);
        match tasks.join_next().await {
            Some(Ok(fetched)) => fetched,
            Some(Err(fault)) => {
                tracing::warn!("a fetch task did not finish: {fault}");
                Err(Failure::Unfinished)
            }
            None => Err(Failure::Unfinished),
        }
    }
}

#[async_trait]
impl Tool for FetchTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, _: ToolContext) -> Result<ToolOutput, ToolError> {
        let fetched = match FetchCall::parse(&arguments) {
            Ok(call) => self.fetch(call).await,
            Err(failure) => Err(failure),
        };
        match fetched {
            Ok(page) => Ok(ToolOutput::untrusted(page.to_string())),
            Err(failure) => failure.into_answer(),
        }
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": { "type": "string", "description": "The URL to fetch." },
            "max_chars": {
                "type": "integer",
                "minimum": 1,
                "maximum": CHARACTER_CEILING,
                "description": "Maximum number of characters of text to return for this call. Clamped to the \
                                configured ceiling. Longer text is truncated on a character boundary and the result \
                                is flagged as truncated.",
            },
            "raw": { "type": "boolean" },
        },
        "required": ["url"],
    })
}
