use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// A gateway that reads one request, answers with `answer` and closes; its requests are kept.
async fn gateway(answer: Vec<u8>) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/v1", listener.local_addr().expect("a bound address"));
    let seen = Arc::new(Mutex::new(String::new()));
    let requests = seen.clone();
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await?;
        let mut bytes = vec![0; 4096];
        let length = connection.read(&mut bytes).await?;
        *requests.lock().expect("no test panics with the lock held") =
            String::from_utf8_lossy(&bytes[..length]).into_owned();
        connection.write_all(&answer).await?;
        connection.shutdown().await
    });
    (url, seen)
}

fn response(status: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

async fn outcome(provider: GatewaySearch) -> Result<Vec<SearchResult>, String> {
    let request = SearchRequest {
        query: "q".to_owned(),
        ..SearchRequest::default()
    };
    provider
        .search(&request)
        .await
        .map_err(|error| format!("{:?}: {error}", error.kind()))
}

async fn search(answer: Vec<u8>) -> Result<Vec<SearchResult>, String> {
    let (url, _) = gateway(answer).await;
    outcome(GatewaySearch::new(&url, None)).await
}

async fn failure(answer: Vec<u8>) -> String {
    search(answer).await.expect_err("a failure")
}

#[tokio::test]
async fn a_search_is_posted_with_the_key_and_only_what_the_call_passed() {
    let (url, seen) = gateway(response(200, br#"{"query":"q","results":[]}"#)).await;
    let request = SearchRequest {
        query: "q".to_owned(),
        count: Some(3),
        ..SearchRequest::default()
    };
    let provider = GatewaySearch::new(&format!("{url}/"), Some("s3cret"));
    assert_eq!(provider.search(&request).await.expect("results"), []);
    let seen = seen.lock().expect("no test panics with the lock held");
    assert!(seen.starts_with("POST /v1/search HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nauthorization: Bearer s3cret\r\n"), "{seen}");
    assert!(seen.contains("\r\ncontent-type: application/json\r\n"), "{seen}");
    assert!(seen.ends_with("\r\n\r\n{\"query\":\"q\",\"count\":3}"), "{seen}");
    assert!(!format!("{provider:?}").contains("s3cret"));
}

#[tokio::test]
async fn known_fields_come_back_and_others_are_ignored() {
    let body = br#"{"results":[{"url":"https://a.example/","title":"A","rank":1,"age":"1 day"},{"url":"b"}],"took":3}"#;
    let results = search(response(200, body)).await.expect("results");
    let first = SearchResult {
        title: "A".to_owned(),
        url: "https://a.example/".to_owned(),
        age: Some("1 day".to_owned()),
        ..SearchResult::default()
    };
    assert_eq!(
        results,
        [
            first,
            SearchResult {
                url: "b".to_owned(),
                ..SearchResult::default()
            }
        ]
    );
}

#[tokio::test]
async fn an_error_status_is_quoted_on_one_line() {
    for (body, quoted) in [
        (b"upstream down".as_slice(), "upstream down"),
        (b"", "(empty body)"),
        (b"a\nb\r\tc\x1b[\x7f", "a\\nb\\r\\tc\\u{001b}[\\u{007f}"),
        (b"\xff", "\u{fffd}"),
    ] {
        assert_eq!(
            failure(response(502, body)).await,
            format!("Backend: backend returned 502: {quoted}")
        );
    }
    let long = "é".repeat(2000);
    assert_eq!(
        failure(response(404, long.as_bytes())).await,
        format!("Backend: backend returned 404: {}", "é".repeat(1000))
    );
}

#[tokio::test]
async fn a_redirect_is_a_status_like_any_other() {
    let redirect = b"HTTP/1.1 307 X\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n".to_vec();
    assert_eq!(failure(redirect).await, "Backend: backend returned 307: (empty body)");
}

#[tokio::test]
async fn an_error_body_that_breaks_off_is_said_to() {
    let broken = b"HTTP/1.1 500 X\r\ncontent-length: 100\r\n\r\nhalf".to_vec();
    assert_eq!(
        failure(broken).await,
        "Backend: backend returned 500, and its error body could not be read"
    );
}

#[tokio::test]
async fn a_response_body_that_breaks_off_is_a_transport_failure() {
    let broken = b"HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\nhalf".to_vec();
    assert_eq!(failure(broken).await, "Transport: reading response failed");
}

#[tokio::test]
async fn the_size_comes_before_utf_8_and_that_before_the_shape() {
    assert_eq!(
        failure(response(200, &[0xff; 262_145])).await,
        "Backend: response body exceeded 262144 bytes"
    );
    assert_eq!(
        failure(response(200, &[0xff; 262_144])).await,
        "Backend: response body was not valid UTF-8"
    );
    assert_eq!(
        failure(response(200, &[b'a'; 262_144])).await,
        "Backend: malformed search response"
    );
}

#[tokio::test]
async fn every_wrong_shape_is_malformed() {
    for body in [
        "not json",
        "[]",
        "{}",
        r#"{"results":{}}"#,
        r#"{"results":[{}]}"#,
        r#"{"results":[{"url":1}]}"#,
        r#"{"results":[{"url":"a","title":1}]}"#,
        r#"{"results":[{"url":"a","extra_snippets":"b"}]}"#,
        r#"{"query":1,"results":[]}"#,
    ] {
        assert_eq!(
            failure(response(200, body.as_bytes())).await,
            "Backend: malformed search response",
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_gateway_that_cannot_be_used_or_reached_fails_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let closed = format!("http://{}", listener.local_addr().expect("a bound address"));
    drop(listener);
    for provider in [
        GatewaySearch::without_gateway(),
        GatewaySearch::new("not a url", None),
        GatewaySearch::new("http://127.0.0.1:1", Some("bad\nkey")),
        GatewaySearch::new(&closed, None),
    ] {
        assert_eq!(outcome(provider).await, Err("Transport: request failed".to_owned()));
    }
}

#[tokio::test]
async fn the_deadline_ends_a_stalled_search_wherever_it_stalls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let silent = format!("http://{}", listener.local_addr().expect("a bound address"));
    let deadline = Duration::from_millis(200);
    let provider = GatewaySearch::with_deadline(&silent, None, deadline);
    assert_eq!(outcome(provider).await, Err("Transport: request failed".to_owned()));

    tokio::spawn(async move {
        // The first connection waits in the queue, of the search before.
        let _first = listener.accept().await?;
        let (mut connection, _) = listener.accept().await?;
        let _ = connection.read(&mut [0; 4096]).await?;
        connection
            .write_all(b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\nhalf")
            .await?;
        std::future::pending::<std::io::Result<()>>().await
    });
    let provider = GatewaySearch::with_deadline(&silent, None, deadline);
    assert_eq!(
        outcome(provider).await,
        Err("Transport: reading response failed".to_owned())
    );
}
