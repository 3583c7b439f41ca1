//! The Pack over a scripted network and a scripted search provider.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use runvil_pack::serde_json::{Map, Value};
use runvil_pack::{
    BuiltPack, Configuration, NoFiles, PackRegistry, Plugin, SEARCH_PROVIDER, SearchError, SearchProvider,
    SearchRequest, SearchResult, Services, ToolContext, ToolError, ToolOutput,
};
use runvil_web::{
    Bytes, HeaderMap, HopError, HopRequest, HopResponse, HttpTransport, StatusCode, TOKIO_RUNTIME, WebPlugin,
};
use tokio::runtime::Handle;

/// A response of the scripted network: status, header lines, body.
pub(crate) type Scripted = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// A network that serves what a test says, and nothing else.
#[derive(Default)]
pub(crate) struct Network {
    pages: BTreeMap<String, Scripted>,
    requests: Arc<Mutex<Vec<HopRequest>>>,
}

impl Network {
    /// Serves a response at `url`.
    pub(crate) fn serve(mut self, url: &str, status: u16, headers: &[(&'static str, &str)], body: &[u8]) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        self.pages.insert(url.to_owned(), (status, headers, body.to_vec()));
        self
    }

    /// Redirects `url` to `to`.
    pub(crate) fn redirect(self, url: &str, to: &str) -> Self {
        self.serve(url, 302, &[("location", to)], b"")
    }

    /// The requests so far, shared.
    pub(crate) fn requests(&self) -> Arc<Mutex<Vec<HopRequest>>> {
        self.requests.clone()
    }
}

#[async_trait]
impl HttpTransport for Network {
    async fn send(&self, request: HopRequest) -> Result<HopResponse, HopError> {
        let page = self.pages.get(request.url.as_str()).cloned();
        self.requests
            .lock()
            .expect("no test panics with the lock held")
            .push(request);
        let (status, lines, body) = page.ok_or_else(|| HopError::Network("nothing is there".into()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, value.parse().expect("a header value"));
        }
        let status = StatusCode::from_u16(status).expect("a status");
        Ok(HopResponse {
            status,
            headers,
            body: Box::new(Bytes::from(body)),
        })
    }
}

/// A provider with answers in order.
#[derive(Default)]
pub(crate) struct Provider(pub(crate) Mutex<VecDeque<Result<Vec<SearchResult>, SearchError>>>);

#[async_trait]
impl SearchProvider for Provider {
    async fn search(&self, _: &SearchRequest) -> Result<Vec<SearchResult>, SearchError> {
        let mut answers = self.0.lock().expect("no test panics with the lock held");
        answers.pop_front().expect("an answer for the search")
    }
}

/// The Host's services, with a scripted provider.
pub(crate) fn services(provider: Provider) -> Services {
    let provider: Arc<dyn SearchProvider> = Arc::new(provider);
    Services::new()
        .with(SEARCH_PROVIDER, provider)
        .with(TOKIO_RUNTIME, Arc::new(Handle::current()))
}

/// The built Pack.
pub(crate) fn build(plugin: &WebPlugin, services: &Services) -> BuiltPack {
    let mut registry = PackRegistry::new();
    plugin.add_packs(&mut registry).expect("an empty registry takes a Pack");
    registry.build(services).remove(0)
}

/// Calls a tool of the Pack, named by its last segment.
pub(crate) async fn call(
    network: Network,
    provider: Provider,
    tool: &str,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let plugin = WebPlugin::new(Configuration::new()).with_transport(Arc::new(network));
    let pack = build(&plugin, &services(provider)).pack.expect("the Pack builds");
    let tools = pack.tools();
    let found = tools
        .iter()
        .find(|found| found.definition().id.tool_name() == tool)
        .expect("a tool of the Pack");
    let arguments: Map<String, Value> = arguments.as_object().expect("an object").clone();
    found.call(arguments, ToolContext::new(Arc::new(NoFiles))).await
}
