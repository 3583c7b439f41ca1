//! The client of a chat-completions server.

use std::collections::BTreeMap;

use async_trait::async_trait;
use reqwest::{
    Client, RequestBuilder, Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
    redirect::Policy,
};
use runvil_engine::{CompletionError, ModelReply, ModelRound, RawExchange};
use serde_json::Value;

use crate::{
    ApiKey, ApiRoot, Catalog, CatalogDefaults, Gateway, ModelBackend, OnText, Progress, ReplyDecoder, RoundLimits,
    ThinkingDialect, catalog,
    classify::{bounded, classify_status},
    judge,
    receive::{BodyKind, Incoming, within},
    request::Body,
};

/// A server and how to speak to it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Where it is: a round goes to `{root}/chat/completions`.
    pub root: ApiRoot,
    /// The key that it asks for.
    pub api_key: Option<ApiKey>,
    /// How it is told to think.
    pub thinking: ThinkingDialect,
    /// What its model list leaves unsaid.
    pub defaults: CatalogDefaults,
    /// The models that stand in for others: the name that a round gives, and the name that is sent in its place.
    pub substitutes: BTreeMap<String, String>,
}

impl From<Gateway> for Endpoint {
    fn from(gateway: Gateway) -> Self {
        Self {
            thinking: ThinkingDialect::of(&gateway.root),
            root: gateway.root,
            api_key: gateway.api_key,
            defaults: CatalogDefaults::default(),
            substitutes: BTreeMap::new(),
        }
    }
}

/// Why no client can be made, such as a system without root certificates.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client of the model gateway cannot be set up")]
pub struct ClientSetupError(#[from] reqwest::Error);

/// A model backend that speaks streamed chat completions over HTTP.
///
/// Each request is sent once, on a connection of its own: no connection is kept, since a request on one that died
/// meanwhile would have to fail or be sent again. No redirect is followed and no proxy asked, so the key and the
/// conversation go to the configured server alone.
#[derive(Debug)]
pub struct ChatCompletions {
    client: Client,
    endpoint: Endpoint,
}

impl ChatCompletions {
    /// A client of an endpoint.
    ///
    /// # Errors
    /// The HTTP client cannot be set up.
    pub fn new(endpoint: Endpoint) -> Result<Self, ClientSetupError> {
        let mut builder = Client::builder()
            .user_agent(concat!("runvil/", env!("CARGO_PKG_VERSION")))
            .http1_only()
            .pool_max_idle_per_host(0)
            .retry(reqwest::retry::never())
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate();
        if !endpoint.root.is_https() {
            // Without TLS there is nothing to verify, so a system without root certificates will do.
            builder = builder.tls_certs_only([]);
        }
        Ok(Self {
            client: builder.build()?,
            endpoint,
        })
    }

    async fn send(&self, request: RequestBuilder, limits: RoundLimits) -> Result<Response, CompletionError> {
        let request = match &self.endpoint.api_key {
            Some(key) => request.header(AUTHORIZATION, key.header()),
            None => request,
        };
        let response = within(limits, request.send()).await?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(refusal(response, limits).await)
        }
    }
}

/// The failure that an error reply tells. Its body is read to tell it, and goes no further than the debug log.
async fn refusal(response: Response, limits: RoundLimits) -> CompletionError {
    let status = response.status().as_u16();
    let body = match Incoming::new(response, limits, BodyKind::Whole) {
        Ok(incoming) => incoming.whole().await,
        Err(malformed) => Err(malformed.into()),
    };
    match body {
        Ok(body) => {
            let body = String::from_utf8_lossy(&body);
            tracing::debug!(status, body = %bounded(&body), "the model backend answered with an error");
            classify_status(status, &body)
        }
        Err(error) => error,
    }
}

#[async_trait]
impl ModelBackend for ChatCompletions {
    async fn complete(
        &self,
        round: &ModelRound,
        limits: RoundLimits,
        on_text: OnText<'_>,
    ) -> Result<ModelReply, CompletionError> {
        let asked = round.request.model.as_str();
        let substitute = self.endpoint.substitutes.get(asked);
        let model = substitute.map_or(asked, String::as_str);
        let body = Body::new(&round.request, model, self.endpoint.thinking);
        let request = self
            .client
            .post(self.endpoint.root.endpoint("chat/completions"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(serde_json::to_vec(&body).expect("a request is made of strings, numbers and JSON"));
        let response = self.send(request, limits).await?;

        let mut incoming = Incoming::new(response, limits, BodyKind::Reply)?;
        let mut raw = round.debug.then(Vec::new);
        let mut decoder = ReplyDecoder::new();
        while let Some(chunk) = incoming.next().await? {
            if let Some(raw) = &mut raw {
                raw.extend_from_slice(chunk.as_ref());
            }
            if decoder.push(chunk.as_ref(), on_text)? == Progress::Done {
                break;
            }
        }
        let mut reply = judge(decoder.finish(on_text)?)?;
        reply.sent_to = substitute.cloned();
        reply.raw = raw.map(|raw| exchange(&body, &raw));
        Ok(reply)
    }

    async fn models(&self, limits: RoundLimits) -> Result<Catalog, CompletionError> {
        let request = self
            .client
            .get(self.endpoint.root.endpoint("models"))
            .header(ACCEPT, "application/json");
        let response = self.send(request, limits).await?;
        let body = Incoming::new(response, limits, BodyKind::Whole)?.whole().await?;
        Ok(catalog::parse(&body, self.endpoint.defaults)?)
    }
}

/// The bodies of a round: a response that is JSON as JSON, any other as text.
fn exchange(request: &Body<'_>, response: &[u8]) -> RawExchange {
    RawExchange {
        request: serde_json::to_value(request).expect("a request is made of strings, numbers and JSON"),
        response: serde_json::from_slice(response)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(response).into_owned())),
    }
}
