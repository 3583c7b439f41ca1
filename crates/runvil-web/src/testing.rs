//! Servers on this machine that answer as a test says, and the Pack set up to reach them.
//!
//! The names of a test resolve as its look-up says, and the policy makes an exception for the servers named to it.
//! Nothing outside this crate's unit tests can make such an exception.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use rcgen::CertifiedKey;
use runvil_pack::{Arguments, NoFiles, Tool, ToolContext, ToolError, ToolOutput};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

use crate::address::AddressPolicy;
use crate::fetch::FetchTool;
use crate::policy::TimeLimits;
use crate::transport::{DirectTransport, Lookup, direct_testing};

/// A connection on which a request's head has arrived.
pub(crate) type Connection = TlsStream<TcpStream>;

type Answering = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// The certificate of every test server, good for the names that the tests give them.
fn certificate() -> &'static CertifiedKey<rcgen::KeyPair> {
    static CERTIFICATE: OnceLock<CertifiedKey<rcgen::KeyPair>> = OnceLock::new();
    CERTIFICATE.get_or_init(|| {
        let names = ["site.example", "other.example", "inside.example"];
        rcgen::generate_simple_self_signed(names.map(str::to_owned)).expect("a certificate")
    })
}

fn acceptor() -> TlsAcceptor {
    let CertifiedKey { cert, signing_key } = certificate();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a server configuration");
    TlsAcceptor::from(Arc::new(config))
}

/// An HTTPS server on the loopback address. It keeps the heads of the requests that reached it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server that answers each request with what `answer` does on the connection.
    pub(crate) async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(String, Connection) -> A + Send + Sync + 'static,
        A: Future<Output = io::Result<()>> + Send + 'static,
    {
        let answer = move |head, connection| -> Answering { Box::pin(answer(head, connection)) };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let heads = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(serve(listener, heads.clone(), Arc::new(answer)));
        Self { address, heads }
    }

    /// A server that answers each request with the bytes that `answer` makes of its path, and closes.
    pub(crate) async fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(move |head, mut connection| {
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let bytes = answer(&path);
            async move {
                connection.write_all(&bytes).await?;
                connection.shutdown().await
            }
        })
        .await
    }

    /// The heads of the requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no test panics with the lock held").clone()
    }
}

async fn serve(
    listener: TcpListener,
    heads: Arc<Mutex<Vec<String>>>,
    answer: Arc<dyn Fn(String, Connection) -> Answering + Send + Sync>,
) {
    let acceptor = acceptor();
    while let Ok((socket, _)) = listener.accept().await {
        let (acceptor, heads, answer) = (acceptor.clone(), heads.clone(), answer.clone());
        tokio::spawn(async move {
            let mut connection = acceptor.accept(socket).await?;
            let head = read_head(&mut connection).await?;
            heads
                .lock()
                .expect("no test panics with the lock held")
                .push(head.clone());
            answer(head, connection).await
        });
    }
}

async fn read_head(connection: &mut Connection) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// A response with a status, header lines and a body, closed after it.
pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// Name look-ups as a test scripts them: each name has the answers of its look-ups in order, the last one for good.
#[derive(Default)]
pub(crate) struct ScriptedLookup(BTreeMap<String, Mutex<Vec<Vec<SocketAddr>>>>);

impl ScriptedLookup {
    /// Adds the answers for one name.
    pub(crate) fn name(mut self, host: &str, answers: &[&[SocketAddr]]) -> Self {
        let answers = answers.iter().rev().map(|addresses| addresses.to_vec()).collect();
        self.0.insert(host.to_owned(), Mutex::new(answers));
        self
    }
}

#[async_trait]
impl Lookup for ScriptedLookup {
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        let answers = self.0.get(host).ok_or_else(|| io::Error::other("no such name"))?;
        let mut answers = answers.lock().expect("no test panics with the lock held");
        let next = if answers.len() > 1 {
            answers.pop()
        } else {
            answers.last().cloned()
        };
        Ok(next.unwrap_or_default())
    }
}

/// A transport that reaches `allowed` besides the global addresses.
pub(crate) fn transport(lookup: impl Lookup + 'static, allowed: &[SocketAddr], limits: TimeLimits) -> DirectTransport {
    let root = reqwest::Certificate::from_der(certificate().cert.der()).expect("a certificate");
    direct_testing::transport(root, Arc::new(lookup), AddressPolicy::except(allowed.to_vec()), limits)
}

/// Time limits that end a test soon.
pub(crate) fn short_limits() -> TimeLimits {
    TimeLimits {
        connect: Duration::from_millis(500),
        request: Duration::from_millis(500),
    }
}

/// Calls the fetch tool over `transport`.
pub(crate) async fn call(transport: DirectTransport, arguments: serde_json::Value) -> Result<ToolOutput, ToolError> {
    let pack = "web".parse().expect("a Pack id");
    let tool = FetchTool::new(&pack, Arc::new(transport), Handle::current());
    let arguments: Arguments = arguments.as_object().expect("an object").clone();
    tool.call(arguments, ToolContext::new(Arc::new(NoFiles))).await
}

/// Fetches `url`: the text of the answer, or the error's kind and message.
pub(crate) async fn fetch(transport: DirectTransport, url: &str) -> String {
    match call(transport, json!({ "url": url })).await {
        Ok(output) => output.into_text(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}
