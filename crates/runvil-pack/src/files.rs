//! The run's own files, as a tool call sees them (book: Who runs a tool).

use async_trait::async_trait;

/// Why a file operation failed, as text that a model may read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FileError(pub String);

/// The files of the run that makes the call, the same that its store sees, under the call's own identity.
///
/// Paths are store paths. An access that conflicts with another chain's fails with the conflict's text.
#[async_trait]
pub trait ToolFiles: Send + Sync {
    /// The file's text.
    async fn read(&self, path: &str) -> Result<String, FileError>;

    /// Creates the file, or replaces its text.
    async fn write(&self, path: &str, text: &str) -> Result<(), FileError>;

    /// Adds to the end of the file, creating it if there is none.
    async fn append(&self, path: &str, text: &str) -> Result<(), FileError>;

    /// Removes the file. Removing what is not there succeeds.
    async fn delete(&self, path: &str) -> Result<(), FileError>;

    /// Whether there is such a file.
    async fn exists(&self, path: &str) -> Result<bool, FileError>;

    /// The paths that match the pattern, in bytewise order.
    async fn glob(&self, pattern: &str) -> Result<Vec<String>, FileError>;
}

/// The files of a run without a store: every operation fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl NoFiles {
    fn refusal<T>() -> Result<T, FileError> {
        Err(FileError("this run has no store".to_owned()))
    }
}

#[async_trait]
impl ToolFiles for NoFiles {
    async fn read(&self, _: &str) -> Result<String, FileError> {
        Self::refusal()
    }

    async fn write(&self, _: &str, _: &str) -> Result<(), FileError> {
        Self::refusal()
    }

    async fn append(&self, _: &str, _: &str) -> Result<(), FileError> {
        Self::refusal()
    }

    async fn delete(&self, _: &str) -> Result<(), FileError> {
        Self::refusal()
    }

    async fn exists(&self, _: &str) -> Result<bool, FileError> {
        Self::refusal()
    }

    async fn glob(&self, _: &str) -> Result<Vec<String>, FileError> {
        Self::refusal()
    }
}
