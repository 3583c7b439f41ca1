//! The end of a section and of a chain (book: Section boundaries; A return ends the chain).

use std::sync::Arc;

use super::{ChainKind, Entry, Flow};
use crate::{
    ChainId, EventKind, Failure,
    run::{Reply, Resume, Run, RunOutcome},
};

/// The result of a run in which nothing returned.
const DONE: &str = "done";

/// How a chain ended by itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChainEnd {
    /// With the text that a section returned, or without one.
    Returned(Option<String>),
    /// With a failure. `in_h1` says whether it left the H1 body's own Lua.
    Failed {
        /// What failed.
        failure: Failure,
        /// Whether the H1 gate applies.
        in_h1: bool,
    },
}

impl Run {
    /// Ends a section normally: with a text the chain ends, without one the walk goes on.
    pub(super) fn end_section(&mut self, id: &ChainId, text: Option<String>) -> Flow {
        if let Err(failure) = self.close_section(id) {
            return self.chain_failed(id, failure, false);
        }
        if text.is_some() {
            return self.end_chain(id, ChainEnd::Returned(text));
        }
        let prompt = Arc::clone(&self.shared.prompt);
        let chain = self.chain(id);
        let in_h1 = chain.kind == ChainKind::Root && chain.walk.current().is_none();
        let next = if in_h1 {
            chain.walk.start_main(prompt.tree())
        } else {
            chain.walk.fall_through(prompt.tree())
        };
        match next {
            Some(section) => Flow::Enter(Entry::Section(section)),
            None => self.end_chain(id, ChainEnd::Returned(None)),
        }
    }

    /// Closes a section that completed: its final `var` and `argv` go to the chain, its VM is torn down.
    pub(super) fn close_section(&mut self, id: &ChainId) -> Result<(), Failure> {
        let chain = self.chain(id);
        let frame = chain.frame.as_mut().expect("a section closes while it is entered");
        let context = Arc::clone(&frame.context);
        let Some(vm) = frame.vm.take() else {
            chain.frame = None;
            if context.section.is_some() {
                self.report(id, EventKind::SectionFinished);
            }
            return Ok(());
        };
        let read_back = context.read_back(&vm);
        self.tear_down(id, vm);
        let chain = self.chain(id);
        chain.frame = None;
        let (var, args) = read_back?;
        chain.var = var;
        if context.section.is_some() {
            self.report(id, EventKind::SectionFinished);
        } else {
            chain.args = args;
        }
        Ok(())
    }

    /// Drops a section's VM and reports it.
    fn tear_down(&mut self, id: &ChainId, vm: runvil_lua::Vm) {
        self.report(id, EventKind::LuaTeardownStarted);
        drop(vm);
        self.report(id, EventKind::LuaTeardownSucceeded);
    }

    /// Ends a section that failed, and its chain with it.
    pub(super) fn section_failed(&mut self, id: &ChainId, failure: Failure, in_h1: bool) -> Flow {
        self.abort_section(id);
        self.chain_failed(id, failure, in_h1)
    }

    /// Takes down a section that does not complete.
    pub(crate) fn abort_section(&mut self, id: &ChainId) {
        let frame = self.chain(id).frame.take();
        if let Some(vm) = frame.and_then(|frame| frame.vm) {
            self.tear_down(id, vm);
        }
    }

    pub(super) fn chain_failed(&mut self, id: &ChainId, failure: Failure, in_h1: bool) -> Flow {
        self.end_chain(id, ChainEnd::Failed { failure, in_h1 })
    }

    /// Ends a chain: settles the tasks that it owns, and hands its end to whoever began it.
    pub(crate) fn end_chain(&mut self, id: &ChainId, end: ChainEnd) -> Flow {
        let end = self.settle_owned_tasks(id, end);
        let kind = self.chain(id).kind.clone();
        match kind {
            ChainKind::Root => match end {
                ChainEnd::Returned(text) => {
                    self.end(RunOutcome::Completed {
                        text: text.unwrap_or_else(|| DONE.to_owned()),
                    });
                }
                ChainEnd::Failed { failure, in_h1 } => self.fail(&failure, in_h1),
            },
            ChainKind::Call(caller) => {
                let chain = self.chains.remove(id).expect("a chain ends once");
                self.chain(&caller).identity.join(&chain.identity);
                let reply = match end {
                    ChainEnd::Returned(text) => Reply::Text(text.unwrap_or_default()),
                    ChainEnd::Failed { failure, .. } => Reply::Raise(failure),
                };
                self.ready.push_back((caller, Resume::Lua(reply)));
            }
            ChainKind::Task => self.task_ended(id, end),
        }
        Flow::Parked
    }

    /// Takes down what is left of every chain at the end of the run, inner chains first.
    pub(crate) fn tear_down_chains(&mut self) {
        let ids: Vec<_> = self.chains.keys().rev().cloned().collect();
        for id in ids {
            self.abort_section(&id);
        }
        self.chains.clear();
    }
}
