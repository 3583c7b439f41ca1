//! What the Harness asks of a model backend.

use std::time::Duration;

use async_trait::async_trait;
use runvil_engine::{CompletionError, Limits, ModelReply, ModelRound};

use crate::{Catalog, OnText};

/// The two limits that bound each reply (book: The response cap and the receive timeout).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundLimits {
    /// The largest reply accepted, in bytes of its body; it covers error replies too.
    pub max_response_bytes: u64,
    /// The longest wait, first for the headers and then for each chunk. There is no limit on the whole reply.
    pub receive_timeout: Duration,
}

impl From<&Limits> for RoundLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            max_response_bytes: limits.max_response_bytes,
            receive_timeout: Duration::from_millis(limits.request_timeout_ms),
        }
    }
}

/// A server of models. Each call makes one request; dropping the future gives the request up.
#[async_trait]
pub trait ModelBackend: Send + Sync {
    /// Sends one round, once, and gives the judged reply. `on_text` is handed the fragments of the reply text as
    /// they arrive, in the model's order; a round that fails later takes none of them back.
    ///
    /// # Errors
    /// The round's failure. Nothing is sent again.
    async fn complete(
        &self,
        round: &ModelRound,
        limits: RoundLimits,
        on_text: OnText<'_>,
    ) -> Result<ModelReply, CompletionError>;

    /// The models that the server offers (book: The model catalog and the current model).
    ///
    /// # Errors
    /// The request's failure, told in the terms of a model round.
    async fn models(&self, limits: RoundLimits) -> Result<Catalog, CompletionError>;
}
