//! Servers that misbehave, over real sockets.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::support::{Server, client, complete, limits, ok, round, status, text_stream};
use runvil_engine::{CompletionError, CompletionErrorKind as Kind};
use runvil_model::{ModelBackend, RoundLimits};

const TINY: Duration = Duration::from_millis(50);

async fn failure(server: &Server) -> CompletionError {
    complete(&server.client(), limits()).await.expect_err("the round fails")
}

async fn failure_of(answer: impl Into<Vec<u8>>) -> CompletionError {
    failure(&Server::answering(answer)).await
}

/// A server that writes some bytes and then holds the connection open.
fn stalling(bytes: String) -> Server {
    Server::start(move |connection| {
        connection.write_all(bytes.as_bytes())?;
        wait_for_close(connection)
    })
}

fn wait_for_close(connection: &mut TcpStream) -> io::Result<()> {
    while connection.read(&mut [0; 64])? > 0 {}
    Ok(())
}

#[tokio::test]
async fn garbage_in_place_of_http_is_a_transport_failure() {
    for garbage in [
        &b"\x00\xff\xfe nonsense\r\n\r\n"[..],
        b"",
        b"HTTP/1.1",
        b"220 mail.example ESMTP\r\n",
    ] {
        let error = failure_of(garbage).await;
        assert_eq!(error.to_string(), "the connection to the model backend failed");
    }
}

#[tokio::test]
async fn garbage_in_the_body_is_malformed() {
    let error = failure_of(ok("data: \u{0}\u{1}\n\n")).await;
    assert_eq!(
        error.to_string(),
        "the model backend sent a reply that could not be understood: completion stream chunk was not a JSON object"
    );
}

#[tokio::test]
async fn half_a_stream_is_never_a_reply() {
    let whole = text_stream("hello");
    for half in ["", &whole[..20], whole.trim_end_matches("data: [DONE]\n\n")] {
        let error = failure_of(ok(half)).await;
        assert_eq!(
            error.detail.as_deref(),
            Some("completion stream ended without the [DONE] sentinel")
        );
    }
}

#[tokio::test]
async fn a_connection_that_breaks_in_mid_stream_is_a_transport_failure() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for body in ["", "ff\r\ndata: {\"choices\"", "5\r\ndata:\r\n", "zz\r\n"] {
        assert_eq!(failure_of(format!("{head}{body}")).await.kind, Kind::Transport);
    }
}

#[tokio::test]
async fn a_sentinel_ends_the_reply_though_the_connection_breaks_after_it() {
    let stream = text_stream("hello");
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let server = Server::answering(format!("{head}{:x}\r\n{stream}\r\n", stream.len()));
    let reply = complete(&server.client(), limits()).await.expect("a reply");
    assert_eq!(reply.text, "hello");
}

#[tokio::test]
async fn a_sentinel_ends_the_reply_though_the_connection_stays_open() {
    let server = stalling(ok(&text_stream("hello")));
    let reply = complete(&server.client(), limits()).await.expect("a reply");
    assert_eq!(reply.text, "hello");
}

#[tokio::test]
async fn a_wrong_content_length_is_caught() {
    let stream = text_stream("hello");
    let answer = |length: usize| format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{stream}");
    assert_eq!(failure_of(answer(30)).await.kind, Kind::MalformedResponse);
    let document = "HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{\"choices\":[]}";
    assert_eq!(failure_of(document).await.kind, Kind::Transport);
}

#[tokio::test]
async fn a_connection_that_is_refused_or_dropped_is_a_transport_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    let address = listener.local_addr().expect("a bound listener has an address");
    let client = client(&format!("http://{address}/v1"), |_| {});
    let dropper = thread::spawn(move || drop(listener.accept()));
    for _ in 0..2 {
        let error = complete(&client, limits()).await.expect_err("the round fails");
        assert_eq!(error.kind, Kind::Transport);
        assert!(error.kind.is_retryable());
    }
    dropper.join().expect("the listener ends");
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_transport_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    let address = listener.local_addr().expect("a bound listener has an address");
    thread::spawn(move || {
        let (mut connection, _) = listener.accept()?;
        connection.write_all(ok(&text_stream("hello")).as_bytes())?;
        wait_for_close(&mut connection)
    });
    let client = client(&format!("https://{address}/v1"), |_| {});
    let error = complete(&client, limits()).await.expect_err("the round fails");
    assert_eq!(error.kind, Kind::Transport);
}

#[tokio::test]
async fn no_answer_is_a_timeout() {
    let limits = RoundLimits {
        receive_timeout: TINY,
        ..limits()
    };
    let error = complete(&stalling(String::new()).client(), limits)
        .await
        .expect_err("the round fails");
    assert_eq!(error.to_string(), "the model backend did not answer in time");
}

#[tokio::test]
async fn a_reply_that_stalls_is_a_timeout_wherever_it_stalls() {
    let limits = RoundLimits {
        receive_timeout: TINY,
        ..limits()
    };
    let stream = ok("data: {\"choices\":[{\"delta\":{\"content\":\"he");
    let refusal = "HTTP/1.1 500 S\r\ncontent-length: 100\r\n\r\noverl".to_owned();
    for bytes in ["HTTP/1.1 200 OK\r\n".to_owned(), ok(""), stream, refusal] {
        let error = complete(&stalling(bytes).client(), limits)
            .await
            .expect_err("the round fails");
        assert_eq!(error.kind, Kind::Timeout);
    }
}

#[tokio::test]
async fn a_slow_drip_restarts_the_wait_with_each_chunk() {
    let server = Server::start(|connection| {
        connection.set_nodelay(true)?;
        connection.write_all(ok("").as_bytes())?;
        for byte in text_stream("slow").bytes() {
            thread::sleep(Duration::from_millis(10));
            connection.write_all(&[byte])?;
        }
        Ok(())
    });
    let limits = RoundLimits {
        receive_timeout: Duration::from_secs(1),
        ..limits()
    };
    assert_eq!(complete(&server.client(), limits).await.expect("a reply").text, "slow");
}

