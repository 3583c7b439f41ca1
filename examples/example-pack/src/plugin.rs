//! The Plugin and the Pack.

use std::sync::Arc;

use runvil_pack::{Pack, PackName, PackRegistry, Plugin, RegistryError, Tool};

use crate::count::Count;
use crate::list::List;
use crate::stock::STOCK;

/// Adds the Pack `acme/pantry`.
#[derive(Debug, Clone, Copy, Default)]
pub struct PantryPlugin;

impl Plugin for PantryPlugin {
    fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError> {
        let name: PackName = "acme/pantry".parse().expect("a fully qualified name");
        registry.add(name, |context| {
            // Without the service the Pack is unavailable, for a reason that a prompt's author can read.
            let stock = context.require(STOCK)?;
            let tools: Vec<Arc<dyn Tool>> = vec![
                Arc::new(Count::new(context.id(), stock)),
                Arc::new(List::new(context.id())),
            ];
            Ok(Arc::new(Pantry { tools }))
        })
    }
}

struct Pantry {
    tools: Vec<Arc<dyn Tool>>,
}

impl Pack for Pantry {
    fn description(&self) -> &str {
        "Know the pantry and keep a shopping list."
    }

    fn prelude(&self) -> Option<&str> {
        Some(include_str!("pantry.lua"))
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }
}
