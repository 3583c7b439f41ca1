//! Keeping a run's record, or none (book: What a run's record holds).

use std::{fmt, sync::Arc};

use runvil_engine::{AccessId, FileChange, FileState, RecordFault, Recorder, RunError, RunErrorKind, hex::Hex};
use runvil_vfs::Change;
use sha2::{Digest, Sha256};

/// A run's recorder, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Recording(Option<Arc<dyn Recorder>>);

/// The record can no longer be kept, and the run ends for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unrecordable(RunError);

impl Recording {
    pub(crate) fn new(recorder: Option<Arc<dyn Recorder>>) -> Self {
        Self(recorder)
    }

    /// Tells the recorder something, if there is one.
    pub(crate) fn keep(&self, tell: impl FnOnce(&dyn Recorder) -> Result<(), RecordFault>) -> Result<(), Unrecordable> {
        match &self.0 {
            Some(recorder) => tell(&**recorder).map_err(Unrecordable::from),
            None => Ok(()),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Tells of a change that must not be made twice. The error is the reason to forbid it.
    pub(crate) fn changing(&self, access: AccessId, change: Change<'_>) -> Result<(), String> {
        let change = FileChange {
            before: change.before.map(state),
            after: change.after.map(state),
        };
        self.keep(|recorder| recorder.changing(access, &change))
            .map_err(|unrecordable| unrecordable.to_string())
    }
}

/// What a file's bytes are told by.
pub(crate) fn state(bytes: &[u8]) -> FileState {
    FileState {
        length: bytes.len() as u64,
        hash: format!("sha256:{}", Hex(&Sha256::digest(bytes))),
    }
}

impl From<RecordFault> for Unrecordable {
    fn from(fault: RecordFault) -> Self {
        let message = format!("the run cannot be recorded: {fault}");
        Self(RunError::new(RunErrorKind::Internal, message))
    }
}

impl fmt::Display for Unrecordable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl From<Unrecordable> for RunError {
    fn from(unrecordable: Unrecordable) -> Self {
        unrecordable.0
    }
}
