//! What one section entry offers its model, and how often each tool was called there (book: Tool scope and the task
//! built-ins; Counting calls with `tools.calls`).

use std::{collections::BTreeMap, sync::Arc};

use super::{Catalog, advertise::Rendered};
use crate::{tasks::AllowedTargets, wire::ToolSchema};

/// What one section entry offered, and its counts. A fresh entry has nothing.
#[derive(Default)]
pub(crate) struct ToolScope {
    /// The ids that `tools.offer` put in scope, in first-offer order.
    offered: Vec<String>,
    /// The Packs that `packs.offer` put in scope, in first-offer order.
    packs: Vec<String>,
    /// The local tools in definition order.
    locals: Vec<ToolSchema>,
    /// What the model may start tasks on; `None` while the section has not opted in.
    pub(crate) allowed: Option<AllowedTargets>,
    /// The list that the first loop round fixed.
    pub(super) rendered: Option<Arc<Rendered>>,
    /// The local tool handlers that run, each by how many libraries loaded when it began.
    handlers: Vec<usize>,
    /// The counts of the section's calls; `None` before its first.
    counts: Option<BTreeMap<String, u64>>,
    /// The section's model as its first call found it.
    model: Option<String>,
    /// What a Pack's prelude did while it loaded.
    pub(crate) loading: Loading,
}

/// Whether preludes load, in which no tool can be called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Loading {
    /// None loads.
    #[default]
    Done,
    /// The one at this place loads.
    Prelude(usize),
    /// The one at this place loads, and called a tool.
    CalledTool(usize),
}

impl ToolScope {
    /// Whether the section's tool list is fixed.
    pub(crate) fn is_rendered(&self) -> bool {
        self.rendered.is_some()
    }

    /// Puts tools in scope; one that is there keeps its place.
    pub(crate) fn offer(&mut self, tools: Vec<String>) {
        add_new(&mut self.offered, tools);
    }

    /// Puts Packs in scope; one that is there keeps its place.
    pub(crate) fn offer_packs(&mut self, packs: Vec<String>) {
        add_new(&mut self.packs, packs);
    }

    /// The ids of the catalog tools in scope, in the order in which a round lists them.
    pub(super) fn bound<'a>(&'a self, catalog: &'a Catalog) -> Vec<&'a str> {
        let of_packs = self
            .packs
            .iter()
            .filter_map(|id| catalog.pack(id))
            .flat_map(|pack| &pack.tools);
        let mut ids: Vec<&str> = Vec::new();
        for id in self.offered.iter().chain(of_packs) {
            if !ids.contains(&id.as_str()) {
                ids.push(id);
            }
        }
        ids
    }

    pub(super) fn locals(&self) -> &[ToolSchema] {
        &self.locals
    }

    /// Defines a local tool. Whether its alias was free.
    pub(crate) fn define(&mut self, schema: ToolSchema) -> bool {
        let is_free = !self.has_local(&schema.function.name);
        if is_free {
            self.locals.push(schema);
        }
        is_free
    }

    pub(crate) fn has_local(&self, alias: &str) -> bool {
        self.locals.iter().any(|local| local.function.name == alias)
    }

    /// Whether a local tool's handler runs, so that `jump` is refused.
    pub(crate) fn in_handler(&self) -> bool {
        !self.handlers.is_empty()
    }

    /// Begins a handler, inside of `loads` libraries that load.
    pub(crate) fn enter_handler(&mut self, loads: usize) {
        self.handlers.push(loads);
    }

    pub(crate) fn leave_handler(&mut self) {
        self.handlers.pop();
    }

    /// How many libraries loaded when the innermost handler began, if one runs.
    pub(crate) fn innermost_handler(&self) -> Option<usize> {
        self.handlers.last().copied()
    }

    /// Counts a dispatch. The first one sets the counts up and fixes the section's model, which `model` gives; each
    /// picks up the scope as it stands.
    pub(crate) fn count(&mut self, catalog: &Catalog, name: &str, model: impl FnOnce() -> Option<String>) {
        if self.counts.is_none() {
            self.model = model();
        }
        let in_scope: Vec<_> = self.bound(catalog).into_iter().map(str::to_owned).collect();
        let counts = self.counts.get_or_insert_default();
        for id in in_scope {
            counts.entry(id).or_default();
        }
        *counts.entry(name.to_owned()).or_default() += 1;
    }

    /// The section's model, once it made a tool call.
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> Option<&BTreeMap<String, u64>> {
        self.counts.as_ref()
    }
}

fn add_new(list: &mut Vec<String>, names: Vec<String>) {
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
}
