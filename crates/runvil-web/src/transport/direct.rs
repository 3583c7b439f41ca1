//! The real transport: a connection of its own for each hop, to a checked address.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, redirect, retry};
use runvil_pack::Cause;

use super::{BodyError, HopError, HopRequest, HopResponse, HttpBody, HttpTransport, Lookup, SystemLookup};
use crate::address::AddressPolicy;
use crate::policy::TimeLimits;

/// Sends requests over the network, anonymously and directly: no proxy, no cookie, no referrer, no redirect, no retry.
#[derive(Debug, Clone)]
pub struct DirectTransport {
    client: Client,
}

impl DirectTransport {
    /// A transport that looks names up with the operating system and connects to globally reachable addresses only.
    ///
    /// # Errors
    /// TLS could not be set up, as on a system without trusted roots.
    pub fn new() -> Result<Self, Cause> {
        let lookup = CheckedLookup {
            lookup: Arc::new(SystemLookup),
            policy: AddressPolicy::global_only(),
        };
        Self::build(Client::builder(), lookup, TimeLimits::default())
    }

    fn build(client: ClientBuilder, lookup: CheckedLookup, limits: TimeLimits) -> Result<Self, Cause> {
        let client = client
            .dns_resolver(Arc::new(lookup))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .no_proxy()
            // A connection kept open would carry an old approval of its address.
            .pool_max_idle_per_host(0)
            .connect_timeout(limits.connect)
            .timeout(limits.request)
            .build()?;
        Ok(Self { client })
    }
}

#[async_trait]
impl HttpTransport for DirectTransport {
    async fn send(&self, request: HopRequest) -> Result<HopResponse, HopError> {
        let send = self.client.get(request.url).headers(request.headers).send();
        let response = send.await.map_err(hop_error)?;
        Ok(HopResponse {
            status: response.status(),
            headers: response.headers().clone(),
            body: Box::new(StreamedBody(response)),
        })
    }
}

struct StreamedBody(reqwest::Response);

#[async_trait]
impl HttpBody for StreamedBody {
    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        self.0.chunk().await.map_err(|error| BodyError(error.into()))
    }
}

/// Look-ups that leave only the addresses that the policy allows. The client connects to what this returns and to
/// nothing else, so no time lies between the check and the use of an address.
struct CheckedLookup {
    lookup: Arc<dyn Lookup>,
    policy: AddressPolicy,
}

impl Resolve for CheckedLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, policy) = (self.lookup.clone(), self.policy.clone());
        Box::pin(async move {
            let host = name.as_str();
            let found = lookup
                .addresses(host)
                .await
                .map_err(|cause| LookupFailure::Failed(cause.to_string()))?;
            let allowed = policy.allowed(host, found);
            if allowed.is_empty() {
                return Err(LookupFailure::NoneAllowed.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// How a look-up failed, found again among the causes of the client's own error.
#[derive(Debug, Clone)]
enum LookupFailure {
    Failed(String),
    NoneAllowed,
}

impl fmt::Display for LookupFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(cause) => formatter.write_str(cause),
            Self::NoneAllowed => formatter.write_str("no allowed address"),
        }
    }
}

impl Error for LookupFailure {}

fn hop_error(error: reqwest::Error) -> HopError {
    match find_cause::<LookupFailure>(&error) {
        Some(LookupFailure::NoneAllowed) => HopError::NoAllowedAddress,
        Some(LookupFailure::Failed(_)) => HopError::Lookup(error.into()),
        None if error.is_timeout() => HopError::TimedOut,
        None => HopError::Network(error.into()),
    }
}

fn find_cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    std::iter::successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
}

#[cfg(test)]
pub(crate) mod testing {
    //! A transport for tests against servers of their own.

    use super::*;

    /// A transport that trusts `root` alone, and to which `policy` and `limits` apply.
    pub(crate) fn transport(
        root: reqwest::Certificate,
        lookup: Arc<dyn Lookup>,
        policy: AddressPolicy,
        limits: TimeLimits,
    ) -> DirectTransport {
        let client = Client::builder().tls_certs_only([root]);
        DirectTransport::build(client, CheckedLookup { lookup, policy }, limits).expect("a client")
    }
}
