//! `web/fetch` over a scripted network: every message, and where it lands.

use crate::support::{Network, Provider, call};
use runvil_pack::Trust;
use runvil_pack::serde_json::{Value, json};

const PLAIN: (&str, &str) = ("content-type", "text/plain");

/// The answer's text, or the error's kind and message. Every text is untrusted.
async fn fetch_with(network: Network, arguments: Value) -> String {
    match call(network, Provider::default(), "fetch", arguments).await {
        Ok(output) => {
            assert_eq!(output.trust(), Trust::Untrusted);
            output.into_text()
        }
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

async fn fetch(network: Network, url: &str) -> String {
    fetch_with(network, json!({ "url": url })).await
}

fn serving(headers: &[(&'static str, &str)], body: &[u8]) -> Network {
    Network::default().serve("https://site.example/a", 200, headers, body)
}

#[tokio::test]
async fn a_plain_resource_comes_verbatim_under_the_header() {
    for content_type in [
        "text/plain",
        "text/csv",
        "text/xml",
        "application/json",
        "application/atom+xml",
    ] {
        assert_eq!(
            fetch(
                serving(&[("content-type", content_type)], b" x, y\n"),
                "https://site.example/a"
            )
            .await,
            "url: https://site.example/a\ntruncated: false\nextraction: plain\n\n x, y\n"
        );
    }
}

#[tokio::test]
async fn max_chars_cuts_and_raw_leaves_what_is_not_html_alone() {
    let arguments = json!({ "url": "https://site.example/a", "max_chars": 2, "raw": true });
    assert_eq!(
        fetch_with(serving(&[PLAIN], "é漢x".as_bytes()), arguments).await,
        "url: https://site.example/a\ntruncated: true\nextraction: plain\n\né漢"
    );
}

#[tokio::test]
async fn an_html_page_is_rendered() {
    for content_type in ["text/html", "application/xhtml+xml"] {
        assert_eq!(
            fetch(
                serving(&[("content-type", content_type)], b"<h1>Hi</h1>"),
                "https://site.example/a"
            )
            .await,
            "url: https://site.example/a\ntruncated: false\nextraction: raw-html\n\n# Hi"
        );
    }
}

#[tokio::test]
async fn a_status_that_is_no_success_hides_the_page_and_the_query() {
    for status in [300, 304, 400, 403, 404, 410, 500, 503] {
        let network = Network::default().serve("https://site.example/a?k=1", status, &[PLAIN], b"secret");
        assert_eq!(
            fetch(network, "https://site.example/a?k=1").await,
            format!("https://site.example/a answered HTTP {status}; try a different URL")
        );
    }
}

#[tokio::test]
async fn what_cannot_be_text_is_refused_by_name() {
    assert_eq!(
        fetch(
            serving(&[("content-type", "application/pdf")], b"x"),
            "https://site.example/a"
        )
        .await,
        "content type application/pdf from https://site.example/a cannot be returned as text; try an HTML version of \
         the page or a different URL"
    );
    assert_eq!(
        fetch(serving(&[], b"x"), "https://site.example/a").await,
        "response from https://site.example/a declared no content type; refusing to guess its format; try a different \
         URL"
    );
    assert_eq!(
        fetch(
            serving(&[("content-type", "text/html; charset=X-Nope")], b"x"),
            "https://site.example/a"
        )
        .await,
        "response from https://site.example/a declared unknown charset x-nope; cannot decode its text"
    );
}

#[tokio::test]
async fn a_declared_length_over_the_cap_refuses_all_but_flat_text() {
    let declared = ("content-length", "8388609");
    for content_type in ["text/html", "application/json", "text/xml"] {
        assert_eq!(
            fetch(
                serving(&[("content-type", content_type), declared], b"{}"),
                "https://site.example/a"
            )
            .await,
            "response from https://site.example/a exceeds the 8388608-byte size cap"
        );
    }
    assert_eq!(
        fetch(serving(&[PLAIN, declared], b"{}"), "https://site.example/a").await,
        "the response body from https://site.example/a could not be read; try again or use a different URL"
    );
}

#[tokio::test]
async fn a_network_error_shows_the_url_as_requested_without_its_fragment() {
    assert_eq!(
        fetch(Network::default(), "https://site.example/a?k=1#f").await,
        "fetch failed for https://site.example/a?k=1: network error; try a different URL"
    );
    let network = Network::default().redirect("https://site.example/a?k=1", "https://gone.example/");
    assert_eq!(
        fetch(network, "https://site.example/a?k=1").await,
        "fetch failed for https://site.example/a?k=1: network error; try a different URL"
    );
}

#[tokio::test]
async fn a_refused_url_costs_no_request() {
    for (url, answer) in [
        ("not a url", "InvalidArguments: invalid url"),
        ("http://site.example/", "scheme not allowed: http"),
        (
            "https://ann:pw@site.example/",
            "InvalidArguments: url must not contain userinfo",
        ),
        ("https://site.example:8080/", "InvalidArguments: port not allowed: 8080"),
        (
            "https://1.2.3.4/",
            "InvalidArguments: ip literal host not allowed: 1.2.3.4",
        ),
    ] {
        let network = Network::default();
        let requests = network.requests();
        assert_eq!(fetch(network, url).await, answer);
        assert!(requests.lock().expect("no test panics with the lock held").is_empty());
    }
}

#[tokio::test]
async fn bad_arguments_are_errors() {
    assert_eq!(
        fetch_with(Network::default(), json!({})).await,
        "InvalidArguments: web_fetch: missing url argument"
    );
}

/// A chain of hosts, each redirecting to the next, with a page at the end.
fn chain(hops: usize) -> Network {
    let mut network = Network::default();
    for hop in 0..hops {
        network = network.redirect(
            &format!("https://h{hop}.example/p"),
            &format!("https://h{}.example/p", hop + 1),
        );
    }
    network.serve(&format!("https://h{hops}.example/p"), 200, &[PLAIN], b"end")
}

#[tokio::test]
async fn five_hops_are_followed_and_a_sixth_is_refused() {
    assert_eq!(
        fetch(chain(5), "https://h0.example/p").await,
        "url: https://h5.example/p\ntruncated: false\nextraction: plain\n\nend"
    );
    assert_eq!(
        fetch(chain(6), "https://h0.example/p").await,
        "redirect from https://h5.example/p to https://h6.example/p refused: exceeded max redirects (5)"
    );
}

#[tokio::test]
async fn every_hop_is_admitted_and_the_first_broken_rule_is_named() {
    for (to, shown, reason) in [
        (
            "http://127.0.0.1/",
            "http://127.0.0.1/",
            "refusing https to http downgrade",
        ),
        (
            "ftp://other.example/b",
            "ftp://other.example/b",
            "scheme not allowed: ftp",
        ),
        (
            "https://ann:pw@other.example/b?k=1#f",
            "https://other.example/b",
            "url must not contain userinfo",
        ),
        (
            "https://other.example:8080/b",
            "https://other.example:8080/b",
            "port not allowed: 8080",
        ),
        (
            "https://0177.0.0.1/b",
            "https://127.0.0.1/b",
            "ip literal host not allowed: 127.0.0.1",
        ),
    ] {
        let network = Network::default().redirect("https://site.example/a?s=1", to);
        assert_eq!(
            fetch(network, "https://site.example/a?s=1").await,
            format!("redirect from https://site.example/a to {shown} refused: {reason}")
        );
    }
    let sixth = chain(5).redirect("https://h5.example/p", "http://h6.example/p");
    assert_eq!(
        fetch(sixth, "https://h0.example/p").await,
        "redirect from https://h5.example/p to http://h6.example/p refused: exceeded max redirects (5)"
    );
}

#[tokio::test]
async fn a_relative_target_is_resolved_and_loses_its_fragment() {
    let network = Network::default()
        .redirect("https://site.example/d/a", "b?q=1#f")
        .serve("https://site.example/d/b?q=1", 200, &[PLAIN], b"end");
    assert_eq!(
        fetch(network, "https://site.example/d/a").await,
        "url: https://site.example/d/b?q=1\ntruncated: false\nextraction: plain\n\nend"
    );
}

#[tokio::test]
async fn a_redirect_without_a_usable_target_is_a_status() {
    for headers in [&[][..], &[("location", "https://")]] {
        let network = Network::default().serve("https://site.example/a", 302, headers, b"");
        assert_eq!(
            fetch(network, "https://site.example/a").await,
            "https://site.example/a answered HTTP 302; try a different URL"
        );
    }
}

#[tokio::test]
async fn a_request_carries_the_user_agent_and_no_credentials_on_each_hop() {
    let network = chain(1);
    let requests = network.requests();
    fetch(network, "https://h0.example/p").await;
    let requests = requests.lock().expect("no test panics with the lock held");
    assert_eq!(requests.len(), 2);
    for request in requests.iter() {
        let mut names: Vec<_> = request.headers.keys().map(ToString::to_string).collect();
        names.sort();
        assert_eq!(names, ["accept-encoding", "user-agent"]);
        assert_eq!(request.headers["user-agent"], "harness-webfetch/0.0");
    }
}
