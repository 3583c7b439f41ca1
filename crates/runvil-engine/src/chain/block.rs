//! Running the blocks of a section (book: How a block ends).

use std::sync::Arc;

use runvil_lua::{BlockFailure, BlockStep, mlua::MultiValue};
use runvil_syntax::Block;

use super::{Entry, Flow, enter::blocks, scalar::result_text};
use crate::{
    ChainId, EventKind, Failure, RunError,
    request::{Asked, Request},
    run::{Reply, Run, RunOutcome},
};

impl Run {
    /// Starts the section's next Lua block, with the prose above it pending, or ends the section after its last.
    pub(crate) fn next_block(&mut self, id: &ChainId) -> Flow {
        let shared = Arc::clone(&self.shared);
        let chain = self.chain(id);
        let frame = chain
            .frame
            .as_mut()
            .expect("a chain with blocks to run is inside a section");
        let entry = frame.section.map_or(Entry::H1, Entry::Section);
        let mut pending = None;
        for block in &blocks(&shared, entry)[frame.next_block..] {
            frame.next_block += 1;
            match block {
                Block::Prose(prose) => pending = Some(prose.text.as_str()),
                Block::Lua(lua) => {
                    frame.context.begin_block(pending.unwrap_or_default());
                    shared.report(&chain.task, &frame.context.name, EventKind::LuaChunkStarted);
                    let vm = frame.vm.as_ref().expect("a section with Lua blocks has a VM");
                    return match vm.start(shared.prompt.chunk(lua)) {
                        Ok(block) => {
                            frame.running = Some(block);
                            Flow::Lua(Reply::Start)
                        }
                        Err(error) => self.block_failed(id, Failure::lua(error.to_string())),
                    };
                }
            }
        }
        self.end_section(id, None)
    }

    /// Resumes the running block and sees how far it comes.
    pub(crate) fn resume_block(&mut self, id: &ChainId, reply: Reply) -> Flow {
        // A cancel has its place within this piece of Lua, if it strikes it.
        self.shared.count();
        let frame = self.chain(id).frame.as_mut().expect("a block runs inside a section");
        let vm = frame.vm.as_ref().expect("a block runs in a VM");
        let block = frame.running.as_mut().expect("a block is resumed while it runs");
        match vm.resume(block, reply.into_lua()) {
            BlockStep::Request(values) => self.request(id, values),
            BlockStep::Returned(values) => self.block_returned(id, &values),
            BlockStep::Failed(failure) => self.block_raised(id, failure),
        }
    }

    /// Hands a block's request to the module that serves it. Once the run is cancelled, none is served.
    fn request(&mut self, id: &ChainId, values: MultiValue) -> Flow {
        if self.shared.sees_cancel() {
            return Flow::Parked;
        }
        let request = match Request::read(values) {
            Ok(request) => request,
            Err(error) => {
                let fault = RunError::internal(format!("a block made a request that is none: {error}"));
                self.end(RunOutcome::Failed(fault));
                return Flow::Parked;
            }
        };
        match self.serve(id, request) {
            Asked::Now(reply) => Flow::Lua(reply),
            Asked::Later => Flow::Parked,
        }
    }

    fn block_returned(&mut self, id: &ChainId, values: &MultiValue) -> Flow {
        let frame = self.chain(id).frame.as_mut().expect("a block ends inside its section");
        frame.running = None;
        if std::mem::take(&mut frame.in_setup) {
            return match crate::globals::preludes_installed(&frame.context) {
                Ok(()) => Flow::NextBlock,
                Err(failure) => self.section_failed(id, failure, false),
            };
        }
        if let Some(target) = frame.context.take_jump() {
            return self.jumped(id, &target);
        }
        let first = values.front().map_or(Ok(None), result_text);
        match first {
            Ok(text) => {
                self.report(id, EventKind::LuaChunkSucceeded);
                match text {
                    Some(text) => self.end_section(id, Some(text)),
                    None => Flow::NextBlock,
                }
            }
            Err(kind) => self.block_failed(id, Failure::lua(format!("cannot return a {kind} as a result"))),
        }
    }

    /// A raise left the block. A recorded jump wins over it, except over the cancel.
    fn block_raised(&mut self, id: &ChainId, raised: BlockFailure) -> Flow {
        let frame = self.chain(id).frame.as_mut().expect("a block fails inside its section");
        frame.running = None;
        if matches!(raised, BlockFailure::Interrupted) {
            return self.block_cancelled(id);
        }
        if frame.in_setup {
            let context = Arc::clone(&frame.context);
            let failure = crate::globals::prelude_failure(&context, raised);
            return self.section_failed(id, failure, false);
        }
        crate::globals::end_unfinished(&frame.context);
        if let Some(target) = frame.context.take_jump() {
            return self.jumped(id, &target);
        }
        self.block_failed(id, Failure::from_block(raised))
    }

    /// The block jumped: its section completes, then the target is looked up.
    fn jumped(&mut self, id: &ChainId, target: &str) -> Flow {
        self.report(id, EventKind::LuaChunkSucceeded);
        let from = self.chain(id).walk.current();
        let visible = self.shared.prompt.visible_from(from);
        if let Err(failure) = self.close_section(id) {
            return self.chain_failed(id, failure, false);
        }
        match visible.resolve(target) {
            Ok(section) => {
                let prompt = Arc::clone(&self.shared.prompt);
                self.chain(id).walk.jump(prompt.tree(), section);
                Flow::Enter(Entry::Section(section))
            }
            Err(error) => self.chain_failed(id, error.into(), false),
        }
    }

    /// The run's cancel reached running Lua: the run ends, and strands whatever lives.
    fn block_cancelled(&mut self, id: &ChainId) -> Flow {
        self.shared.cancel_struck_lua();
        let frame = self.chain(id).running_frame();
        if !frame.in_setup {
            crate::globals::end_library_loads(&frame.context);
            self.report(id, EventKind::LuaChunkFailed);
        }
        self.end(RunOutcome::Cancelled);
        Flow::Parked
    }

    fn block_failed(&mut self, id: &ChainId, failure: Failure) -> Flow {
        let frame = self.chain(id).running_frame();
        let in_h1 = frame.section.is_none();
        self.report(id, EventKind::LuaChunkFailed);
        self.section_failed(id, failure, in_h1)
    }

    /// Reports an event of a chain under its current section.
    pub(crate) fn report(&mut self, id: &ChainId, kind: EventKind) {
        let shared = Arc::clone(&self.shared);
        let chain = self.chain(id);
        shared.report(&chain.task, &chain.section_name, kind);
    }
}
