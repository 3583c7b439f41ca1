//! The one snapshot that a run takes of its Packs, and what it finds lacking (book: Packs at prepare).

use std::{collections::BTreeMap, sync::Arc};

use runvil_engine::{PackEntry, PackSnapshot, ToolEntry};
use runvil_pack::{OutputKind, Pack, PackId, PackName, ServiceName, Tool, ToolDefinition};
use serde::{Deserialize, Serialize};

use super::pick::{Picked, Supply};
use crate::requirements::{MissingService, RequirementsReport, UnavailablePack};

/// The tools that a run can call, by tool id. It stays fixed for the whole run.
pub(crate) type ToolTable = BTreeMap<String, Arc<dyn Tool>>;

/// One Pack of a run's roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterEntry {
    /// The fully qualified name. Of a declared Pack that the Host lacks, the one that the entry means.
    pub name: PackName,
    /// Whether the prompt declares it.
    pub declared: bool,
    /// Why it cannot serve this run; `None` for a Pack that can.
    pub unavailable: Option<String>,
}

/// A run's Packs, as they stood after the wait.
#[derive(Default)]
pub(crate) struct RunPacks {
    pub(crate) snapshot: PackSnapshot,
    pub(crate) tools: ToolTable,
    pub(crate) roster: Vec<RosterEntry>,
    /// What declared Packs lack.
    pub(crate) report: RequirementsReport,
}

impl RunPacks {
    /// Takes the snapshot. `provides` tells whether the run has a service.
    pub(crate) fn take(picked: Vec<Picked>, provides: impl Fn(&ServiceName) -> bool) -> Self {
        let mut packs = Self::default();
        for Picked { name, declared, supply } in picked {
            match supply {
                Supply::Missing => packs.report.missing_packs.push(name.id()),
                Supply::Unavailable(reason) => packs.add_unavailable(name, declared, reason),
                Supply::Pack(pack) => packs.add_built(name, declared, &*pack, &provides),
            }
        }
        packs
    }

    fn add_unavailable(&mut self, name: PackName, declared: bool, reason: String) {
        if declared {
            self.report.unavailable_packs.push(UnavailablePack {
                pack: name.id(),
                reason: reason.clone(),
            });
        }
        self.add_without_tools(name, declared, reason);
    }

    fn add_built(&mut self, name: PackName, declared: bool, pack: &dyn Pack, provides: impl Fn(&ServiceName) -> bool) {
        let lacking: Vec<String> = pack
            .needs()
            .iter()
            .filter(|service| !provides(service))
            .map(ToString::to_string)
            .collect();
        if lacking.is_empty() {
            return self.add_usable(name, declared, pack);
        }
        let reason = format!("the run lacks the services it needs: {}", lacking.join(", "));
        if declared {
            let gaps = lacking.into_iter().map(|service| MissingService {
                pack: name.id(),
                service,
            });
            self.report.missing_services.extend(gaps);
        }
        self.add_without_tools(name, declared, reason);
    }

    fn add_without_tools(&mut self, name: PackName, declared: bool, reason: String) {
        self.snapshot.packs.push(PackEntry {
            id: name.id().into(),
            declared,
            unavailable: Some(reason.clone()),
            prelude: None,
            tools: Vec::new(),
        });
        self.roster.push(RosterEntry {
            name,
            declared,
            unavailable: Some(reason),
        });
    }

    fn add_usable(&mut self, name: PackName, declared: bool, pack: &dyn Pack) {
        let id = name.id();
        let tools = pack
            .tools()
            .into_iter()
            .filter_map(|tool| self.add_tool(&id, tool))
            .collect();
        self.snapshot.packs.push(PackEntry {
            id: id.into(),
            declared,
            unavailable: None,
            prelude: pack.prelude().filter(|_| declared).map(str::to_owned),
            tools,
        });
        self.roster.push(RosterEntry {
            name,
            declared,
            unavailable: None,
        });
    }

    /// Puts a tool into the catalog, unless its id is not the Pack's to give.
    fn add_tool(&mut self, pack: &PackId, tool: Arc<dyn Tool>) -> Option<ToolEntry> {
        let definition = tool.definition().clone();
        if !definition.id.belongs_to(pack) {
            tracing::warn!(%pack, tool = %definition.id, "a Pack's tool id escapes its Pack id; dropped");
            return None;
        }
        if self.tools.contains_key(definition.id.as_str()) {
            tracing::warn!(%pack, tool = %definition.id, "a Pack has two tools of one id; the second is dropped");
            return None;
        }
        self.tools.insert(definition.id.to_string(), tool);
        Some(entry(definition))
    }
}

fn entry(definition: ToolDefinition) -> ToolEntry {
    ToolEntry {
        id: definition.id.into(),
        description: definition.description,
        parameters: definition.parameters,
        structured: definition.output == OutputKind::Structured,
        survives_stop: definition.survives_stop,
    }
}
