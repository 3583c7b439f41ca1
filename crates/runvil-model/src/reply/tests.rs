use proptest::prelude::*;
use runvil_engine::{CompletionErrorKind as Kind, ReplyCall};
use serde_json::json;

use super::*;

/// Decodes a body cut into chunks, and gives the fragments with the reply.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Result<ModelReply, CompletionError>) {
    let mut fragments = Vec::new();
    let mut on_text = |text: &str| fragments.push(text.to_owned());
    let mut decoder = ReplyDecoder::new();
    let mut ended = Ok(Progress::More);
    for chunk in chunks {
        ended = decoder.push(chunk, &mut on_text);
        if ended != Ok(Progress::More) {
            break;
        }
    }
    let reply = ended.and_then(|_| decoder.finish(&mut on_text));
    (fragments, reply)
}

fn reply(body: &str) -> Result<ModelReply, CompletionError> {
    decode([body.as_bytes()]).1
}

fn good(body: &str) -> ModelReply {
    reply(body).expect("a reply")
}

fn detail(body: &str) -> String {
    let error = reply(body).expect_err("malformed");
    assert_eq!(error.kind, Kind::MalformedResponse);
    error.detail.expect("a malformed reply says what was wrong")
}

/// A stream of chunks, ended as a server ends it.
fn stream(chunks: &[Value]) -> String {
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    body
}

