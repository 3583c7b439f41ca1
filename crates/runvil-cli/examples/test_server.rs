//! A chat-completions server that behaves as the first segment of the request's path says, for the whole-program tests.
//!
//! `http://127.0.0.1:PORT/hello` is an API root whose model says hello; `/cut`, `/flood` and the others are roots that
//! misbehave, each in one way. The process prints its port, then each request as one line of JSON, and ends when its
//! standard input does.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    say(&listener.local_addr()?.port().to_string());
    thread::spawn(|| {
        // The end of the input is the end of the test that started the server.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    });
    for stream in listener.incoming().flatten() {
        // A client that goes away is part of the tests.
        thread::spawn(move || drop(serve(stream)));
    }
    Ok(())
}

fn say(line: &str) {
    println!("{line}");
}

struct Request {
    method: String,
    path: String,
    authorization: Option<String>,
    body: Value,
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    let request = read(&mut stream)?;
    say(&json!({
        "method": request.method,
        "path": request.path,
        "authorization": request.authorization,
        "body": request.body,
    })
    .to_string());
    let mut segments = request.path.trim_start_matches('/').split('/');
    // What follows a `+` only tells one test's requests from another's.
    let behaviour = segments
        .next()
        .and_then(|segment| segment.split('+').next())
        .unwrap_or_default()
        .to_owned();
    let endpoint = segments.collect::<Vec<_>>().join("/");
    match endpoint.as_str() {
        "models" => models(&mut stream, &behaviour),
        "gate" => {
            GATES.open(&request.path);
            respond(&mut stream, 200, &json!("open"))
        }
        "search" => respond(&mut stream, 200, &search_results()),
        "chat/completions" if behaviour == "gated" => gated(&mut stream, &request),
        "chat/completions" => chat(&mut stream, &behaviour, &request.body),
        _ => respond(&mut stream, 404, &json!({ "error": "no such endpoint" })),
    }
}

fn read(stream: &mut TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or_default(),
            "authorization" => authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Request {
        method,
        path,
        authorization,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

fn models(stream: &mut TcpStream, behaviour: &str) -> io::Result<()> {
    match behaviour {
        "no-models" => respond(stream, 404, &json!({ "error": "not found" })),
        "locked-models" => respond(stream, 401, &json!({ "error": "who is there?" })),
        "empty-models" => respond(stream, 200, &json!({ "data": [] })),
        "rich-models" => respond(
            stream,
            200,
            &json!({ "data": [
                { "id": "qwen3-8b", "context_length": 32768, "thinking": "switchable", "owned_by": "library", "description": "Small\nand quick." },
                { "id": "deep/think", "context_length": 131072, "thinking": "always" },
                { "id": "" },
                { "id": "bare" },
            ] }),
        ),
        "garbage-models" => respond(stream, 200, &json!("models")),
        "silent-models" => {
            thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        _ => respond(
            stream,
            200,
            &json!({ "data": [
                { "id": "first", "context_length": 32000 },
                { "id": "second", "context_length": 64000 },
            ] }),
        ),
    }
}

fn search_results() -> Value {
    json!({ "results": [
        { "title": "Ada Lovelace", "url": "https://ada.example/", "description": "Wrote the first program." },
    ] })
}

fn chat(stream: &mut TcpStream, behaviour: &str, request: &Value) -> io::Result<()> {
    if let Some(status) = behaviour.strip_prefix("status-") {
        let (status, word) = status.split_once('-').unwrap_or((status, "nothing to say"));
        let status = status.parse().unwrap_or(500);
        return respond(
            stream,
            status,
            &json!({ "error": { "message": format!("private: {word}") } }),
        );
    }
    if let Some(counts) = behaviour.strip_prefix("usage-") {
        return with_usage(stream, counts);
    }
    match behaviour {
        // A summary is shorter than what it stands for.
        "echo" if last_message(request).starts_with("Sum this conversation up") => {
            stream_reply(stream, "they wrote many letters", 3)
        }
        "echo" => stream_reply(stream, &last_message(request), 3),
        "counted" => {
            let end = json!({
                "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 12, "completion_tokens": 4 },
            });
            let text = format!("{}data: {end}\n\ndata: [DONE]\n\n", event("Hello, world!"));
            stream_bytes(stream, text.as_bytes(), 16)
        }
        "document" => respond(
            stream,
            200,
            &json!({ "choices": [
            { "message": { "role": "assistant", "content": "as one document" }, "finish_reason": "stop" },
        ] }),
        ),
        "bytes" => {
            // Every byte is a chunk of its own, also inside a character.
            stream_bytes(stream, events("Grüße, 世界", 1).as_bytes(), 1)
        }
        "slow" => slow(stream),
        "tools" => tools(stream, request),
        "cut" => head(stream)
            .and_then(|()| chunk(stream, event("half a").as_bytes()))
            .and_then(|()| last_chunk(stream)),
        "reset" => {
            head(stream)?;
            chunk(stream, event("half a").as_bytes())?;
            stream.shutdown(Shutdown::Both)
        }
        "garbage" => stream.write_all(b"\x00\x01 this is not HTTP\r\n\r\n"),
        "not-json" => stream_bytes(stream, b"data: <html>\n\ndata: [DONE]\n\n", 1024),
        "error-in-stream" => {
            let error = json!({ "error": { "message": "overloaded_error: try again" } });
            stream_bytes(stream, format!("{}data: {error}\n\n", event("half a")).as_bytes(), 1024)
        }
        "flood" => flood(stream),
        "silent" => {
            thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        "stalls" => {
            head(stream)?;
            chunk(stream, event("half a").as_bytes())?;
            thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        "redirect" => {
            stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: /hello/chat/completions\r\nContent-Length: 0\r\n\r\n")
        }
        _ => stream_reply(stream, "Hello, world!", 4),
    }
}

fn last_message(request: &Value) -> String {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    last.and_then(|message| message["content"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// Streams the first half of a reply, and the second once the gate of the request's root is opened. The usage is
/// reported, too.
fn gated(stream: &mut TcpStream, request: &Request) -> io::Result<()> {
    head(stream)?;
    chunk(stream, event("You said ").as_bytes())?;
    GATES.pass(&request.path.replace("chat/completions", "gate"));
    chunk(
        stream,
        event(&format!("\"{}\".", last_message(&request.body))).as_bytes(),
    )?;
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 20, "completion_tokens": 10 } });
    chunk(stream, format!("data: {usage}\n\n").as_bytes())?;
    chunk(stream, end().as_bytes())?;
    last_chunk(stream)
}

/// Says hello and reports the tokens that the root names, as in `usage-20-10`.
fn with_usage(stream: &mut TcpStream, counts: &str) -> io::Result<()> {
    let (prompt, completion) = counts.split_once('-').unwrap_or((counts, "0"));
    let count = |text: &str| text.parse::<u64>().unwrap_or_default();
    let usage = json!({ "choices": [], "usage": {
        "prompt_tokens": count(prompt), "completion_tokens": count(completion),
    } });
    let text = format!("{}data: {usage}\n\n{}", event("Hello, world!"), end());
    stream_bytes(stream, text.as_bytes(), 1024)
}

/// How often each gate was opened and not yet passed.
struct Gates {
    opened: Mutex<BTreeMap<String, u64>>,
    changed: Condvar,
}

static GATES: Gates = Gates {
    opened: Mutex::new(BTreeMap::new()),
    changed: Condvar::new(),
};

impl Gates {
    fn open(&self, path: &str) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        *opened.entry(path.to_owned()).or_default() += 1;
        self.changed.notify_all();
    }

    fn pass(&self, path: &str) {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = |opened: &mut BTreeMap<String, u64>| opened.get(path).is_none_or(|times| *times == 0);
        let mut opened = self
            .changed
            .wait_while(opened, closed)
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(times) = opened.get_mut(path) {
            *times -= 1;
        }
    }
}

/// Asks for a search in the first round and answers in the second.
fn tools(stream: &mut TcpStream, request: &Value) -> io::Result<()> {
    let answered = request["messages"]
        .as_array()
        .is_some_and(|list| list.iter().any(|m| m["role"] == "tool"));
    if answered {
        return stream_reply(stream, "Ada Lovelace wrote the first program.", 5);
    }
    let call = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "delta": { "tool_calls": [{
        "index": 0, "id": "call_1", "type": "function",
        "function": { "name": "web_search", "arguments": "{\"query\":\"Ada Lovelace\"}" },
    }] } }] });
    stream_bytes(stream, format!("data: {call}\n\ndata: [DONE]\n\n").as_bytes(), 16)
}

/// Streams a reply that takes longer than any single wait.
fn slow(stream: &mut TcpStream) -> io::Result<()> {
    head(stream)?;
    for word in ["slow ", "but ", "steady"] {
        thread::sleep(Duration::from_millis(250));
        chunk(stream, event(word).as_bytes())?;
    }
    chunk(stream, end().as_bytes())?;
    last_chunk(stream)
}

fn flood(stream: &mut TcpStream) -> io::Result<()> {
    head(stream)?;
    let text = event(&"x".repeat(64 * 1024));
    loop {
        chunk(stream, text.as_bytes())?;
    }
}

/// One event that carries a piece of the reply.
fn event(text: &str) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    format!("data: {chunk}\n\n")
}

fn end() -> String {
    let chunk = json!({
        "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
    });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

/// A whole reply as events of `size` characters each.
fn events(text: &str, size: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    let pieces: String = letters
        .chunks(size)
        .map(|piece| event(&piece.iter().collect::<String>()))
        .collect();
    pieces + &end()
}

fn stream_reply(stream: &mut TcpStream, text: &str, size: usize) -> io::Result<()> {
    stream_bytes(stream, events(text, size).as_bytes(), 7)
}

fn stream_bytes(stream: &mut TcpStream, bytes: &[u8], size: usize) -> io::Result<()> {
    head(stream)?;
    for piece in bytes.chunks(size) {
        chunk(stream, piece)?;
    }
    last_chunk(stream)
}

fn head(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
}

fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed)
}

fn last_chunk(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

fn respond(stream: &mut TcpStream, status: u16, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
