//! Decoding a reply against what it must cost at least: one copy of its bytes and one parse of its JSON.
//!
//! The ratios are printed first, from the fastest of several runs that take turns; divan's own table follows.

use std::{
    hint::black_box,
    ops::Range,
    time::{Duration, Instant},
};

use divan::{Bencher, counter::BytesCount};
use runvil_model::ReplyDecoder;
use serde_json::{Value, json};

const MIB: usize = 1 << 20;

/// What one read of a socket may bring.
const CHUNK: usize = 16 * 1024;

/// A kind of reply to decode.
#[derive(Debug, Clone, Copy)]
enum Reply {
    /// 16 MiB of stream, some 4 letters of text in each event, as most servers stream.
    Tokens,
    /// 16 MiB of stream, 1 KiB of text in each event.
    Paragraphs,
    /// 16 MiB as one document.
    Document,
    /// A tool call whose arguments come in fragments of 16 bytes, so many MiB of them in all.
    Arguments(usize),
}

const REPLIES: [Reply; 5] = [
    Reply::Tokens,
    Reply::Paragraphs,
    Reply::Document,
    Reply::Arguments(1),
    Reply::Arguments(4),
];

/// A body and where in it the JSON values lie.
struct Body {
    bytes: Vec<u8>,
    values: Vec<Range<usize>>,
}

impl Reply {
    fn body(self) -> Body {
        match self {
            Self::Tokens => stream(16 * MIB, &json!({ "content": " mod" })),
            Self::Paragraphs => stream(16 * MIB, &json!({ "content": "lorem ip".repeat(128) })),
            Self::Document => document(&"lorem \"ip\"\n".repeat(16 * MIB / 14)),
            Self::Arguments(mib) => arguments(mib * MIB),
        }
    }
}

fn chunk(delta: &Value) -> String {
    json!({
        "id": "chatcmpl-C1", "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": null }],
    })
    .to_string()
}

impl Body {
    fn new() -> Self {
        Self {
            bytes: Vec::new(),
            values: Vec::new(),
        }
    }

    fn event(&mut self, value: &str) {
        self.bytes.extend_from_slice(b"data: ");
        self.values.push(self.bytes.len()..self.bytes.len() + value.len());
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.extend_from_slice(b"\n\n");
    }

    fn ended(mut self) -> Self {
        self.bytes.extend_from_slice(b"data: [DONE]\n\n");
        self
    }
}

fn stream(size: usize, delta: &Value) -> Body {
    let chunk = chunk(delta);
    let mut body = Body::new();
    while body.bytes.len() < size {
        body.event(&chunk);
    }
    body.ended()
}

fn document(text: &str) -> Body {
    let document = json!({ "model": "m", "choices": [{ "message": { "content": text }, "finish_reason": "stop" }] });
    let bytes = document.to_string().into_bytes();
    let values = std::iter::once(0..bytes.len()).collect();
    Body { bytes, values }
}

fn arguments(size: usize) -> Body {
    let call = |function: Value| chunk(&json!({ "tool_calls": [{ "index": 0, "id": "a", "function": function }] }));
    let mut body = Body::new();
    body.event(&call(json!({ "name": "x", "arguments": "{\"text\":\"" })));
    let fragment = call(json!({ "arguments": "0123456789abcdef" }));
    for _ in 0..size / 16 {
        body.event(&fragment);
    }
    body.event(&call(json!({ "arguments": "\"}" })));
    body.ended()
}

fn decode(body: &Body) {
    let mut length = 0;
    let mut on_text = |text: &str| length += text.len();
    let mut decoder = ReplyDecoder::new();
    for chunk in body.bytes.chunks(CHUNK) {
        decoder.push(chunk, &mut on_text).expect("a sound body");
    }
    black_box(decoder.finish(&mut on_text).expect("a reply"));
    black_box(length);
}

fn copy_and_parse(body: &Body) {
    let copy = black_box(body.bytes.clone());
    for range in &body.values {
        black_box(serde_json::from_slice::<Value>(&copy[range.clone()]).expect("sound JSON"));
    }
}

#[divan::bench(args = REPLIES, sample_count = 10, sample_size = 1)]
fn reply_decoder(bencher: Bencher<'_, '_>, reply: Reply) {
    let body = reply.body();
    bencher
        .counter(BytesCount::new(body.bytes.len()))
        .bench_local(|| decode(&body));
}

#[divan::bench(args = REPLIES, sample_count = 10, sample_size = 1)]
fn copy_and_parse_of_it(bencher: Bencher<'_, '_>, reply: Reply) {
    let body = reply.body();
    bencher
        .counter(BytesCount::new(body.bytes.len()))
        .bench_local(|| copy_and_parse(&body));
}

fn timed(work: fn(&Body), body: &Body) -> Duration {
    let start = Instant::now();
    work(body);
    start.elapsed()
}

fn report_ratio(reply: Reply) {
    let body = reply.body();
    let runs = (0..7).map(|_| (timed(decode, &body), timed(copy_and_parse, &body)));
    let (decoder, floor) = runs.fold((Duration::MAX, Duration::MAX), |best, run| {
        (best.0.min(run.0), best.1.min(run.1))
    });
    let ratio = decoder.as_secs_f64() / floor.as_secs_f64();
    let bytes = body.bytes.len();
    println!("{reply:?}: {bytes} bytes, decoder {decoder:.1?}, copy and parse {floor:.1?}, ratio {ratio:.2}");
}

fn main() {
    if std::env::args().any(|arg| arg == "--bench") {
        REPLIES.into_iter().for_each(report_ratio);
    }
    divan::main();
}