fn delta(delta: &Value) -> Value {
    json!({ "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn stop(reason: &str) -> Value {
    json!({ "model": "m", "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

#[test]
fn text_comes_in_fragments_and_whole() {
    let body = stream(&[
        delta(&json!({ "content": "caf" })),
        delta(&json!({ "content": "é" })),
        stop("stop"),
    ]);
    let (fragments, reply) = decode([body.as_bytes()]);
    let reply = reply.expect("a reply");
    assert_eq!((fragments.concat(), fragments.len()), ("café".to_owned(), 2));
    assert_eq!(
        (reply.text.as_str(), reply.finish_reason.as_deref()),
        ("café", Some("stop"))
    );
    assert_eq!((reply.reasoning, reply.metadata_problems), (None, Vec::new()));
}

#[test]
fn a_stream_without_the_sentinel_was_cut_off() {
    let cut = "completion stream ended without the [DONE] sentinel";
    let whole = stream(&[delta(&json!({ "content": "hi" })), stop("stop")]);
    let sentinel = whole.find("data: [DONE]").expect("it ends with the sentinel");
    for end in 0..sentinel + "data: [DONE".len() {
        assert_eq!(detail(&whole[..end]), cut, "{end}");
    }
    for end in sentinel + "data: [DONE]".len()..=whole.len() {
        assert_eq!(good(&whole[..end]).text, "hi");
    }
    for nothing in ["", "  \r\n", ": keep-alive\n\n", "<html>no stream</html>", "hello"] {
        assert_eq!(detail(nothing), cut);
    }
}

#[test]
fn what_follows_the_sentinel_is_not_read() {
    let body = format!("{}data: {{broken\n\n", stream(&[delta(&json!({ "content": "hi" }))]));
    assert_eq!(good(&body).text, "hi");
}

#[test]
fn the_finish_reason_is_the_last_one_that_says_something() {
    let body = stream(&[
        delta(&json!({ "content": "hi" })),
        stop(""),
        stop("length"),
        delta(&json!({})),
    ]);
    assert_eq!(good(&body).finish_reason.as_deref(), Some("length"));
    assert_eq!(good(&stream(&[delta(&json!({ "content": "hi" }))])).finish_reason, None);
}

#[test]
fn usage_may_come_in_a_chunk_without_choices_or_as_null() {
    let usage = json!({ "prompt_tokens": 3, "completion_tokens": 4 });
    for last in [
        json!({ "choices": [], "usage": usage }),
        json!({ "choices": null, "usage": usage }),
        json!({ "usage": usage }),
    ] {
        let mut first = delta(&json!({ "content": "hi" }));
        first["usage"] = Value::Null;
        let reply = good(&stream(&[first, last]));
        let counts = reply
            .usage
            .map(|usage| (usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens));
        assert_eq!(counts, Some((Some(3), Some(4), None)));
    }
}

#[test]
fn only_the_first_choice_is_the_reply() {
    let other = json!({ "choices": [{ "index": 1, "delta": { "content": "no" }, "finish_reason": "stop" }] });
    let bare = json!({ "choices": [{ "delta": { "content": "yes" } }] });
    let reply = good(&stream(&[other, bare]));
    assert_eq!((reply.text.as_str(), reply.finish_reason), ("yes", None));
}

#[test]
fn a_chunk_that_is_no_json_object_is_malformed() {
    for data in ["{\"choices\":[", "hello", "5", "null", "[]", "{} {}", "\u{0}"] {
        assert_eq!(
            detail(&format!("data: {data}\n\ndata: [DONE]\n\n")),
            "completion stream chunk was not a JSON object"
        );
    }
    for choices in [json!("none"), json!({}), json!([5])] {
        assert_eq!(
            detail(&stream(&[json!({ "choices": choices })])),
            "completion stream chunk was not a JSON object"
        );
    }
    let (_, reply) = decode([&b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n"[..]]);
    assert_eq!(reply, Err(Malformed::Chunk.into()));
    let deep = format!("data: {}\n\n", "[".repeat(100_000));
    assert_eq!(reply_kind(&deep), Kind::MalformedResponse);
}

#[test]
fn a_reply_without_a_choice_is_malformed() {
    let detail_of = [
        "data: [DONE]\n\n",
        "data: {\"type\":\"ping\"}\n\ndata: [DONE]\n\n",
        "{\"ok\":true}",
    ];
    for body in detail_of {
        assert_eq!(detail(body), "completion response held no choices");
    }
}

#[test]
fn comments_empty_events_and_foreign_events_are_passed_over() {
    let body = format!(
        ": PROCESSING\n\ndata:\n\nevent: ping\ndata: now\n\nevent: chunk\ndata: {}\n\ndata: [DONE]\r\n\r\n",
        delta(&json!({ "content": "hi" }))
    );
    assert_eq!(good(&body).text, "hi");
}

fn reply_kind(body: &str) -> Kind {
    reply(body).expect_err("a failure").kind
}

#[test]
fn an_error_in_the_stream_is_told_by_its_text_alone() {
    let cases = [
        (
            json!({ "error": { "type": "overloaded_error", "message": "try again" } }),
            Kind::Overloaded,
        ),
        (
            json!({ "error": { "code": "insufficient_quota", "message": "…" } }),
            Kind::QuotaExhausted,
        ),
        (
            json!({ "error": { "code": 400, "message": "Prompt is too long" } }),
            Kind::ContextOverflow,
        ),
        (json!({ "error": "content_filter" }), Kind::Refused),
        (
            json!({ "error": { "message": "Provider error", "metadata": { "raw": "overloaded" } } }),
            Kind::Overloaded,
        ),
        (json!({ "error": {} }), Kind::Transport),
        (
            json!({ "object": "error", "message": "too many tokens", "code": 400 }),
            Kind::ContextOverflow,
        ),
        (
            json!({ "error": { "message": "gone" }, "choices": [{ "delta": {}, "finish_reason": "error" }] }),
            Kind::Transport,
        ),
    ];
    for (chunk, kind) in cases {
        let streamed = stream(&[delta(&json!({ "content": "partial" })), chunk.clone()]);
        let unended = format!("data: {}\n\ndata: {chunk}", delta(&json!({})));
        for body in [streamed, unended, chunk.to_string()] {
            let error = reply(&body).expect_err("an error");
            assert_eq!((error.kind, error.status, error.detail), (kind, None, None), "{body}");
        }
    }
}

#[test]
fn an_error_event_is_an_error_whatever_it_holds() {
    for body in [
        "event: error\ndata: {\"message\":\"overloaded\"}\n\n",
        "event: error\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n",
        "event: error\ndata: overloaded\n\n",
        "error: {\"code\":503,\"message\":\"overloaded\"}\n\n",
    ] {
        assert_eq!(reply_kind(body), Kind::Overloaded);
    }
}

#[test]
fn no_error_is_reported_by_a_field_that_says_nothing() {
    for nothing in [json!(null), json!(false), json!("")] {
        let mut chunk = delta(&json!({ "content": "hi" }));
        chunk["error"] = nothing;
        assert_eq!(good(&stream(&[chunk])).text, "hi");
    }
}

#[test]
fn a_document_in_place_of_a_stream_is_accepted() {
    let call = json!({ "id": "a", "function": { "name": "x", "arguments": "{}" } });
    let document = json!({
        "object": "chat.completion", "model": "m", "usage": { "prompt_tokens": 3 },
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "hi", "reasoning_content": "hm", "tool_calls": [call],
        } }],
    });
    let body = format!("\n {document}");
    for cut in 0..body.len() {
        let (fragments, reply) = decode([&body.as_bytes()[..cut], &body.as_bytes()[cut..]]);
        let reply = reply.expect("a reply");
        assert_eq!((fragments, reply.text.as_str()), (vec!["hi".to_owned()], "hi"));
        assert_eq!(
            (reply.reasoning.as_deref(), reply.finish_reason.as_deref()),
            (Some("hm"), Some("tool_calls"))
        );
        assert_eq!(reply.tool_calls.len(), 1);
        assert_eq!(reply.usage.and_then(|usage| usage.prompt_tokens), Some(3));
    }
    for cut in 2..body.len() - 1 {
        assert_eq!(detail(&body[..=cut]), "completion response was not a JSON object");
    }
}

#[test]
fn tool_calls_are_put_together_across_chunks() {
    let call = |call: Value| delta(&json!({ "content": null, "tool_calls": [call] }));
    let reply = good(&stream(&[
        call(json!({ "index": 0, "id": "a", "type": "function", "function": { "name": "x", "arguments": "" } })),
        call(json!({ "index": 0, "function": { "arguments": "{\"q\":\"lu" } })),
        call(json!({ "index": 0, "function": { "arguments": "a\"}" } })),
        stop("tool_calls"),
    ]));
    let expected = ReplyCall {
        id: "a".to_owned(),
        name: "x".to_owned(),
        arguments: "{\"q\":\"lua\"}".to_owned(),
    };
    assert_eq!(reply.tool_calls, [expected]);
}

/// Chunks of every kind, sound and broken, so that cuts fall everywhere.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let event = prop_oneof![
        4 => "[a-z é模\\n]{0,9}".prop_map(|text| format!("data: {}\n\n", delta(&json!({ "content": text })))),
        2 => "[{}:1\"a]{0,5}".prop_map(|arguments| {
            let call = json!({ "index": 0, "id": "a", "function": { "name": "x", "arguments": arguments } });
            format!("data: {}\r\n\r\n", delta(&json!({ "tool_calls": [call] })))
        }),
        1 => Just(": ping\n\n".to_owned()),
        1 => Just("data: [DONE]\n\n".to_owned()),
        1 => Just("data: {\"error\":\"overloaded\"}\n\n".to_owned()),
        1 => Just("data: {broken\n\n".to_owned()),
    ];
    let events = proptest::collection::vec(event, 0..8).prop_map(|events| events.concat().into_bytes());
    prop_oneof![9 => events, 1 => proptest::collection::vec(any::<u8>(), 0..60)]
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_reply(body in body(), size in 1usize..9) {
        prop_assert_eq!(decode(body.chunks(size)), decode([body.as_slice()]));
    }

    #[test]
    fn any_json_is_taken_without_a_panic(key in "[a-z_]{0,12}", text in "\\PC{0,20}", number in any::<i64>()) {
        for value in [json!(text), json!(number), json!([text]), json!({ key.as_str(): number })] {
            for field in ["choices", "usage", "error", "model", key.as_str()] {
                let mut chunk = delta(&json!({ key.as_str(): value, "content": value, "tool_calls": [value] }));
                chunk[field] = value.clone();
                let _ = reply(&stream(&[chunk.clone()]));
                let _ = reply(&chunk.to_string());
            }
        }
    }
}
