//! Tools: the catalog, offers, the rendered tool list, calls (book: Tools).

use std::sync::Arc;

use runvil_lua::mlua::{self, Function, Lua};

use crate::{
    ChainId, EventKind, Failure, PackSnapshot, ToolFailure, ToolOutput, conversation::RoundCall,
    request::Asked, run::Run, section::SectionContext, wire::ToolSchema,
};

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

impl ToolScope {
    /// The id of the section's model, once its first tool call fixed it.
    pub(crate) fn model(&self) -> Option<&str> {
        None
    }

    /// Whether a local tool's handler runs.
    pub(crate) fn in_handler(&self) -> bool {
        false
    }
}

/// The tools that one loop round advertises: the section's rendered list, then the task built-ins as they stand.
#[derive(Default)]
pub(crate) struct Advertised {
    schemas: Vec<ToolSchema>,
}

impl Advertised {
    /// What the round's request carries.
    pub(crate) fn schemas(&self) -> &[ToolSchema] {
        &self.schemas
    }

    /// The catalog id behind a wire name; `None` for a local tool, a built-in and a name that is not advertised.
    pub(crate) fn tool_id(&self, _name: &str) -> Option<&str> {
        None
    }

    /// Refuses a round whose model called a name that it does not advertise: reports the first such call as failed.
    pub(crate) fn admit(
        &self,
        context: &SectionContext,
        calls: &[RoundCall],
    ) -> Result<(), Failure> {
        let scope = self.names();
        match calls.iter().find(|call| !scope.contains(&call.name)) {
            None => Ok(()),
            Some(call) => {
                context.report(EventKind::ToolCallFailed);
                Err(Failure::OutOfScopeTool {
                    name: call.name.clone(),
                    scope,
                    offered_elsewhere: false,
                })
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.schemas
            .iter()
            .map(|schema| schema.function.name.clone())
            .collect()
    }
}

/// The tools of the loop round that a section is about to send. The first call renders the section's tool list, with
/// the scope check's events; from then on offers raise. A round whose list cannot be built renders nothing.
pub(crate) fn advertise(_context: &SectionContext) -> Result<Arc<Advertised>, Failure> {
    Ok(Arc::default())
}

/// The Lua function that runs the calls of one round: it takes a [`crate::conversation::RoundCalls`] and returns a
/// sequence of the result texts in call order, or raises what ends the loop.
pub(crate) fn batch_runner(lua: &Lua, _context: &Arc<SectionContext>) -> mlua::Result<Function> {
    lua.create_function(|lua, _calls: mlua::Value| lua.create_table())
}

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
