//! A server in a process of its own: this test program, asked for one test alone.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _, stderr, stdin},
    path::Path,
    process::{Child, Command, Stdio},
};

use runvil_model::ChatCompletions;

use crate::support::{Server, client};

/// Names the recorded stream that the process serves.
const STREAM: &str = "RUNVIL_TEST_STREAM";

/// What the process writes before the address it listens at.
const LISTENING: &str = "listening at ";

/// A server process that answers every request with a recorded stream. It ends with this value.
pub(crate) struct ServerProcess {
    child: Child,
    address: String,
}

impl ServerProcess {
    /// Starts a process that serves `streams/{stream}.sse`.
    pub(crate) fn start(stream: &str) -> Self {
        let mut child = Command::new(env::current_exe().expect("this program has a file"))
            .args([
                "process::serves_a_recorded_stream",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(STREAM, stream)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server process starts");
        let said = BufReader::new(child.stderr.take().expect("its standard error is a pipe")).lines();
        let address = said
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix(LISTENING).map(str::to_owned));
        Self {
            child,
            address: address.expect("the server process listens"),
        }
    }

    /// A client of the server.
    pub(crate) fn client(&self) -> ChatCompletions {
        client(&format!("http://{}/v1/", self.address), |_| {})
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves the stream in chunks of a few bytes, so that lines and characters are cut everywhere, until standard input ends.
#[test]
#[ignore = "it is the server process of the other tests"]
fn serves_a_recorded_stream() {
    let name = env::var(STREAM).expect("a stream is named");
    let streams = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/streams");
    let stream = fs::read(streams.join(name).with_extension("sse")).expect("the stream is recorded");
    let server = Server::start(move |connection| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut answer = head.as_bytes().to_vec();
        for chunk in stream.chunks(7) {
            answer.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            answer.extend(chunk);
            answer.extend(b"\r\n");
        }
        answer.extend(b"0\r\n\r\n");
        connection.write_all(&answer)
    });
    writeln!(stderr(), "{LISTENING}{}", server.address()).expect("somebody waits for the address");
    // The test that started this process holds the other end.
    let _ = stdin().read(&mut [0]);
}
