//! Entering a section: its frame, its VM, its Pack preludes (book: A fresh section VM for every section entry).

use std::sync::{Arc, Mutex};

use runvil_lua::{Vm, VmConfig};
use runvil_syntax::Block;
use sha2::{Digest, Sha256};

use super::{Entry, Flow, Frame};
use crate::{
    ChainId, EventKind, Failure, RunError, globals,
    run::{Reply, Run, RunShared},
    section::SectionContext,
};

impl Run {
    /// Enters a section or the H1 body, builds its VM and starts its setup.
    pub(crate) fn enter(&mut self, id: &ChainId, entry: Entry) -> Flow {
        let shared = Arc::clone(&self.shared);
        let chain = self.chain(id);
        let (section, name) = match entry {
            Entry::H1 => (None, shared.title().to_owned()),
            Entry::Section(section) => (Some(section), shared.prompt.tree()[section].name.clone()),
        };
        chain.section_name.clone_from(&name);
        if section.is_some() {
            shared.report(&chain.task, &name, EventKind::SectionStarted);
        } else {
            debug_assert_eq!(chain.entries, 0, "the H1 pass is entry 0 of the root chain");
        }
        let context = Arc::new(SectionContext {
            run: Arc::clone(&shared),
            task: chain.task.clone(),
            id: chain.next_entry(),
            section,
            name,
            args: Arc::clone(&chain.args),
            seeds: chain.seeds.take(),
            state: Mutex::default(),
        });
        chain.frame = Some(Frame {
            section,
            vm: None,
            context,
            next_block: 0,
            running: None,
            in_setup: false,
        });
        if !blocks(&shared, entry)
            .iter()
            .any(|block| matches!(block, Block::Lua(_)))
        {
            return self.end_section(id, None);
        }
        match self.set_up(id) {
            Ok(flow) => flow,
            Err(failure) => self.section_failed(id, failure, false),
        }
    }

    /// Builds the section's VM, installs the Engine globals and starts the preludes.
    fn set_up(&mut self, id: &ChainId) -> Result<Flow, Failure> {
        let chain = self.chain(id);
        let var = std::mem::take(&mut chain.var);
        let frame = chain.frame.as_mut().expect("the section was just entered");
        let context = Arc::clone(&frame.context);
        let limits = &context.run.facts.limits;
        let config = VmConfig {
            seed: entry_seed(&context),
            memory_bytes: usize::try_from(limits.lua_memory_bytes).unwrap_or(usize::MAX),
            cancel: context.run.cancel.clone(),
        };
        let vm = Vm::new(&config).map_err(|error| Failure::Internal(RunError::internal(error)))?;
        let vm = frame.vm.insert(vm);
        globals::install(vm, &context, &var).map_err(|error| Failure::lua(error.to_string()))?;
        match globals::preludes(vm, &context)? {
            Some(setup) => {
                frame.running = Some(setup);
                frame.in_setup = true;
                Ok(Flow::Lua(Reply::Start))
            }
            None => Ok(Flow::NextBlock),
        }
    }
}

/// The blocks of a section, or of the H1 body.
pub(super) fn blocks(shared: &RunShared, entry: Entry) -> &[Block] {
    let tree = shared.prompt.tree();
    match entry {
        Entry::H1 => &tree.h1.blocks,
        Entry::Section(section) => &tree[section].blocks,
    }
}

/// The seed of one section VM: of the run's seed and the entry's id, so that a replay repeats it.
fn entry_seed(context: &SectionContext) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"runvil section entry\0");
    hash.update(context.run.facts.seed);
    hash.update(context.id.as_bytes());
    hash.finalize().into()
}
