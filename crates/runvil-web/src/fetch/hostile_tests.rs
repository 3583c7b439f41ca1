//! Servers that mean harm, over real sockets and TLS. Each test ends within the limits of its fetch.

use std::io;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::policy::{BYTE_CAP, TimeLimits};
use crate::testing::{ScriptedLookup, Server, call, fetch, response, short_limits, transport};
use crate::transport::{DirectTransport, Lookup};

const PLAIN: (&str, &str) = ("content-type", "text/plain");
const HTML: (&str, &str) = ("content-type", "text/html");
const TOO_LARGE: &str = "response from https://site.example/ exceeds the 8388608-byte size cap";
const BROKEN: &str = "the response body from https://site.example/ could not be read; try again or use a different URL";
const NETWORK: &str = "fetch failed for https://site.example/: network error; try a different URL";

fn names(server: &Server) -> ScriptedLookup {
    ScriptedLookup::default()
        .name("site.example", &[&[server.address]])
        .name("other.example", &[&[server.address]])
}

/// Fetches a page of `server`, which the policy makes an exception for.
async fn fetch_from(server: &Server, url: &str) -> String {
    fetch(transport(names(server), &[server.address], TimeLimits::default()), url).await
}

async fn fetch_bytes(bytes: Vec<u8>) -> String {
    let server = Server::answering(move |_| bytes.clone()).await;
    fetch_from(&server, "https://site.example/").await
}

