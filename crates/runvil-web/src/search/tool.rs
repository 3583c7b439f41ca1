//! `web/search` as a tool.

use std::sync::Arc;

use async_trait::async_trait;
use runvil_pack::SearchError;
use runvil_pack::{
    Arguments, PackId, SearchErrorKind, SearchProvider, SearchResult, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::arguments::{self, ArgumentError, CODE_MAXIMUM, COUNT_MAXIMUM, DOMAINS_MAXIMUM, QUERY_MAXIMUM};

/// Searches the web through the Host's search provider.
pub(crate) struct SearchTool {
    definition: ToolDefinition,
    provider: Arc<dyn SearchProvider>,
}

impl SearchTool {
    /// The search tool of the Pack `pack`.
    pub(crate) fn new(pack: &PackId, provider: Arc<dyn SearchProvider>) -> Self {
        let id = pack.tool("search").expect("a tool name");
        let description = "Search the web and return a list of results (title, url, description).";
        let definition = ToolDefinition::new(id, description)
            .parameters(parameters())
            .repeat_safe();
        Self { definition, provider }
    }
}

/// What a search returns, as JSON.
#[derive(Serialize)]
struct Results<'a> {
    query: &'a str,
    results: &'a [SearchResult],
}

/// Why a search failed. Its `Display` is the tool's message.
#[derive(Debug, thiserror::Error)]
enum SearchFailure {
    #[error("web_search: {0}")]
    Arguments(ArgumentError),
    #[error("web_search: {0}")]
    Provider(SearchError),
    #[error("web_search: malformed search response: result {0} has an empty url")]
    EmptyUrl(usize),
    #[error("web_search: the results could not be rendered")]
    Unrenderable(serde_json::Error),
}

impl From<SearchFailure> for ToolError {
    fn from(failure: SearchFailure) -> Self {
        let message = failure.to_string();
        match failure {
            SearchFailure::Arguments(ArgumentError::Parse(cause)) => Self::invalid_arguments(message).with_cause(cause),
            SearchFailure::Arguments(_) => Self::invalid_arguments(message),
            SearchFailure::Provider(error) => {
                let kind = match error.kind() {
                    SearchErrorKind::Transport => ToolErrorKind::Transport,
                    SearchErrorKind::Backend => ToolErrorKind::Backend,
                };
                let failure = Self::new(kind, message);
                match error.into_cause() {
                    Some(cause) => failure.with_cause(cause),
                    None => failure,
                }
            }
            SearchFailure::EmptyUrl(_) => Self::new(ToolErrorKind::Backend, message),
            SearchFailure::Unrenderable(cause) => Self::other(message).with_cause(cause),
        }
    }
}

#[async_trait]
impl Tool for SearchTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, _: ToolContext) -> Result<ToolOutput, ToolError> {
        let request = arguments::parse(arguments).map_err(SearchFailure::Arguments)?;
        let results = self.provider.search(&request).await.map_err(SearchFailure::Provider)?;
        if let Some(index) = results.iter().position(|result| result.url.trim().is_empty()) {
            return Err(SearchFailure::EmptyUrl(index).into());
        }
        let results = Results {
            query: &request.query,
            results: &results,
        };
        let text = serde_json::to_string(&results).map_err(SearchFailure::Unrenderable)?;
        Ok(ToolOutput::untrusted(text))
    }
}

fn parameters() -> Value {
    let code = |description: &str| {
        json!({
            "type": "string", "minLength": 1, "maxLength": CODE_MAXIMUM, "description": description,
        })
    };
    let domains = |description: &str| {
        json!({
            "type": "array",
            "items": { "type": "string", "minLength": 1, "maxLength": CODE_MAXIMUM },
            "maxItems": DOMAINS_MAXIMUM,
            "description": description,
        })
    };
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string", "minLength": 1, "maxLength": QUERY_MAXIMUM, "description": "The search query.",
            },
            "count": {
                "type": "integer", "minimum": 1, "maximum": COUNT_MAXIMUM, "description": "Max number of results.",
            },
            "freshness": {
                "type": "string", "enum": ["pd", "pw", "pm", "py"], "description": "Freshness filter.",
            },
            "country": code("Country code for the search."),
            "search_lang": code("Search language code."),
            "safesearch": {
                "type": "string", "enum": ["off", "moderate", "strict"], "description": "SafeSearch level.",
            },
            "include_domains": domains("Only keep results from these hostnames."),
            "exclude_domains": domains("Drop results from these hostnames."),
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}
