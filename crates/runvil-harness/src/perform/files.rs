//! A tool call's file access, through the run's store (book: Tools and the store).

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use runvil_engine::{AccessId, EffectId};
use runvil_pack::{FileError, ToolFiles};
use runvil_vfs::{Change, FileAccess, LineBounds, StoreOp, StoreReply};

use crate::{
    blocking::blocking,
    recording::{Recording, Unrecordable},
};

/// The run's files under one tool call's identity.
pub(super) struct StoreFiles {
    access: FileAccess,
    call: EffectId,
    /// How many accesses the call has made.
    made: Arc<AtomicU64>,
    recording: Recording,
}

impl StoreFiles {
    pub(super) fn new(access: FileAccess, call: EffectId, recording: Recording) -> Self {
        Self {
            access,
            call,
            made: Arc::default(),
            recording,
        }
    }

    async fn perform(&self, op: StoreOp) -> Result<StoreReply, FileError> {
        let files = self.access.clone();
        if !self.recording.is_on() {
            let reply = blocking(move || files.perform(op)).await;
            return reply.map_err(|failure| FileError(failure.to_string()));
        }
        let access = AccessId {
            effect: self.call,
            nth: self.made.fetch_add(1, Ordering::Relaxed) + 1,
        };
        let recording = self.recording.clone();
        blocking(move || record(&files, op, access, &recording)).await
    }
}

/// Makes an access and keeps it: its intent first, then what it came to.
fn record(files: &FileAccess, op: StoreOp, access: AccessId, recording: &Recording) -> Result<StoreReply, FileError> {
    let unrecordable = |error: Unrecordable| FileError(error.to_string());
    recording
        .keep(|recorder| recorder.accessing(access, &op))
        .map_err(unrecordable)?;
    let mut watch = |change: Change<'_>| recording.changing(access, change);
    let reply = files.perform_watched(op, &mut watch);
    recording
        .keep(|recorder| recorder.accessed(access, &reply.clone().into()))
        .map_err(unrecordable)?;
    reply.map_err(|failure| FileError(failure.to_string()))
}

/// Ends a tool call's file access when the call is answered or given up.
pub(super) struct EndOnDrop(pub(super) FileAccess);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[async_trait]
impl ToolFiles for StoreFiles {
    async fn read(&self, path: &str) -> Result<String, FileError> {
        let op = StoreOp::Read {
            path: path.to_owned(),
            lines: LineBounds::WHOLE,
        };
        match self.perform(op).await? {
            StoreReply::Text(text) => Ok(text),
            other => unreachable!("a read replied {other:?}"),
        }
    }

    async fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.perform(StoreOp::Write {
            path: path.to_owned(),
            contents: text.to_owned(),
        })
        .await
        .map(drop)
    }

    async fn append(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.perform(StoreOp::Append {
            path: path.to_owned(),
            contents: text.to_owned(),
        })
        .await
        .map(drop)
    }

    async fn delete(&self, path: &str) -> Result<(), FileError> {
        self.perform(StoreOp::Delete { path: path.to_owned() }).await.map(drop)
    }

    async fn exists(&self, path: &str) -> Result<bool, FileError> {
        match self.perform(StoreOp::Exists { path: path.to_owned() }).await? {
            StoreReply::Exists(there) => Ok(there),
            other => unreachable!("an existence check replied {other:?}"),
        }
    }

    async fn glob(&self, pattern: &str) -> Result<Vec<String>, FileError> {
        match self
            .perform(StoreOp::Glob {
                pattern: pattern.to_owned(),
            })
            .await?
        {
            StoreReply::Paths(paths) => Ok(paths),
            other => unreachable!("a glob replied {other:?}"),
        }
    }
}