#[tokio::test]
async fn a_page_comes_over_tls_from_a_name_that_was_looked_up() {
    let server = Server::answering(|_| response(200, &[PLAIN], b"hello")).await;
    assert_eq!(
        fetch_from(&server, "https://site.example/p?q=1#frag").await,
        "url: https://site.example/p?q=1\ntruncated: false\nextraction: plain\n\nhello"
    );
    let head = &server.heads()[0];
    assert!(head.starts_with("GET /p?q=1 HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_request_says_nothing_of_its_sender_on_any_hop() {
    let server = Server::answering(|path| match path {
        "/secret?token=1" => response(
            302,
            &[("set-cookie", "a=b"), ("location", "https://other.example/next")],
            b"",
        ),
        _ => response(200, &[PLAIN], b"ok"),
    })
    .await;
    let text = fetch_from(&server, "https://site.example/secret?token=1").await;
    assert!(text.ends_with("\n\nok"), "{text}");
    let heads = server.heads();
    assert_eq!(heads.len(), 2);
    for (head, host) in heads.iter().zip(["site.example", "other.example"]) {
        let mut names: Vec<_> = head.lines().skip(1).filter_map(|line| line.split_once(": ")).collect();
        names.sort_unstable();
        let expected = [("accept", "*/*"), ("accept-encoding", "gzip, br"), ("host", host)];
        assert_eq!(
            names,
            [expected.as_slice(), &[("user-agent", "harness-webfetch/0.0")]].concat()
        );
    }
}

#[tokio::test]
async fn an_endless_page_is_refused_when_it_passes_the_cap() {
    let sent = Arc::new(AtomicU64::new(0));
    let counter = sent.clone();
    let server = Server::start(move |_, mut connection| {
        let counter = counter.clone();
        async move {
            connection.write_all(&response(200, &[HTML], b"<p>")).await?;
            loop {
                connection.write_all(&[b'a'; 65536]).await?;
                counter.fetch_add(65536, Ordering::Relaxed);
            }
        }
    })
    .await;
    assert_eq!(fetch_from(&server, "https://site.example/").await, TOO_LARGE);
    // What lies in the sockets' buffers is sent besides.
    assert!(sent.load(Ordering::Relaxed) < 2 * BYTE_CAP as u64);
}

#[tokio::test]
async fn endless_flat_text_is_read_up_to_the_cap() {
    let server = Server::start(|_, mut connection| async move {
        connection.write_all(&response(200, &[PLAIN], b"")).await?;
        loop {
            connection.write_all("é".repeat(32768).as_bytes()).await?;
        }
    })
    .await;
    let text = fetch_from(&server, "https://site.example/").await;
    let (header, body) = text.split_once("\n\n").expect("a header");
    assert_eq!(header, "url: https://site.example/\ntruncated: true\nextraction: plain");
    assert_eq!(body, "é".repeat(40_000));
}

#[tokio::test]
async fn a_body_that_drips_slowly_ends_with_the_time_limit() {
    let server = Server::start(|_, mut connection| async move {
        connection.write_all(&response(200, &[PLAIN], b"")).await?;
        loop {
            connection.write_all(b"x").await?;
            connection.flush().await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let transport = transport(names(&server), &[server.address], short_limits());
    assert_eq!(fetch(transport, "https://site.example/").await, BROKEN);
}

#[tokio::test]
async fn a_server_that_never_answers_ends_with_the_time_limit() {
    let server = Server::start(|_, connection| async move {
        let _open = connection;
        std::future::pending().await
    })
    .await;
    let transport = transport(names(&server), &[server.address], short_limits());
    assert_eq!(
        fetch(transport, "https://site.example/slow?k=1").await,
        "request to https://site.example/slow timed out; try again or use a different URL"
    );
}

#[tokio::test]
async fn a_look_up_that_never_ends_counts_as_connecting() {
    struct Stuck;
    #[async_trait::async_trait]
    impl Lookup for Stuck {
        async fn addresses(&self, _: &str) -> io::Result<Vec<SocketAddr>> {
            std::future::pending().await
        }
    }
    let limits = TimeLimits {
        request: Duration::from_secs(20),
        ..short_limits()
    };
    assert_eq!(
        fetch(transport(Stuck, &[], limits), "https://site.example/").await,
        "request to https://site.example/ timed out; try again or use a different URL"
    );
}

#[tokio::test]
async fn a_body_shorter_than_its_length_is_never_partial_text() {
    assert_eq!(
        fetch_bytes(response(200, &[PLAIN, ("content-length", "10")], b"half")).await,
        BROKEN
    );
}

#[tokio::test]
async fn a_body_longer_than_its_length_ends_there() {
    let text = fetch_bytes(response(200, &[PLAIN, ("content-length", "4")], b"whole and more")).await;
    assert!(text.ends_with("truncated: false\nextraction: plain\n\nwhol"), "{text}");
}

#[tokio::test]
async fn a_broken_chunk_breaks_the_body() {
    let chunked = ("transfer-encoding", "chunked");
    assert_eq!(
        fetch_bytes(response(200, &[PLAIN, chunked], b"4\r\nabcd\r\nzz\r\n")).await,
        BROKEN
    );
}

#[tokio::test]
async fn a_gzip_bomb_is_measured_by_its_expanded_size() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![0; 1024 * 1024];
    for _ in 0..64 {
        encoder.write_all(&zeros).expect("into memory");
    }
    let bomb = encoder.finish().expect("into memory");
    assert!(bomb.len() < 300_000);
    assert_eq!(
        fetch_bytes(response(200, &[HTML, ("content-encoding", "gzip")], &bomb)).await,
        TOO_LARGE
    );
}

#[tokio::test]
async fn a_brotli_bomb_is_measured_by_its_expanded_size() {
    let mut bomb = Vec::new();
    let zeros = vec![0; 16 * 1024 * 1024];
    let fast = brotli::enc::BrotliEncoderParams {
        quality: 3,
        ..Default::default()
    };
    brotli::BrotliCompress(&mut zeros.as_slice(), &mut bomb, &fast).expect("into memory");
    assert!(bomb.len() < 10_000);
    assert_eq!(
        fetch_bytes(response(200, &[HTML, ("content-encoding", "br")], &bomb)).await,
        TOO_LARGE
    );
}

#[tokio::test]
async fn a_redirect_loop_ends_at_the_cap() {
    let server = Server::answering(|_| response(302, &[("location", "/again?secret=1")], b"")).await;
    assert_eq!(
        fetch_from(&server, "https://site.example/start").await,
        "redirect from https://site.example/again to https://site.example/again refused: exceeded max redirects (5)"
    );
    assert_eq!(server.heads().len(), 6);
}

#[tokio::test]
async fn a_redirect_to_this_machine_is_refused_and_nobody_is_contacted() {
    for (location, to, address) in [
        ("https://127.0.0.1/b", "https://127.0.0.1/b", "127.0.0.1"),
        ("https://0177.0.0.1/b", "https://127.0.0.1/b", "127.0.0.1"),
        ("https://127.1/b", "https://127.0.0.1/b", "127.0.0.1"),
        ("https://2130706433/b", "https://127.0.0.1/b", "127.0.0.1"),
        ("https://[::1]/b", "https://[::1]/b", "::1"),
        (
            "https://[::ffff:127.0.0.1]/b",
            "https://[::ffff:7f00:1]/b",
            "::ffff:127.0.0.1",
        ),
        (
            "//169.254.169.254/latest?k=1",
            "https://169.254.169.254/latest",
            "169.254.169.254",
        ),
    ] {
        let server = Server::answering(move |_| response(301, &[("location", location)], b"")).await;
        assert_eq!(
            fetch_from(&server, "https://site.example/a").await,
            format!("redirect from https://site.example/a to {to} refused: ip literal host not allowed: {address}")
        );
        assert_eq!(server.heads().len(), 1);
    }
}

#[tokio::test]
async fn a_name_that_resolves_inside_is_refused_on_every_hop() {
    let inside = Server::answering(|_| response(200, &[PLAIN], b"secret")).await;
    let outside = Server::answering(|_| response(302, &[("location", "https://inside.example/")], b"")).await;
    let lookup = || {
        ScriptedLookup::default()
            .name("site.example", &[&[outside.address]])
            .name("inside.example", &[&[inside.address, ([10, 0, 0, 5], 0).into()]])
    };
    for url in ["https://site.example/", "https://inside.example/"] {
        let transport = transport(lookup(), &[outside.address], TimeLimits::default());
        assert_eq!(
            fetch(transport, url).await,
            "InvalidArguments: host inside.example has no allowed address"
        );
    }
    assert_eq!((outside.heads().len(), inside.heads().len()), (1, 0));
}

#[tokio::test]
async fn of_mixed_addresses_only_the_allowed_ones_are_connected_to() {
    let inside = Server::answering(|_| response(200, &[PLAIN], b"secret")).await;
    let outside = Server::answering(|_| response(200, &[PLAIN], b"public")).await;
    let lookup = ScriptedLookup::default().name("site.example", &[&[inside.address, outside.address]]);
    let text = fetch(
        transport(lookup, &[outside.address], TimeLimits::default()),
        "https://site.example/",
    )
    .await;
    assert!(text.ends_with("\n\npublic"), "{text}");
    assert_eq!(inside.heads().len(), 0);
}

#[tokio::test]
async fn an_address_that_changes_between_look_ups_is_checked_anew() {
    let inside = Server::answering(|_| response(200, &[PLAIN], b"secret")).await;
    let outside = Server::answering(|_| response(200, &[PLAIN], b"public")).await;
    let lookup = ScriptedLookup::default().name("site.example", &[&[outside.address], &[inside.address]]);
    let transport = transport(lookup, &[outside.address], TimeLimits::default());
    let first = fetch(transport.clone(), "https://site.example/").await;
    assert!(first.ends_with("\n\npublic"), "{first}");
    let second = fetch(transport, "https://site.example/").await;
    assert_eq!(second, "InvalidArguments: host site.example has no allowed address");
    assert_eq!((outside.heads().len(), inside.heads().len()), (1, 0));
}

#[tokio::test]
async fn names_of_this_machine_are_refused_through_the_real_look_up() {
    for host in [
        "localhost",
        "LOCALHOST",
        "%6cocalhost",
        "ⓛocalhost",
        "ｌｏｃａｌｈｏｓｔ",
    ] {
        let direct = DirectTransport::new();
        assert_eq!(
            fetch(direct, &format!("https://{host}/")).await,
            "InvalidArguments: host localhost has no allowed address",
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_name_made_to_look_public_is_refused_by_its_address() {
    let inside = Server::answering(|_| response(200, &[PLAIN], b"secret")).await;
    let addresses =
        |ip: &str| -> Vec<SocketAddr> { vec![(ip.parse::<IpAddr>().expect(ip), inside.address.port()).into()] };
    for (url, host, ip) in [
        ("https://localhost./", "localhost.", "127.0.0.1"),
        ("https://127.0.0.1.nip.example/", "127.0.0.1.nip.example", "127.0.0.1"),
        (
            "https://169.254.169.254.nip.example./",
            "169.254.169.254.nip.example.",
            "169.254.169.254",
        ),
        ("https://0x7f.1.example/", "0x7f.1.example", "::ffff:127.0.0.1"),
        ("https://SITE.EXAMPLE/", "site.example", "::1"),
        ("https://b\u{fc}cher.example/", "xn--bcher-kva.example", "::127.0.0.1"),
        ("https://gооgle.example/", "xn--ggle-55da.example", "64:ff9b::7f00:1"),
        ("https://site。example/", "site.example", "2002:7f00:1::"),
        ("https://\tsite.exam\nple/", "site.example", "fe80::1"),
        ("https:\\\\site.example\\@x", "site.example", "0.0.0.0"),
    ] {
        let found = addresses(ip);
        let lookup = ScriptedLookup::default().name(host, &[found.as_slice()]);
        assert_eq!(
            fetch(transport(lookup, &[], TimeLimits::default()), url).await,
            format!("InvalidArguments: host {host} has no allowed address"),
            "{url}"
        );
    }
    assert_eq!(inside.heads().len(), 0);
}

#[tokio::test]
async fn a_name_without_an_address_is_told_from_a_failed_look_up() {
    let lookup = || ScriptedLookup::default().name("site.example", &[&[]]);
    let limits = TimeLimits::default();
    assert_eq!(
        fetch(transport(lookup(), &[], limits), "https://site.example/").await,
        "InvalidArguments: host site.example has no allowed address"
    );
    assert_eq!(
        fetch(transport(lookup(), &[], limits), "https://gone.example/?k=1").await,
        "dns resolution failed for gone.example"
    );
}

#[tokio::test]
async fn a_flood_of_headers_is_a_network_error() {
    let many: Vec<_> = (0..5000).map(|index| (format!("x-{index}"), "y".to_owned())).collect();
    let wide = vec![("x-wide".to_owned(), "y".repeat(4 * 1024 * 1024))];
    for headers in [many, wide] {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            fetch_bytes(response(200, &[&[PLAIN], headers.as_slice()].concat(), b"x")).await,
            NETWORK
        );
    }
}

#[tokio::test]
async fn a_charset_that_no_one_knows_is_named_in_lowercase() {
    for label in ["X-Nope", "utf-8-but-not", "../../etc/passwd"] {
        let content_type = format!("text/plain; charset=\"{label}\"");
        assert_eq!(
            fetch_bytes(response(200, &[("content-type", &content_type)], b"x")).await,
            format!(
                "response from https://site.example/ declared unknown charset {}; cannot decode its text",
                label.to_lowercase()
            )
        );
    }
}

#[tokio::test]
async fn megabytes_of_nested_tags_end_as_a_page_or_as_a_refusal() {
    let ten = "<div><b>".repeat(10 * 1024 * 1024 / 8);
    assert_eq!(fetch_bytes(response(200, &[HTML], ten.as_bytes())).await, TOO_LARGE);
    let seven = format!("<p>first</p>{}", "<div><b>".repeat(7 * 1024 * 1024 / 8));
    let text = fetch_bytes(response(200, &[HTML], seven.as_bytes())).await;
    assert_eq!(
        text,
        "url: https://site.example/\ntruncated: false\nextraction: raw-html\n\nfirst"
    );
}

#[tokio::test]
async fn garbage_in_place_of_http_is_a_network_error() {
    assert_eq!(fetch_bytes(b"SSH-2.0-OpenSSH\r\n\r\n".to_vec()).await, NETWORK);
    assert_eq!(fetch_bytes(Vec::new()).await, NETWORK);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_a_network_error() {
    let server = Server::answering(|_| response(200, &[PLAIN], b"secret")).await;
    let lookup = ScriptedLookup::default().name("site.elsewhere", &[&[server.address]]);
    let transport = transport(lookup, &[server.address], TimeLimits::default());
    assert_eq!(
        fetch(transport, "https://site.elsewhere/").await,
        "fetch failed for https://site.elsewhere/: network error; try a different URL"
    );
    assert_eq!(server.heads().len(), 0);
}

#[tokio::test]
async fn a_refused_connection_shows_the_url_as_requested() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    drop(listener);
    let lookup = ScriptedLookup::default().name("site.example", &[&[address]]);
    assert_eq!(
        fetch(
            transport(lookup, &[address], TimeLimits::default()),
            "https://site.example/?q=1#f"
        )
        .await,
        "fetch failed for https://site.example/?q=1: network error; try a different URL"
    );
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let (closed, seen) = oneshot::channel();
    let closed = std::sync::Mutex::new(Some(closed));
    let (asked, arrived) = oneshot::channel();
    let asked = std::sync::Mutex::new(Some(asked));
    let server = Server::start(move |_, mut connection| {
        let closed = closed.lock().expect("one request").take();
        let asked = asked.lock().expect("one request").take();
        async move {
            let _ = asked.map(|asked| asked.send(()));
            let _ = connection.read(&mut [0; 1]).await;
            let _ = closed.map(|closed| closed.send(()));
            Ok(())
        }
    })
    .await;
    let transport = transport(names(&server), &[server.address], TimeLimits::default());
    let open = tokio::spawn(call(transport, json!({ "url": "https://site.example/" })));
    arrived.await.expect("the request arrives");
    open.abort();
    seen.await.expect("the server sees the end of the connection");
}
