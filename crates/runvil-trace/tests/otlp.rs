//! What a collector is sent.

mod common;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    thread,
};

use common::{call, run, text, usage};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message as _;
use runvil_trace::OtlpExport;
use tracing::subscriber::set_default;
use tracing_subscriber::{Registry, layer::SubscriberExt as _};

/// A collector that takes whatever comes.
struct Collector {
    url: String,
    taken: Receiver<(String, Vec<u8>)>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let url = format!("http://{}/v1/traces", listener.local_addr().expect("an address"));
        let (sender, taken) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || {
                    let mut stream = BufReader::new(stream);
                    while let Some(request) = read(&mut stream) {
                        let _ = sender.send(request);
                        let answer =
                            "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
                        let _ = stream.get_mut().write_all(answer.as_bytes());
                    }
                });
            }
        });
        Self { url, taken }
    }

    /// The spans that came, as one list.
    fn spans(&self) -> (Vec<KeyValue>, Vec<Span>) {
        let (mut resource, mut spans) = (Vec::new(), Vec::new());
        for (head, body) in self.taken.try_iter() {
            assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
            assert!(
                head.to_lowercase().contains("content-type: application/x-protobuf"),
                "{head}"
            );
            let request = ExportTraceServiceRequest::decode(body.as_slice()).expect("the protocol's message");
            for group in request.resource_spans {
                resource = group.resource.expect("a resource").attributes;
                spans.extend(group.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        }
        (resource, spans)
    }
}

/// The head and the body of the next request; `None` at the end of the connection.
fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
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
    Some((head, body))
}

fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a Value> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    found.value.as_ref()?.value.as_ref()
}

fn word(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

#[test]
fn a_run_arrives_as_spans_of_the_conventions() {
    let collector = Collector::start();
    let export = OtlpExport::to(&collector.url).expect("an export");
    let body = "## Main\n```lua\nmodels.use('w')\ntools.offer('probe/look')\nmessages:user(args)\nmodels.loop()\n\
                return 'done'\n```";
    {
        let _guard = set_default(Registry::default().with(export.layer()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime
            .expect("a runtime")
            .block_on(run(body, [Ok(call()), Ok(text(Some(usage(120, 7))))]));
    }
    export.finish().expect("the collector took everything");
    let (resource, spans) = collector.spans();
    assert_eq!(attribute(&resource, "service.name"), Some(&word("runvil")));

    let mut names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "chat m1",
            "chat m1",
            "execute_tool probe/look",
            "invoke_workflow traced",
            "section Main"
        ]
    );
    let find = |name: &str| spans.iter().rfind(|span| span.name == name).expect("the span");
    let (workflow, section, chat) = (find("invoke_workflow traced"), find("section Main"), find("chat m1"));
    assert!(workflow.parent_span_id.is_empty());
    assert_eq!(section.parent_span_id, workflow.span_id);
    assert_eq!(chat.parent_span_id, section.span_id);
    assert!(spans.iter().all(|span| span.trace_id == workflow.trace_id));

    assert_eq!(chat.kind, SpanKind::Client as i32);
    let of_chat = |key| attribute(&chat.attributes, key);
    assert_eq!(of_chat("gen_ai.operation.name"), Some(&word("chat")));
    assert_eq!(of_chat("gen_ai.request.model"), Some(&word("m1")));
    assert_eq!(of_chat("gen_ai.usage.input_tokens"), Some(&Value::IntValue(120)));
    assert_eq!(of_chat("gen_ai.usage.output_tokens"), Some(&Value::IntValue(7)));
    let Some(Value::ArrayValue(reasons)) = of_chat("gen_ai.response.finish_reasons") else {
        unreachable!("the reasons are a list: {chat:#?}");
    };
    let stop = AnyValue {
        value: Some(word("stop")),
    };
    assert_eq!(reasons.values, [stop]);

    let tool = find("execute_tool probe/look");
    assert_eq!(
        attribute(&tool.attributes, "gen_ai.tool.name"),
        Some(&word("probe/look"))
    );
    assert_eq!(attribute(&tool.attributes, "error.type"), Some(&word("tool_error")));
    assert_eq!(tool.status.as_ref().expect("a status").code, StatusCode::Error as i32);
}

#[test]
fn a_collector_that_is_not_there_is_told_at_the_end() {
    let url = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        format!("http://{}/v1/traces", listener.local_addr().expect("an address"))
    };
    let export = OtlpExport::to(&url).expect("an export");
    {
        let _guard = set_default(Registry::default().with(export.layer()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime
            .expect("a runtime")
            .block_on(run("## A\n```lua\nreturn 'x'\n```", []));
    }
    let error = export.finish().expect_err("nobody took the spans");
    assert!(
        error.to_string().starts_with("not all spans reached the collector"),
        "{error}"
    );
}

#[test]
fn without_its_variables_there_is_no_export() {
    assert!(OtlpExport::from_env().expect("nothing is set").is_none());
}
