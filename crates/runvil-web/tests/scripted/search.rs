//! `web/search` over a scripted provider.

use std::error::Error;
use std::sync::Mutex;

use crate::support::{Network, Provider, call};
use runvil_pack::serde_json::{Value, json};
use runvil_pack::{SearchError, SearchErrorKind, SearchResult, ToolErrorKind, Trust};

fn row(title: &str, url: &str) -> SearchResult {
    SearchResult {
        title: title.to_owned(),
        url: url.to_owned(),
        ..SearchResult::default()
    }
}

async fn search(answer: Result<Vec<SearchResult>, SearchError>, arguments: Value) -> Result<String, String> {
    let provider = Provider(Mutex::new([answer].into()));
    match call(Network::default(), provider, "search", arguments).await {
        Ok(output) => {
            assert_eq!(output.trust(), Trust::Untrusted);
            Ok(output.into_text())
        }
        Err(error) => Err(format!("{:?}: {error}", error.kind())),
    }
}

#[tokio::test]
async fn results_are_compact_json_in_the_providers_order() {
    let results = vec![
        SearchResult {
            description: "A language.".to_owned(),
            age: Some("2 days ago".to_owned()),
            site_name: Some("z.example".to_owned()),
            extra_snippets: vec!["Fast.".to_owned()],
            ..row("Z", "https://z.example/")
        },
        row("", "https://a.example/"),
    ];
    assert_eq!(
        search(Ok(results), json!({ "query": " rust " }))
            .await
            .expect("results"),
        "{\"query\":\" rust \",\"results\":[{\"title\":\"Z\",\"url\":\"https://z.example/\",\
         \"description\":\"A language.\",\"age\":\"2 days ago\",\"site_name\":\"z.example\",\
         \"extra_snippets\":[\"Fast.\"]},{\"title\":\"\",\"url\":\"https://a.example/\",\"description\":\"\"}]}"
    );
    assert_eq!(
        search(Ok(vec![]), json!({ "query": "q" })).await.expect("results"),
        r#"{"query":"q","results":[]}"#
    );
}

#[tokio::test]
async fn a_refused_call_never_reaches_the_provider() {
    // A provider without an answer left would panic.
    for (arguments, message) in [
        (
            json!({ "query": "q", "count": 30 }),
            "web_search: count must be between 1 and 20",
        ),
        (json!({ "query": "q", "extra": 1 }), "web_search: invalid arguments"),
    ] {
        let error = call(Network::default(), Provider::default(), "search", arguments)
            .await
            .expect_err("a refusal");
        assert_eq!(
            (error.kind(), error.message()),
            (ToolErrorKind::InvalidArguments, message)
        );
    }
}

#[tokio::test]
async fn a_parse_failure_is_kept_as_the_cause_only() {
    let error = call(
        Network::default(),
        Provider::default(),
        "search",
        json!({ "query": "q", "extra": 1 }),
    )
    .await;
    let error = error.expect_err("a refusal");
    assert!(error.source().expect("the cause").to_string().contains("extra"));
}

#[tokio::test]
async fn a_providers_failure_keeps_its_kind_and_gets_the_prefix() {
    for (kind, message) in [
        (SearchErrorKind::Transport, "Transport: web_search: request failed"),
        (SearchErrorKind::Backend, "Backend: web_search: request failed"),
    ] {
        let failure = SearchError::new(kind, "request failed").with_cause("socket reset");
        assert_eq!(
            search(Err(failure), json!({ "query": "q" })).await,
            Err(message.to_owned())
        );
    }
}

#[tokio::test]
async fn a_result_with_a_blank_url_spoils_the_search() {
    let results = vec![row("A", "https://a.example/"), row("B", " \t"), row("C", "")];
    assert_eq!(
        search(Ok(results), json!({ "query": "q" })).await,
        Err("Backend: web_search: malformed search response: result 1 has an empty url".to_owned())
    );
}
