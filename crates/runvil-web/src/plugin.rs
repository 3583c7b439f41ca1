//! The Plugin that adds the Pack (book: When the web Pack is missing or unavailable).

use std::sync::Arc;

use runvil_pack::{
    BuildContext, Configuration, Pack, PackError, PackName, PackRegistry, Plugin, RegistryError, SEARCH_PROVIDER,
    ServiceKey, Tool,
};
use tokio::runtime::Handle;

use crate::fetch::FetchTool;
use crate::search::SearchTool;
use crate::transport::{DirectTransport, HttpTransport};

/// The Host-wide service `runvil/tokio-runtime`, on which fetches run.
pub const TOKIO_RUNTIME: ServiceKey<Handle> = ServiceKey::new("runvil/tokio-runtime");

/// Adds the Pack `runvil/web`. It needs the services `runvil/search-provider` and `runvil/tokio-runtime` when the Host
/// sets up, and takes no configuration.
#[derive(Clone, Default)]
pub struct WebPlugin {
    configuration: Configuration,
    transport: Option<Arc<dyn HttpTransport>>,
}

impl WebPlugin {
    /// The Plugin with the Host's configuration, of which the Pack accepts only null or `{}` under `web`.
    pub fn new(configuration: Configuration) -> Self {
        Self {
            configuration,
            transport: None,
        }
    }

    /// Fetches through `transport` and not over the network. The transport then answers for where it connects to.
    #[must_use]
    pub fn with_transport(mut self, transport: Arc<dyn HttpTransport>) -> Self {
        self.transport = Some(transport);
        self
    }

    fn build(self, context: &BuildContext) -> Result<Arc<dyn Pack>, PackError> {
        self.configuration.expect_none(context.id())?;
        let provider = context.require(SEARCH_PROVIDER)?;
        let runtime = context.require(TOKIO_RUNTIME)?;
        let transport = self.transport.unwrap_or_else(|| Arc::new(DirectTransport::new()));
        Ok(Arc::new(Web {
            fetch: Arc::new(FetchTool::new(context.id(), transport, Handle::clone(&runtime))),
            search: Arc::new(SearchTool::new(context.id(), provider)),
        }))
    }
}

impl Plugin for WebPlugin {
    fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError> {
        let name: PackName = "runvil/web".parse().expect("a fully qualified name");
        let plugin = self.clone();
        registry.add(name, move |context| plugin.build(context))
    }
}

struct Web {
    fetch: Arc<FetchTool>,
    search: Arc<SearchTool>,
}

impl Pack for Web {
    fn description(&self) -> &str {
        "Search the web and fetch pages."
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![self.fetch.clone(), self.search.clone()]
    }
}
