//! The loaded prompt: its tree, its compiled blocks, and what a section can name.

mod load;
mod visible;

use std::sync::Arc;

use runvil_lua::Chunk;
use runvil_syntax::{LuaBlock, ParseError, SectionId};
use sha2::{Digest, Sha256};

pub use load::Parsed;
pub use visible::HeadingError;
pub(crate) use visible::VisibleSet;

use crate::{RunError, RunErrorKind, hex::Hex};

/// The Engine major that this build runs.
const SUPPORTED_MAJOR: u32 = 0;

/// A prompt that parsed, every Lua block compiled.
#[derive(Debug, Clone)]
pub struct Prompt {
    tree: runvil_syntax::Prompt,
    chunks: Vec<Chunk>,
    hash: String,
    parse_events: u64,
}

impl Prompt {
    /// The file as a tree.
    #[must_use]
    pub fn tree(&self) -> &runvil_syntax::Prompt {
        &self.tree
    }

    /// The hash of the file's bytes, with the prefix that names its algorithm.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The hash that [`Prompt::hash`] gives for a file with these bytes.
    #[must_use]
    pub fn hash_of(source: &[u8]) -> String {
        format!("sha256:{}", Hex(&Sha256::digest(source)))
    }

    /// How many events the parse reported: the run's own sequence goes on from there.
    pub(crate) fn parse_events(&self) -> u64 {
        self.parse_events
    }

    pub(crate) fn chunk(&self, block: &LuaBlock) -> &Chunk {
        &self.chunks[block.index]
    }

    /// The sections that code of `section` can name; of the H1 body, where it is `None`.
    pub(crate) fn visible_from(self: &Arc<Self>, section: Option<SectionId>) -> VisibleSet {
        VisibleSet::of(Arc::clone(self), section)
    }

    /// The sections that `require` can name from the place of `section`.
    pub(crate) fn reach_from(self: &Arc<Self>, section: Option<SectionId>) -> VisibleSet {
        VisibleSet::reach(Arc::clone(self), section)
    }

    /// Refuses a prompt that another Engine major, or none, is meant to run (book: The `runvil` version key).
    ///
    /// # Errors
    /// `Parse` without a version, `Version` for one that this build does not run.
    pub fn check_version(&self) -> Result<(), RunError> {
        match self.tree.frontmatter.runvil {
            Some(SUPPORTED_MAJOR) => Ok(()),
            Some(major) => Err(RunError::new(
                RunErrorKind::Version,
                format!("unsupported runvil version: {major} (this build supports major {SUPPORTED_MAJOR})"),
            )),
            None => Err(RunError::from(&ParseError::no_version(&self.tree.frontmatter.name))),
        }
    }
}
