//! The tool trait.

use async_trait::async_trait;

use crate::arguments::Arguments;
use crate::context::ToolContext;
use crate::definition::ToolDefinition;
use crate::error::ToolError;
use crate::output::ToolOutput;

/// One operation of a Pack.
///
/// The Harness performs each call once and never retries it. A call ends early when its future is dropped: on a cancel,
/// at the end of the run or of the chain that made the call, and on a stop unless the definition survives it. A tool
/// that works outside its future, on a thread of its own, watches [`ToolContext::cancellation`] instead.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The tool's entry in the catalog.
    fn definition(&self) -> &ToolDefinition;

    /// Performs one call. Calls of one run and of several runs may be open at the same time.
    ///
    /// # Errors
    /// The failure's message reaches the model that made the call, or the calling Lua.
    async fn call(&self, arguments: Arguments, context: ToolContext) -> Result<ToolOutput, ToolError>;
}
