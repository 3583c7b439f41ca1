//! Whether a model fits into memory.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::failure::Failure;
use crate::InstalledModel;

/// Refuses a model that needs more memory than is free. A system that does not tell what is free refuses none.
pub(super) fn check(model: &InstalledModel, limit: Option<u64>) -> Result<(), Failure> {
    let free = limit.unwrap_or_else(free_bytes);
    let needed = model.facts.memory;
    if free > 0 && needed > free {
        return Err(Failure::Memory {
            name: model.name.clone(),
            needed,
            free,
        });
    }
    Ok(())
}

fn free_bytes() -> u64 {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    // A container may be allowed less than the machine has.
    let allowed = system.cgroup_limits().map(|limits| limits.free_memory);
    system
        .available_memory()
        .min(allowed.filter(|free| *free > 0).unwrap_or(u64::MAX))
}
