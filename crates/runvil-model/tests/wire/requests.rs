//! What a client sends, over real sockets.

use crate::support::{Server, complete, limits, ok, round, status, text_stream};
use runvil_engine::{ThinkingMode, wire::ToolSchema};
use runvil_model::{ModelBackend, ThinkingDialect};
use serde_json::{Value, json};

/// The head, in lower case, and the body of a request.
fn parts(request: &str) -> (String, Value) {
    let (head, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    (
        head.to_ascii_lowercase(),
        serde_json::from_str(body).unwrap_or(Value::Null),
    )
}

#[tokio::test]
async fn a_round_is_a_streamed_post_below_the_root() {
    let server = Server::answering(ok(&text_stream("hello")));
    let mut round = round();
    round.request.tools = vec![ToolSchema::new("web_search", "Searches.", json!({ "type": "object" }))];
    round.request.thinking = Some(false);
    let client = server.client_with(|endpoint| endpoint.thinking = ThinkingDialect::EnableThinking);
    client.complete(&round, limits(), &mut |_| {}).await.expect("a reply");
    let requests = server.requests();
    let (head, body) = parts(&requests[0]);
    assert!(head.starts_with("post /v1/chat/completions http/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: bearer secret-key"));
    assert!(head.contains("content-type: application/json"));
    assert!(!head.contains("accept-encoding") && !head.contains("cookie") && !head.contains("referer"));
    let tool = json!({ "name": "web_search", "description": "Searches.", "parameters": { "type": "object" } });
    let expected = json!({
        "model": "m", "messages": [{ "role": "user", "content": "hi" }],
        "tools": [{ "type": "function", "function": tool }],
        "enable_thinking": false, "stream": true, "stream_options": { "include_usage": true },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn without_a_key_no_authorization_is_sent() {
    let server = Server::answering(ok(&text_stream("hello")));
    complete(&server.client_with(|endpoint| endpoint.api_key = None), limits())
        .await
        .expect("a reply");
    assert!(!parts(&server.requests()[0]).0.contains("authorization"));
}

#[tokio::test]
async fn a_substitute_is_asked_and_named() {
    let server = Server::answering(ok(&text_stream("hello")));
    let client = server.client_with(|endpoint| {
        endpoint.substitutes.insert("m".to_owned(), "m-2".to_owned());
    });
    let reply = complete(&client, limits()).await.expect("a reply");
    assert_eq!(reply.sent_to.as_deref(), Some("m-2"));
    assert_eq!(parts(&server.requests()[0]).1["model"], "m-2");
    assert_eq!(
        complete(&server.client(), limits()).await.expect("a reply").sent_to,
        None
    );
}

#[tokio::test]
async fn the_raw_bodies_are_kept_in_debug_mode_alone() {
    let stream = text_stream("hello");
    let document = json!({ "model": "m", "choices": [{ "message": { "content": "hello" } }] });
    for (answer, response) in [
        (ok(&stream), Value::String(stream)),
        (status(200, &document.to_string()), document),
    ] {
        let server = Server::answering(answer);
        let mut round = round();
        assert_eq!(complete(&server.client(), limits()).await.expect("a reply").raw, None);
        round.debug = true;
        let reply = server
            .client()
            .complete(&round, limits(), &mut |_| {})
            .await
            .expect("a reply");
        let raw = reply.raw.expect("the raw bodies");
        assert_eq!(raw.response, response);
        assert_eq!(raw.request, parts(&server.requests()[1]).1);
    }
}

#[tokio::test]
async fn the_catalog_is_asked_for_below_the_root() {
    let list = json!({ "object": "list", "data": [
        { "id": "qwen3-8b", "owned_by": "vllm", "max_model_len": 40_960 },
        { "id": "phi.gguf", "owned_by": "llamacpp", "meta": { "n_ctx_train": 131_072 } },
        { "id": "x-ai/grok", "context_length": 256_000, "supported_parameters": ["tools", "reasoning"],
          "description": "Quick." },
    ] });
    let server = Server::answering(status(200, &list.to_string()));
    let catalog = server.client().models(limits()).await.expect("a catalog");
    let (head, _) = parts(&server.requests()[0]);
    assert!(head.starts_with("get /v1/models http/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: bearer secret-key"));
    let told: Vec<(String, u32)> = catalog
        .models
        .iter()
        .map(|model| (model.id.to_string(), model.context))
        .collect();
    let expected = [
        ("gateway/qwen3-8b", 40_960),
        ("gateway/phi.gguf", 131_072),
        ("gateway/x-ai/grok", 256_000),
    ];
    assert_eq!(told, expected.map(|(id, context)| (id.to_owned(), context)));
    assert_eq!(catalog.models[2].thinking, ThinkingMode::Switchable);
}

#[tokio::test]
async fn a_catalog_that_cannot_be_had_says_why() {
    let message = async |answer: String| {
        Server::answering(answer)
            .client()
            .models(limits())
            .await
            .expect_err("no catalog")
            .to_string()
    };
    assert_eq!(
        message(status(404, "no such route")).await,
        "the model backend rejected the request (status 404)"
    );
    assert_eq!(
        message(status(200, "<html>")).await,
        "the model backend sent a reply that could not be understood: model list was not a JSON list of models"
    );
    assert_eq!(
        message(status(200, &"x".repeat(2 << 20))).await,
        "the model backend sent a reply that could not be understood: response body of 2097152 bytes exceeds the \
         1048576-byte limit"
    );
}
