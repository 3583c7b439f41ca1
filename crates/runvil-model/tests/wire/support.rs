//! A loopback server that answers in raw bytes, and what the tests ask of a client.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use runvil_engine::{
    ChainId, CompletionError, ModelId, ModelReply, ModelRound, RoundId,
    wire::{ChatRequest, Message, Role},
};
use runvil_model::{ApiKey, ChatCompletions, Endpoint, Gateway, ModelBackend, RoundLimits};

/// A server on a loopback port. It lives until the test process ends.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server that reads each request and then lets `serve` write to its connection.
    pub(crate) fn start(serve: impl Fn(&mut TcpStream) -> io::Result<()> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for mut connection in listener.incoming().map_while(Result::ok) {
                // A client that goes away in mid-answer is what some tests are about.
                let _ = read_request(&mut connection).and_then(|request| {
                    seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                    serve(&mut connection)
                });
            }
        });
        Self { address, requests }
    }

    /// A server that answers every request with the same bytes and closes.
    pub(crate) fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |connection| connection.write_all(&bytes))
    }

    /// A client of this server.
    pub(crate) fn client(&self) -> ChatCompletions {
        self.client_with(|_| {})
    }

    /// A client of this server, its endpoint changed first.
    pub(crate) fn client_with(&self, change: impl FnOnce(&mut Endpoint)) -> ChatCompletions {
        client(&format!("http://{}/v1/", self.address), change)
    }

    /// The server's address as a URL may write it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A client of a URL with a key.
pub(crate) fn client(url: &str, change: impl FnOnce(&mut Endpoint)) -> ChatCompletions {
    let key: ApiKey = "secret-key".parse().expect("a valid key");
    let root = url.parse().expect("a valid root");
    let mut endpoint = Endpoint::from(Gateway {
        root,
        api_key: Some(key),
    });
    change(&mut endpoint);
    ChatCompletions::new(endpoint).expect("a client")
}

fn read_request(connection: &mut TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if request.len() >= end + 4 + length.unwrap_or(0) {
                return Ok(String::from_utf8_lossy(&request).into_owned());
            }
        }
        match connection.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => request.extend_from_slice(&buffer[..read]),
        }
    }
}

/// A successful answer whose body ends when the connection does.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

/// An answer of any status with its length.
pub(crate) fn status(status: u16, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} S\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A streamed reply of one text.
pub(crate) fn text_stream(text: &str) -> String {
    let chunk = serde_json::json!({
        "model": "m", "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }],
    });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

/// A round that asks the model `m`.
pub(crate) fn round() -> ModelRound {
    ModelRound {
        round: RoundId::new(&ChainId::root(), 0),
        model: ModelId::new("gateway", "m").expect("a valid id"),
        live: true,
        request: ChatRequest {
            model: "m".to_owned(),
            messages: vec![Message::text(Role::User, "hi")],
            tools: Vec::new(),
            temperature: None,
            max_tokens: None,
            thinking: None,
        },
        debug: false,
    }
}

/// Limits that no test waits for.
pub(crate) fn limits() -> RoundLimits {
    RoundLimits {
        max_response_bytes: 1 << 20,
        receive_timeout: Duration::from_secs(60),
    }
}

/// One plain round.
pub(crate) async fn complete(client: &ChatCompletions, limits: RoundLimits) -> Result<ModelReply, CompletionError> {
    client.complete(&round(), limits, &mut |_| {}).await
}
