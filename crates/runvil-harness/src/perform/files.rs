//! A tool call's file access, through the run's store (book: Tools and the store).

use async_trait::async_trait;
use runvil_pack::{FileError, ToolFiles};
use runvil_vfs::{FileAccess, LineBounds, StoreOp, StoreReply};

use crate::blocking::blocking;

/// The run's files under one tool call's identity.
pub(super) struct StoreFiles(pub(super) FileAccess);

impl StoreFiles {
    async fn perform(&self, op: StoreOp) -> Result<StoreReply, FileError> {
        let access = self.0.clone();
        blocking(move || access.perform(op))
            .await
            .map_err(|failure| FileError(failure.to_string()))
    }
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
