//! A build with the feature `otlp` sends the spans of a run to a collector.

mod common;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    thread,
};

use common::Place;

const ASKS: &str = "## Main\n\n```lua\nmodels.use('w')\nreturn models.infer(args)\n```";

/// A collector that keeps the bodies of what comes. It gives the API root, and the bodies.
fn collector() -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let root = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, bodies) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if let Some(body) = take(stream) {
                let _ = sender.send(body);
            }
        }
    });
    (root, bodies)
}

fn take(stream: TcpStream) -> Option<Vec<u8>> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length?];
    stream.read_exact(&mut body).ok()?;
    let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    stream.get_mut().write_all(answer.as_bytes()).ok()?;
    Some(body)
}

#[test]
fn a_run_sends_its_spans_to_the_collector_that_the_environment_names() {
    let place = Place::new();
    let prompt = place.prompt("models: { w: {} }\n", ASKS);
    let (root, bodies) = collector();
    place
        .runvil(["run"])
        .server("counted+otlp")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &root)
        .run_file(&prompt, "a secret question")
        .completed("Hello, world!");
    let sent: Vec<u8> = bodies.try_iter().flatten().collect();
    let sent = String::from_utf8_lossy(&sent);
    // The texts of a protobuf message stand in it as they are.
    for text in [
        "invoke_workflow p",
        "section Main",
        "chat first",
        "gen_ai.usage.input_tokens",
        "runvil",
    ] {
        assert!(sent.contains(text), "{text}: {sent}");
    }
    for text in ["secret question", "Hello, world!"] {
        assert!(!sent.contains(text), "{sent}");
    }
}

#[test]
fn a_collector_that_is_gone_takes_nothing_from_the_run() {
    let place = Place::new();
    let prompt = place.prompt("", "## A\n\n```lua\nreturn 'done'\n```");
    let port = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        listener.local_addr().expect("an address").port()
    };
    place
        .runvil(["run"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}"))
        .run_file(&prompt, "")
        .completed("done")
        .says("warning: not all spans reached the collector");
}

#[test]
fn variables_that_cannot_be_used_are_a_usage_error() {
    Place::new()
        .runvil(["models"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "not a url")
        .run()
        .refused(2, "spans cannot be exported")
        .says("OTEL_");
}
