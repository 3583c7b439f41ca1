//! The real transport: a connection of its own for each hop, to a checked address.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Certificate, Client, redirect, retry};
use tokio::sync::OnceCell;

use super::{BodyError, HopError, HopRequest, HopResponse, HttpBody, HttpTransport, Lookup, SystemLookup};
use crate::address::AddressPolicy;
use crate::policy::TimeLimits;

/// Sends requests over the network, anonymously and directly: no proxy, no cookie, no referrer, no redirect, no retry.
#[derive(Clone)]
pub struct DirectTransport {
    /// Made at the first hop: reading the system's trusted roots takes longer than a whole run that fetches nothing.
    client: OnceCell<Client>,
    lookup: CheckedLookup,
    limits: TimeLimits,
    /// The only roots to trust, in place of the system's.
    roots: Option<Vec<Certificate>>,
}

impl Default for DirectTransport {
    fn default() -> Self {
        Self::new()
    }
}

impl DirectTransport {
    /// A transport that looks names up with the operating system and connects to globally reachable addresses only.
    ///
    /// On a system without trusted roots, each hop fails.
    #[must_use]
    pub fn new() -> Self {
        Self {
            client: OnceCell::new(),
            lookup: CheckedLookup {
                lookup: Arc::new(SystemLookup),
                policy: AddressPolicy::global_only(),
            },
            limits: TimeLimits::default(),
            roots: None,
        }
    }

    async fn client(&self) -> Result<&Client, HopError> {
        let client = self.client.get_or_try_init(|| async { self.build() }).await;
        client.map_err(|error| HopError::Network(error.into()))
    }

    fn build(&self) -> reqwest::Result<Client> {
        let client = match &self.roots {
            Some(roots) => Client::builder().tls_certs_only(roots.iter().cloned()),
            None => Client::builder(),
        };
        client
            .dns_resolver(Arc::new(self.lookup.clone()))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .no_proxy()
            // A connection kept open would carry an old approval of its address.
            .pool_max_idle_per_host(0)
            .connect_timeout(self.limits.connect)
            .timeout(self.limits.request)
            .build()
    }
}

#[async_trait]
impl HttpTransport for DirectTransport {
    async fn send(&self, request: HopRequest) -> Result<HopResponse, HopError> {
        let send = self.client().await?.get(request.url).headers(request.headers).send();
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
#[derive(Clone)]
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
        root: Certificate,
        lookup: Arc<dyn Lookup>,
        policy: AddressPolicy,
        limits: TimeLimits,
    ) -> DirectTransport {
        DirectTransport {
            client: OnceCell::new(),
            lookup: CheckedLookup { lookup, policy },
            limits,
            roots: Some(vec![root]),
        }
    }
}
