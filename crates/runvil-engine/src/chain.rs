//! Chains: walks over sibling sections, each with its own entries (book: The main walk as a chain).

mod block;
mod call;
mod end;
mod enter;
mod scalar;
mod walk;

use std::{collections::VecDeque, sync::Arc};

use runvil_lua::{Block, Vm};
use runvil_syntax::SectionId;
use runvil_vfs::Identity;
use serde_json::Value;

pub(crate) use end::ChainEnd;
pub(crate) use scalar::result_text;
pub(crate) use walk::Walk;

use crate::{
    ChainId,
    globals::{Arguments, Seeds},
    run::{Reply, RunShared},
    section::SectionContext,
    tasks::{Notice, Slots, Waiting},
    tools::Batch,
};

/// A walk with its own entries: the main walk with the H1 pass ahead of it, a called chain, or a task's chain.
pub(crate) struct Chain {
    pub(crate) id: ChainId,
    /// The nearest enclosing task, under which it reports.
    pub(crate) task: ChainId,
    pub(crate) kind: ChainKind,
    /// Levels of `call`, task and arm above it.
    pub(crate) depth: u32,
    /// Its identity for the store's claims.
    pub(crate) identity: Identity,
    pub(crate) args: Arc<Arguments>,
    /// What its first section entry sees of a spawn.
    pub(crate) seeds: Option<Seeds>,
    /// The `var` that its next section starts with.
    pub(crate) var: Value,
    pub(crate) walk: Walk,
    /// How many sections it entered; the H1 pass is the main walk's entry 0, even without blocks.
    entries: u32,
    /// How many chains it started.
    children: u32,
    /// How many model requests it sent, for their ids.
    pub(crate) requests: u32,
    /// The concurrency limit for the tasks below it.
    pub(crate) slots: Slots,
    /// What its model has not heard yet of the tasks that it started.
    pub(crate) notices: VecDeque<Notice>,
    /// The section that runs.
    pub(crate) frame: Option<Frame>,
    /// What it waits for.
    pub(crate) waiting: Option<Waiting>,
    /// The tool calls of a model round that run together.
    pub(crate) batch: Option<Batch>,
    /// How many Pack tool calls it made, for their identities.
    tool_calls: u64,
    /// The section that it entered last.
    pub(crate) section_name: String,
}

/// Who began a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChainKind {
    /// The run: the H1 pass, then the main walk.
    Root,
    /// `call`, by this chain.
    Call(ChainId),
    /// A spawn: the chain runs the task of its own id.
    Task,
}

/// One entry into a section.
pub(crate) struct Frame {
    /// The section, `None` for the H1 body.
    pub(crate) section: Option<SectionId>,
    /// The VM, and what its natives share with the machine. A section without Lua blocks has none.
    pub(crate) vm: Option<Vm>,
    pub(crate) context: Arc<SectionContext>,
    /// The place of the next block.
    next_block: usize,
    /// The block that runs or waits.
    running: Option<Block>,
    /// Whether the running coroutine still sets the section up.
    in_setup: bool,
}

/// What a chain does next.
pub(crate) enum Flow {
    /// It enters a section.
    Enter(Entry),
    /// The section goes on with its next block, or ends after its last.
    NextBlock,
    /// The running block goes on.
    Lua(Reply),
    /// It waits, or it ended.
    Parked,
}

/// What a chain enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The H1 body.
    H1,
    /// A section.
    Section(SectionId),
}

impl Chain {
    /// The chain that the run itself begins.
    pub(crate) fn root(shared: &RunShared, identity: Identity) -> Self {
        let args = Arguments::derive(&shared.prompt.tree().frontmatter.args, shared.facts.args.clone());
        Self {
            id: ChainId::root(),
            task: ChainId::root(),
            kind: ChainKind::Root,
            depth: 0,
            identity,
            args: Arc::new(args),
            seeds: None,
            var: Value::Object(serde_json::Map::new()),
            walk: Walk::default(),
            entries: 0,
            children: 0,
            requests: 0,
            slots: Slots::new(u64::from(shared.facts.limits.concurrency)),
            notices: VecDeque::new(),
            frame: None,
            waiting: None,
            batch: None,
            tool_calls: 0,
            section_name: shared.title().to_owned(),
        }
    }

    /// A chain below this one, which starts at `target`.
    pub(crate) fn child(&self, id: ChainId, kind: ChainKind, target: SectionId, identity: Identity) -> Self {
        let task = if kind == ChainKind::Task {
            id.clone()
        } else {
            self.task.clone()
        };
        Self {
            task,
            depth: self.depth + 1,
            identity,
            args: Arc::clone(&self.args),
            seeds: None,
            var: Value::Null,
            walk: Walk::starting_at(target),
            entries: 0,
            children: 0,
            requests: 0,
            slots: Slots::new(self.slots.limit()),
            notices: VecDeque::new(),
            frame: None,
            waiting: None,
            batch: None,
            tool_calls: 0,
            section_name: self.section_name.clone(),
            id,
            kind,
        }
    }

    /// The first thing that the chain enters.
    pub(crate) fn begin(&mut self) -> Flow {
        Flow::Enter(match self.walk.current() {
            Some(section) => Entry::Section(section),
            None => Entry::H1,
        })
    }

    /// Takes the chain's next child number.
    pub(crate) fn next_child(&mut self) -> ChainId {
        let id = self.id.child(self.children);
        self.children += 1;
        id
    }

    /// Forks the identity of the chain's next tool call. It takes no child number.
    pub(crate) fn fork_for_tool(&mut self) -> Identity {
        self.tool_calls += 1;
        self.identity.fork(format!("{}.tool{}", self.id, self.tool_calls))
    }

    /// Takes the chain's next section entry number.
    fn next_entry(&mut self) -> String {
        let id = format!("{}.{}", self.id, self.entries);
        self.entries += 1;
        id
    }

    /// The running section's context.
    pub(crate) fn context(&self) -> &Arc<SectionContext> {
        &self.running_frame().context
    }

    /// The running section.
    pub(crate) fn running_frame(&self) -> &Frame {
        self.frame
            .as_ref()
            .expect("a chain that makes a request is inside a section")
    }
}