#[tokio::test]
async fn an_endless_reply_is_refused_at_the_cap() {
    let chunk = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
        "x".repeat(8000)
    );
    for body in [
        chunk,
        ": keep-alive\n\n".repeat(500),
        "x".repeat(8000),
        format!("{{\"a\":\"{}", "x".repeat(8000)),
    ] {
        let server = Server::start(move |connection| {
            connection.write_all(ok("").as_bytes())?;
            loop {
                connection.write_all(body.as_bytes())?;
            }
        });
        let error = failure(&server).await;
        assert_eq!(
            error.to_string(),
            "the model backend sent a reply that could not be understood: response stream exceeds the 1048576-byte limit"
        );
    }
}

#[tokio::test]
async fn the_cap_is_the_largest_reply_accepted() {
    let stream = text_stream("hello");
    let size = stream.len() as u64;
    for answer in [ok(&stream), status(200, &stream)] {
        let client = Server::answering(answer).client();
        let capped = |cap| RoundLimits {
            max_response_bytes: cap,
            ..limits()
        };
        assert!(complete(&client, capped(size)).await.is_ok());
        let error = complete(&client, capped(size - 1)).await.expect_err("over the cap");
        assert_eq!(
            error.detail,
            Some(format!("response stream exceeds the {}-byte limit", size - 1))
        );
    }
}

#[tokio::test]
async fn the_cap_covers_error_replies() {
    let limits = RoundLimits {
        max_response_bytes: 2000,
        ..limits()
    };
    let body = "x".repeat(2001);
    let announced = Server::answering(status(500, &body));
    let error = complete(&announced.client(), limits).await.expect_err("over the cap");
    assert_eq!(
        error.detail.as_deref(),
        Some("response body of 2001 bytes exceeds the 2000-byte limit")
    );
    let unannounced = Server::answering(format!("HTTP/1.1 401 S\r\n\r\n{body}"));
    let error = complete(&unannounced.client(), limits).await.expect_err("over the cap");
    assert_eq!(
        error.detail.as_deref(),
        Some("response body exceeds the 2000-byte limit")
    );
    assert_eq!(error.kind, Kind::MalformedResponse);
}

#[tokio::test]
async fn an_error_status_is_told_without_its_body() {
    let forged = "overload\r\n2026-01-01 ERROR forged secret-key";
    let cases = [
        (
            502,
            forged,
            "the model backend reported a fault of its own (status 502)",
        ),
        (503, "", "the model backend is overloaded (status 503)"),
        (
            401,
            forged,
            "the model backend did not accept the credentials (status 401)",
        ),
        (
            429,
            "insufficient_quota",
            "the model backend says the usage quota is spent (status 429)",
        ),
        (
            400,
            "prompt is too long",
            "the request is larger than the model's context window (status 400)",
        ),
        (404, forged, "the model backend rejected the request (status 404)"),
    ];
    for (code, body, message) in cases {
        let error = failure_of(status(code, body)).await;
        assert_eq!((error.to_string().as_str(), error.status), (message, Some(code)));
    }
}

#[tokio::test]
async fn an_error_reply_whose_body_cannot_be_read_is_a_transport_failure() {
    let error = failure_of("HTTP/1.1 429 S\r\ncontent-length: 100\r\n\r\nquota").await;
    assert_eq!((error.kind, error.status), (Kind::Transport, None));
}

#[tokio::test]
async fn a_redirect_is_a_rejection_and_is_not_followed() {
    let elsewhere = Server::answering(ok(&text_stream("hello")));
    for code in [301, 302, 303, 307, 308] {
        let location = format!("http://{}/v1/chat/completions", elsewhere.address());
        let error = failure_of(format!(
            "HTTP/1.1 {code} S\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ))
        .await;
        assert_eq!((error.kind, error.status), (Kind::Rejected, Some(code)));
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_failed_round_is_sent_once() {
    for answer in [String::new(), status(503, ""), status(429, ""), ok("")] {
        let server = Server::answering(answer);
        failure(&server).await;
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_round_after_a_connection_died_has_a_connection_of_its_own() {
    let stream = text_stream("hello");
    let server = Server::answering(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{stream}",
        stream.len()
    ));
    let client = server.client();
    for _ in 0..3 {
        assert_eq!(complete(&client, limits()).await.expect("a reply").text, "hello");
    }
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn dropping_a_round_closes_its_connection() {
    let (closed, seen) = mpsc::channel();
    let server = Server::start(move |connection| {
        connection.write_all(ok(": keep-alive\n\n").as_bytes())?;
        wait_for_close(connection)?;
        closed.send(()).map_err(io::Error::other)
    });
    let client = server.client();
    let given_up = tokio::time::timeout(TINY, complete(&client, limits())).await;
    assert!(given_up.is_err());
    drop(client);
    // The connection's own task ends with a turn of the runtime.
    tokio::time::sleep(TINY).await;
    seen.recv_timeout(Duration::from_secs(30))
        .expect("the server sees the close");
}

#[tokio::test]
async fn text_that_arrived_before_a_failure_was_handed_on() {
    let server = Server::answering(ok(
        &text_stream("partial").replace("[DONE]", "{\"error\":\"overloaded\"}")
    ));
    let mut text = String::new();
    let error = server
        .client()
        .complete(&round(), limits(), &mut |part| text.push_str(part))
        .await;
    assert_eq!(error.expect_err("the round fails").kind, Kind::Overloaded);
    assert_eq!(text, "partial");
}
