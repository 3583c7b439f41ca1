//! The tool list that the model is sent (book: Which tools a round advertises).

use std::{collections::BTreeMap, sync::Arc};

use super::ToolScope;
use crate::{
    EventKind, Failure,
    conversation::RoundCall,
    section::SectionContext,
    tasks::{builtin_schemas, is_builtin},
    wire::ToolSchema,
};

use super::Catalog;

/// A section's list as its first loop round fixed it.
pub(super) struct Rendered {
    schemas: Vec<ToolSchema>,
    /// The catalog ids by wire name.
    bound: BTreeMap<String, String>,
}

/// The tools that one loop round advertises: the section's rendered list, then the task built-ins as they stand.
pub(crate) struct Advertised {
    rendered: Arc<Rendered>,
    schemas: Vec<ToolSchema>,
}

impl Rendered {
    fn new(scope: &ToolScope, catalog: &Catalog) -> Self {
        let locals = scope.locals().iter().filter(|local| !is_builtin(&local.function.name));
        let mut rendered = Self {
            schemas: Vec::new(),
            bound: BTreeMap::new(),
        };
        for tool in scope.bound(catalog).into_iter().filter_map(|id| catalog.offered(id)) {
            let Some(schema) = tool
                .offered
                .as_ref()
                .filter(|schema| !scope.has_local(&schema.function.name))
            else {
                continue;
            };
            rendered.bound.insert(schema.function.name.clone(), tool.id.clone());
            rendered.schemas.push(schema.clone());
        }
        rendered.schemas.extend(locals.cloned());
        rendered
    }

    /// The catalog id behind a wire name.
    pub(super) fn bound(&self, name: &str) -> Option<&str> {
        self.bound.get(name).map(String::as_str)
    }
}

impl Advertised {
    /// What the round's request carries.
    pub(crate) fn schemas(&self) -> &[ToolSchema] {
        &self.schemas
    }

    /// The catalog id behind a wire name; `None` for a local tool, a built-in and a name that is not advertised.
    pub(crate) fn tool_id(&self, name: &str) -> Option<&str> {
        self.rendered.bound(name)
    }

    /// Refuses a round whose model called a name that it does not advertise: reports the first such call as failed.
    pub(crate) fn admit(&self, context: &SectionContext, calls: &[RoundCall]) -> Result<(), Failure> {
        let scope: Vec<_> = self.schemas.iter().map(|schema| schema.function.name.clone()).collect();
        match calls.iter().find(|call| !scope.contains(&call.name)) {
            None => Ok(()),
            Some(call) => {
                context.report(EventKind::ToolCallFailed);
                let offered_elsewhere = context.run.catalog.by_wire_name(&call.name).is_some();
                Err(Failure::OutOfScopeTool {
                    name: call.name.clone(),
                    scope,
                    offered_elsewhere,
                })
            }
        }
    }
}

/// The tools of the loop round that a section is about to send. The first call renders the section's tool list, with
/// the scope check's events; from then on offers raise.
pub(crate) fn advertise(context: &SectionContext) -> Result<Arc<Advertised>, Failure> {
    let rendered = context.state().tools.rendered.clone();
    let rendered = match rendered {
        Some(rendered) => rendered,
        None => {
            context.report(EventKind::ToolScopeValidationStarted);
            let mut state = context.state();
            let rendered = Arc::new(Rendered::new(&state.tools, &context.run.catalog));
            state.tools.rendered = Some(Arc::clone(&rendered));
            drop(state);
            context.report(EventKind::ToolScopeValidationSucceeded);
            rendered
        }
    };
    let mut schemas = rendered.schemas.clone();
    if let Some(allowed) = &context.state().tools.allowed {
        schemas.extend(builtin_schemas(allowed));
    }
    Ok(Arc::new(Advertised { rendered, schemas }))
}
