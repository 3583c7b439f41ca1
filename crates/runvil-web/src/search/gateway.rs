//! The search provider behind a gateway (book: Errors from the Gateway provider).

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Response, redirect, retry};
use runvil_pack::{Cause, SearchError, SearchErrorKind, SearchProvider, SearchRequest, SearchResult};
use serde::Deserialize;
use tokio::sync::OnceCell;
use url::Url;

use crate::text::beginning;

/// How long one search may take, from its request to the last byte of its response.
const DEADLINE: Duration = Duration::from_secs(30);

/// The largest response, in bytes.
const RESPONSE_CAP: usize = 262_144;

/// How much of an error body a message quotes, in bytes.
const QUOTE_CAP: usize = 2000;

/// Searches through a gateway, which holds the search vendor's credential. The gateway sees its own key only.
#[derive(Debug)]
pub struct GatewaySearch(Result<Gateway, Cause>);

#[derive(Debug)]
struct Gateway {
    /// Made at the first search: reading the system's trusted roots takes longer than a whole run without one.
    client: OnceCell<Client>,
    deadline: Duration,
    endpoint: Url,
    authorization: Option<HeaderValue>,
}

impl GatewaySearch {
    /// A provider that posts each search to `{gateway}/search`, with `key` as its bearer token.
    ///
    /// A gateway that cannot be used, because its URL or its key is not well-formed, makes each search fail.
    pub fn new(gateway: &str, key: Option<&str>) -> Self {
        Self::with_deadline(gateway, key, DEADLINE)
    }

    /// A provider without a gateway. Each search fails.
    pub fn without_gateway() -> Self {
        Self(Err("there is no gateway".into()))
    }

    fn with_deadline(gateway: &str, key: Option<&str>, deadline: Duration) -> Self {
        Self(Gateway::build(gateway, key, deadline))
    }
}

impl Gateway {
    fn build(gateway: &str, key: Option<&str>, deadline: Duration) -> Result<Self, Cause> {
        let endpoint = Url::parse(&format!("{}/search", gateway.trim_end_matches('/')))?;
        Ok(Self {
            client: OnceCell::new(),
            deadline,
            endpoint,
            authorization: key.map(bearer).transpose()?,
        })
    }

    async fn client(&self) -> reqwest::Result<&Client> {
        let build = || async {
            Client::builder()
                .redirect(redirect::Policy::none())
                .retry(retry::never())
                .referer(false)
                .no_proxy()
                .timeout(self.deadline)
                .build()
        };
        self.client.get_or_try_init(build).await
    }

    async fn search(&self, request: &SearchRequest) -> Result<Vec<SearchResult>, Failure> {
        let body = serde_json::to_vec(request).map_err(|cause| Failure::Request(cause.into()))?;
        let client = self.client().await.map_err(|cause| Failure::Request(cause.into()))?;
        let mut post = client
            .post(self.endpoint.clone())
            .header("content-type", "application/json")
            .body(body);
        if let Some(authorization) = &self.authorization {
            post = post.header(AUTHORIZATION, authorization);
        }
        let response = post.send().await.map_err(|cause| Failure::Request(cause.into()))?;
        if !response.status().is_success() {
            return Err(error_status(response).await);
        }
        let (bytes, complete) = read(response).await.map_err(|cause| Failure::Reading(cause.into()))?;
        if !complete {
            return Err(Failure::TooLarge);
        }
        let text = String::from_utf8(bytes).map_err(|_| Failure::NotUtf8)?;
        let found: Found = serde_json::from_str(&text).map_err(Failure::Malformed)?;
        Ok(found.results)
    }
}

/// The bearer token of a key, marked so that no log shows it.
fn bearer(key: &str) -> Result<HeaderValue, Cause> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The gateway's answer. Fields that are not known are ignored.
#[derive(Deserialize)]
struct Found {
    /// The search that ran; read only so that a wrong type is noticed.
    #[serde(rename = "query")]
    _query: Option<String>,
    results: Vec<SearchResult>,
}

async fn error_status(response: Response) -> Failure {
    let code = response.status().as_u16();
    match read(response).await {
        Ok((bytes, _)) => Failure::Status {
            code,
            quote: quote(&String::from_utf8_lossy(&bytes)),
        },
        Err(_) => Failure::UnreadableStatus { code },
    }
}

/// Reads a body up to the cap, and says whether that was all of it.
async fn read(mut response: Response) -> reqwest::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = RESPONSE_CAP - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

/// The beginning of an error body, on one line.
fn quote(body: &str) -> String {
    if body.is_empty() {
        return "(empty body)".to_owned();
    }
    let mut quoted = String::new();
    for character in beginning(body, QUOTE_CAP).chars() {
        match character {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{{{:04x}}}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted
}

/// How a search through the gateway fails. Its `Display` is the provider's message.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("request failed")]
    Request(#[source] Cause),
    #[error("reading response failed")]
    Reading(#[source] Cause),
    #[error("backend returned {code}: {quote}")]
    Status { code: u16, quote: String },
    #[error("backend returned {code}, and its error body could not be read")]
    UnreadableStatus { code: u16 },
    #[error("response body exceeded {RESPONSE_CAP} bytes")]
    TooLarge,
    #[error("response body was not valid UTF-8")]
    NotUtf8,
    #[error("malformed search response")]
    Malformed(#[source] serde_json::Error),
}

impl From<Failure> for SearchError {
    fn from(failure: Failure) -> Self {
        let message = failure.to_string();
        match failure {
            Failure::Request(cause) | Failure::Reading(cause) => {
                Self::new(SearchErrorKind::Transport, message).with_cause(cause)
            }
            Failure::Malformed(cause) => Self::new(SearchErrorKind::Backend, message).with_cause(cause),
            Failure::Status { .. } | Failure::UnreadableStatus { .. } | Failure::TooLarge | Failure::NotUtf8 => {
                Self::new(SearchErrorKind::Backend, message)
            }
        }
    }
}

#[async_trait]
impl SearchProvider for GatewaySearch {
    async fn search(&self, request: &SearchRequest) -> Result<Vec<SearchResult>, SearchError> {
        let gateway = self
            .0
            .as_ref()
            .map_err(|cause| Failure::Request(cause.to_string().into()))?;
        Ok(gateway.search(request).await?)
    }
}

#[cfg(test)]
mod tests;
