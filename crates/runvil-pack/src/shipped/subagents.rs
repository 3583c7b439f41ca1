//! The Pack `runvil/subagents`, which every run holds and which has no tools.

use std::sync::Arc;

use crate::name::PackName;
use crate::pack::Pack;
use crate::plugin::{PackRegistry, Plugin, RegistryError};
use crate::tool::Tool;

/// Adds the Pack `runvil/subagents`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubagentsPlugin;

impl Plugin for SubagentsPlugin {
    fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError> {
        let name: PackName = "runvil/subagents".parse().expect("a fully qualified name");
        registry.add(name, |_| Ok(Arc::new(Subagents)))
    }
}

struct Subagents;

impl Pack for Subagents {
    fn description(&self) -> &str {
        "Lets a prompt start tasks of its own."
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }
}
