//! The network, one hop at a time.

mod direct;
mod lookup;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use runvil_pack::Cause;
use url::Url;

pub use direct::DirectTransport;
pub use lookup::{Lookup, SystemLookup};

#[cfg(test)]
pub(crate) use direct::testing as direct_testing;

/// Performs one GET request. It follows no redirect, keeps no cookie and decodes no body.
#[async_trait]
pub trait HttpTransport: Send + Sync {
    /// Sends the request and returns the head of the response, before its body.
    async fn send(&self, request: HopRequest) -> Result<HopResponse, HopError>;
}

/// One GET request.
#[derive(Debug, Clone)]
pub struct HopRequest {
    /// An admitted URL, without a fragment.
    pub url: Url,
    /// Every header that the fetch sends beyond those of the connection itself.
    pub headers: HeaderMap,
}

/// The head of a response, and the way to its body.
pub struct HopResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers as sent.
    pub headers: HeaderMap,
    /// The body as sent, before any decompression.
    pub body: Box<dyn HttpBody>,
}

/// A response body as it arrives.
#[async_trait]
pub trait HttpBody: Send {
    /// The next bytes, none at the end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError>;
}

/// A whole body in memory.
#[async_trait]
impl HttpBody for Bytes {
    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let all = std::mem::take(self);
        Ok((!all.is_empty()).then_some(all))
    }
}

/// A body broke off.
#[derive(Debug, thiserror::Error)]
#[error("the body broke off")]
pub struct BodyError(#[source] pub Cause);

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub enum HopError {
    /// The host's name could not be looked up.
    #[error("the name look-up failed")]
    Lookup(#[source] Cause),
    /// The look-up gave no address that the address policy allows.
    #[error("no allowed address")]
    NoAllowedAddress,
    /// A time limit ran out.
    #[error("the time limit ran out")]
    TimedOut,
    /// Anything else.
    #[error("the network failed")]
    Network(#[source] Cause),
}
