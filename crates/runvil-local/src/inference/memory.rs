//! Whether a model fits into memory.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::failure::Failure;
use crate::InstalledModel;

/// The memory of this machine, in bytes; 0 where the system does not tell.
#[derive(Debug, Clone, Copy)]
struct Memory {
    all: u64,
    free: u64,
}

/// Refuses a model that needs more memory than is free. A system that does not tell what is free refuses none.
pub(super) fn check(model: &InstalledModel, limit: Option<u64>) -> Result<(), Failure> {
    let mut memory = Memory::of_this_machine();
    if let Some(limit) = limit {
        memory.free = limit;
    }
    memory.check(model)
}

impl Memory {
    fn of_this_machine() -> Self {
        let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind);
        // A container may be allowed less than the machine has.
        let allowed = system.cgroup_limits();
        let less = |bytes: u64, allowed: Option<u64>| bytes.min(allowed.filter(|bytes| *bytes > 0).unwrap_or(u64::MAX));
        Self {
            all: less(
                system.total_memory(),
                allowed.as_ref().map(|limits| limits.total_memory),
            ),
            free: less(
                system.available_memory(),
                allowed.as_ref().map(|limits| limits.free_memory),
            ),
        }
    }

    fn check(self, model: &InstalledModel) -> Result<(), Failure> {
        let (name, needed) = (model.name.clone(), model.facts.memory);
        if self.all > 0 && needed > self.all {
            return Err(Failure::Machine {
                name,
                needed,
                all: self.all,
            });
        }
        if self.free > 0 && needed > self.free {
            return Err(Failure::Memory {
                name,
                needed,
                free: self.free,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelFacts;

    #[test]
    fn what_never_fits_is_told_from_what_does_not_fit_now() {
        let model = InstalledModel {
            name: "tiny".parse().expect("a name"),
            sha256: String::new(),
            bytes: 0,
            facts: ModelFacts {
                title: String::new(),
                architecture: String::new(),
                parameters: 0,
                quantization: String::new(),
                context: 0,
                memory: 300,
            },
        };
        let check = |all, free| Memory { all, free }.check(&model);
        assert!(matches!(check(200, 100), Err(Failure::Machine { .. })));
        assert!(matches!(check(400, 100), Err(Failure::Memory { .. })));
        assert!(check(400, 300).is_ok() && check(0, 0).is_ok());
    }
}
