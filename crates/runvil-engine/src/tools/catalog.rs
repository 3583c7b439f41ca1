//! The run's catalog: its Packs, its tools, and which of them a section can offer (book: The tool catalog and extra Packs).

use std::collections::{BTreeMap, BTreeSet};

use runvil_lua::Script;

use crate::{PackSnapshot, ToolEntry, tasks::is_builtin, wire::ToolSchema};

/// The run's catalog of Packs and tools.
pub(crate) struct Catalog {
    /// Every tool by its id.
    tools: BTreeMap<String, CatalogTool>,
    /// The tool ids of the offering by wire name.
    wire_names: BTreeMap<String, String>,
    /// The Packs that can serve the run, by Pack id.
    packs: BTreeMap<String, CatalogPack>,
    /// Why a Pack cannot serve the run.
    unavailable: BTreeMap<String, String>,
    /// The declared Packs' preludes in declaration order.
    preludes: Vec<PackPrelude>,
}

/// One tool of the catalog.
pub(crate) struct CatalogTool {
    pub(crate) id: String,
    pub(crate) structured: bool,
    pub(crate) survives_stop: bool,
    /// How the model sees it; `None` for a tool that the offering cannot hold.
    pub(crate) offered: Option<ToolSchema>,
    pub(crate) description: String,
}

/// One Pack that can serve the run.
pub(crate) struct CatalogPack {
    pub(crate) declared: bool,
    /// Its offered tools in id order.
    pub(crate) tools: Vec<String>,
}

/// The Lua that a declared Pack adds to every section VM.
pub(crate) struct PackPrelude {
    pub(crate) pack: String,
    /// The compiled source, or why it does not compile.
    pub(crate) script: Result<Script, String>,
}

impl Catalog {
    pub(crate) fn new(snapshot: PackSnapshot) -> Self {
        let mut catalog = Self {
            tools: BTreeMap::new(),
            wire_names: BTreeMap::new(),
            packs: BTreeMap::new(),
            unavailable: BTreeMap::new(),
            preludes: Vec::new(),
        };
        let mut entries = BTreeMap::new();
        for pack in snapshot.packs {
            if let Some(reason) = pack.unavailable {
                catalog.unavailable.insert(pack.id, reason);
                continue;
            }
            if pack.declared
                && let Some(source) = pack.prelude
            {
                let script = Script::compile(&source, &format!("pack:{}", pack.id));
                let script = script.map_err(|error| error.to_string());
                catalog.preludes.push(PackPrelude {
                    pack: pack.id.clone(),
                    script,
                });
            }
            catalog.packs.insert(
                pack.id,
                CatalogPack {
                    declared: pack.declared,
                    tools: Vec::new(),
                },
            );
            entries.extend(pack.tools.into_iter().map(|tool| (tool.id.clone(), tool)));
        }
        for tool in entries.into_values() {
            catalog.add(tool);
        }
        catalog
    }

    /// Adds a tool, and offers it where a round could advertise it.
    fn add(&mut self, tool: ToolEntry) {
        let ToolEntry {
            id,
            description,
            parameters,
            structured,
            survives_stop,
        } = tool;
        let wire_name = id.replace(['/', '.'], "_");
        let is_offered = !is_builtin(&wire_name)
            && is_wire_name(&wire_name)
            && parameters.is_object()
            && !self.wire_names.contains_key(&wire_name);
        if is_offered {
            self.wire_names.insert(wire_name.clone(), id.clone());
            if let Some(pack) = self.packs.get_mut(pack_of(&id)) {
                pack.tools.push(id.clone());
            }
        }
        let offered = is_offered.then(|| ToolSchema::new(wire_name, description.clone(), parameters));
        self.tools.insert(
            id.clone(),
            CatalogTool {
                id,
                structured,
                survives_stop,
                offered,
                description,
            },
        );
    }

    /// The tool with exactly this id, offered or not.
    pub(crate) fn tool(&self, id: &str) -> Option<&CatalogTool> {
        self.tools.get(id)
    }

    /// The offered tool with exactly this id.
    pub(crate) fn offered(&self, id: &str) -> Option<&CatalogTool> {
        self.tool(id).filter(|tool| tool.offered.is_some())
    }

    /// The id of the offered tool with this wire name.
    pub(crate) fn by_wire_name(&self, name: &str) -> Option<&str> {
        self.wire_names.get(name).map(String::as_str)
    }

    /// The ids of the offering, sorted.
    pub(crate) fn offered_ids(&self) -> Vec<String> {
        self.wire_names
            .values()
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// The Pack with this id, if it can serve the run.
    pub(crate) fn pack(&self, id: &str) -> Option<&CatalogPack> {
        self.packs.get(id)
    }

    /// The Packs that can serve the run, sorted by id.
    pub(crate) fn packs(&self) -> impl Iterator<Item = (&str, &CatalogPack)> {
        self.packs.iter().map(|(id, pack)| (id.as_str(), pack))
    }

    /// Why the run knows a Pack but cannot use it.
    pub(crate) fn unavailable(&self, id: &str) -> Option<&str> {
        self.unavailable.get(id).map(String::as_str)
    }

    pub(crate) fn preludes(&self) -> &[PackPrelude] {
        &self.preludes
    }
}

impl CatalogTool {
    /// The name that its calls are recorded under: the wire name, or the id where the run could not offer it.
    pub(crate) fn alias(&self) -> &str {
        self.offered.as_ref().map_or(&self.id, |schema| &schema.function.name)
    }
}

/// The Pack that owns a tool.
pub(crate) fn pack_of(tool: &str) -> &str {
    tool.split('/').next().unwrap_or(tool)
}

fn is_wire_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::PackEntry;

    fn tool(id: &str) -> ToolEntry {
        ToolEntry {
            id: id.to_owned(),
            description: "Does it.".to_owned(),
            parameters: json!({ "type": "object" }),
            structured: false,
            survives_stop: false,
        }
    }

    fn pack(id: &str, tools: Vec<ToolEntry>) -> PackEntry {
        PackEntry {
            id: id.to_owned(),
            declared: false,
            unavailable: None,
            prelude: None,
            tools,
        }
    }

    #[test]
    fn the_offering_holds_what_a_round_can_advertise() {
        let scalar = ToolEntry {
            parameters: json!("scalar"),
            ..tool("kit/scalar")
        };
        let tools = vec![tool("kit/b"), tool("kit/a.c"), tool("kit/a/c"), scalar];
        let catalog = Catalog::new(PackSnapshot {
            packs: vec![pack("kit", tools), pack("task", vec![tool("task/cancel")])],
        });
        assert_eq!(catalog.offered_ids(), ["kit/a.c", "kit/b"]);
        assert_eq!(catalog.by_wire_name("kit_a_c"), Some("kit/a.c"));
        assert_eq!(catalog.tool("task/cancel").map(CatalogTool::alias), Some("task/cancel"));
        assert_eq!(
            catalog.pack("kit").map(|kit| kit.tools.clone()),
            Some(vec!["kit/a.c".to_owned(), "kit/b".to_owned()])
        );
    }
}
