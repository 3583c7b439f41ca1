//! Model backends: the trait, and the streamed chat-completions client.
//!
//! A [`ModelBackend`] performs one model round: [`ChatCompletions`] sends the Engine's request to a server and turns
//! the bytes that come back into a reply or a failure. The steps between stand alone, so that a scripted backend
//! goes the same way: [`ReplyDecoder`] decodes the bytes, [`judge`] judges the reply, and [`classify_status`] and
//! [`classify_stream_error`] tell what a refusal means.
//!
//! ```text
//! ModelRound ─▶ request ─▶ receive ─▶ sse ─▶ reply ─▶ judge ─▶ ModelReply
//!                             └────── classify ──────────────▶ CompletionError
//! ```

mod backend;
mod client;

mod dialect;
mod request;

mod receive;
mod reply;
mod sse;

mod classify;
mod judge;
mod malformed;

mod catalog;
mod gateway;

pub use backend::{ModelBackend, RoundLimits};
pub use catalog::{Assumed, Catalog, CatalogDefaults, GATEWAY_SERVER, SkippedModel};
pub use classify::{classify_status, classify_stream_error};
pub use client::{ChatCompletions, ClientSetupError, Endpoint};
pub use dialect::{ThinkingDialect, UnknownDialect};
pub use gateway::{
    ApiKey, ApiRoot, GATEWAY_API_KEY, GATEWAY_URL, Gateway, GatewaySetupError, InvalidApiKey, InvalidApiRoot,
};
pub use judge::judge;
pub use malformed::Malformed;
pub use reply::{OnText, Progress, ReplyDecoder};
pub use sse::{SseDecoder, SseEvent};
