//! The search provider, which runs every web search of a Host (book: The search provider).

use std::error::Error;
use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::error::Cause;
use crate::service::ServiceKey;

/// The Host-wide service `runvil/search-provider`.
pub const SEARCH_PROVIDER: ServiceKey<dyn SearchProvider> = ServiceKey::new("runvil/search-provider");

/// The owner of the search transport: its credential, its endpoint and its deadline.
#[async_trait]
pub trait SearchProvider: Send + Sync {
    /// Runs one search. The request has passed every argument check.
    async fn search(&self, request: &SearchRequest) -> Result<Vec<SearchResult>, SearchError>;
}

/// A search, with exactly the values that the call passed. What it left out is left out of the JSON form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// The text to search for, as written.
    pub query: String,
    /// The largest number of results wanted.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How recent a result must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Freshness>,
    /// A country code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// A language code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_lang: Option<String>,
    /// How adult content is filtered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safesearch: Option<SafeSearch>,
    /// Hostnames to which the results are limited; empty for no limit.
    #[serde(default, deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub include_domains: Vec<String>,
    /// Hostnames whose results are dropped.
    #[serde(default, deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub exclude_domains: Vec<String>,
}

/// How recent a result must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Freshness {
    /// The past day.
    #[serde(rename = "pd")]
    PastDay,
    /// The past week.
    #[serde(rename = "pw")]
    PastWeek,
    /// The past month.
    #[serde(rename = "pm")]
    PastMonth,
    /// The past year.
    #[serde(rename = "py")]
    PastYear,
}

/// A SafeSearch level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SafeSearch {
    /// No filtering.
    Off,
    /// Explicit images are filtered.
    Moderate,
    /// All explicit content is filtered.
    Strict,
}

/// One entry of a list of results. Its JSON form leaves out what the provider did not report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The page's title, empty if it has none.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub title: String,
    /// The page's address. A result without one spoils the whole search.
    pub url: String,
    /// What the page says, empty if the provider gives none.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub description: String,
    /// The page's age for a human reader, such as `2 days ago`.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub age: Option<String>,
    /// The hostname of `url`, when the provider derives it.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub site_name: Option<String>,
    /// Further pieces of the page's text.
    #[serde(default, deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub extra_snippets: Vec<String>,
}

fn is_absent(text: &Option<String>) -> bool {
    text.as_deref().is_none_or(str::is_empty)
}

fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a whole number also when it is written as a float, as Lua writes one that it divided.
fn whole_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let whole = number.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0);
    let count = number.as_u64().or(whole.map(|float| float as u64));
    count
        .map(Some)
        .ok_or_else(|| serde::de::Error::custom("expected a whole number"))
}

/// Which side of a search failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchErrorKind {
    /// The request could not be sent, or its answer not be read.
    Transport,
    /// The backend failed, or sent a malformed answer.
    Backend,
}

/// Why a search failed: a message that a model may read, and a hidden cause.
#[derive(Debug)]
pub struct SearchError {
    kind: SearchErrorKind,
    message: String,
    cause: Option<Cause>,
}

impl SearchError {
    /// A failure with a message that a model may read.
    pub fn new(kind: SearchErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            cause: None,
        }
    }

    /// Keeps `cause` for the Host's log.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Which side failed.
    pub fn kind(&self) -> SearchErrorKind {
        self.kind
    }

    /// The model-safe message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The cause, taken out.
    pub fn into_cause(self) -> Option<Cause> {
        self.cause
    }
}

impl fmt::Display for SearchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for SearchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_leaves_out_stays_out() {
        let request = SearchRequest {
            query: "q".to_owned(),
            ..SearchRequest::default()
        };
        assert_eq!(serde_json::to_string(&request).expect("JSON"), r#"{"query":"q"}"#);
    }

    #[test]
    fn a_result_row_keeps_its_order_and_leaves_out_what_is_empty() {
        let full = SearchResult {
            title: "T".to_owned(),
            url: "u".to_owned(),
            description: "D".to_owned(),
            age: Some("1 day".to_owned()),
            site_name: Some("s".to_owned()),
            extra_snippets: vec!["x".to_owned()],
        };
        assert_eq!(
            serde_json::to_string(&full).expect("JSON"),
            r#"{"title":"T","url":"u","description":"D","age":"1 day","site_name":"s","extra_snippets":["x"]}"#
        );
        let bare: SearchResult =
            serde_json::from_str(r#"{"url":"u","title":null,"age":"","extra_snippets":[],"rank":1}"#).expect("a row");
        assert_eq!(
            serde_json::to_string(&bare).expect("JSON"),
            r#"{"title":"","url":"u","description":""}"#
        );
    }
}
