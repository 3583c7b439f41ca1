//! Tools: the catalog, offers, the rendered tool list, calls (book: Tools).

use crate::{ChainId, PackSnapshot, ToolFailure, ToolOutput, request::Asked, run::Run};

/// The run's catalog of Packs and tools.
pub(crate) struct Catalog {}

impl Catalog {
    pub(crate) fn new(_packs: PackSnapshot) -> Self {
        Self {}
    }
}

/// What one section entry offered.
#[derive(Default)]
pub(crate) struct ToolScope {}

/// A tool operation that a block asks for.
pub(crate) enum ToolRequest {}

/// A Pack tool call that is out.
pub(crate) struct PendingCall {}

impl Run {
    pub(crate) fn serve_tool(&mut self, _id: &ChainId, request: ToolRequest) -> Asked {
        match request {}
    }

    /// A tool call was answered, or dropped where there is no output.
    pub(crate) fn tool_answered(
        &mut self,
        _id: &ChainId,
        _call: PendingCall,
        _output: Option<Result<ToolOutput, ToolFailure>>,
    ) {
    }
}
