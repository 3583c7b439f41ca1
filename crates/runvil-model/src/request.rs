//! The body of a chat-completions request.

use runvil_engine::wire::{ChatRequest, Message, ToolSchema};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ThinkingDialect;

/// A request as it is sent: the Engine's own fields in the Engine's own form, streamed, with the token counts asked
/// for and the thinking switch in the server's dialect.
#[derive(Debug, Serialize)]
pub(crate) struct Body<'a> {
    model: &'a str,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [ToolSchema],
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(flatten)]
    thinking: Map<String, Value>,
}

/// What a stream is to hold besides the reply.
#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Body<'a> {
    /// The body of a request, sent to the model that the server knows as `model`.
    pub(crate) fn new(request: &'a ChatRequest, model: &'a str, dialect: ThinkingDialect) -> Self {
        // Named one by one, so that a new field cannot be left out unseen.
        let ChatRequest {
            model: _,
            messages,
            tools,
            temperature,
            max_tokens,
            thinking,
        } = request;
        Self {
            model,
            messages,
            tools,
            temperature: *temperature,
            max_tokens: *max_tokens,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            thinking: thinking.map(|on| dialect.fields(on)).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use runvil_engine::wire::Role;
    use serde_json::json;

    use super::*;

    fn request() -> ChatRequest {
        ChatRequest {
            model: "m".to_owned(),
            messages: vec![Message::text(Role::User, "hi")],
            tools: Vec::new(),
            temperature: None,
            max_tokens: None,
            thinking: None,
        }
    }

    fn body(request: &ChatRequest, dialect: ThinkingDialect) -> Value {
        serde_json::to_value(Body::new(request, &request.model, dialect)).expect("a body is JSON")
    }

    #[test]
    fn what_the_round_leaves_open_is_not_sent() {
        let expected = json!({
            "model": "m", "messages": [{ "role": "user", "content": "hi" }],
            "stream": true, "stream_options": { "include_usage": true },
        });
        assert_eq!(body(&request(), ThinkingDialect::default()), expected);
    }

    #[test]
    fn the_engines_fields_are_sent_unchanged() {
        let request = ChatRequest {
            tools: vec![ToolSchema::new("web_search", "Searches.", json!({ "type": "object" }))],
            temperature: Some(0.7),
            max_tokens: Some(512),
            ..request()
        };
        let Value::Object(sent) = body(&request, ThinkingDialect::default()) else {
            panic!("a body is an object")
        };
        let Ok(Value::Object(told)) = serde_json::to_value(&request) else {
            panic!("a request is an object")
        };
        for (field, value) in told {
            assert_eq!(sent.get(&field), Some(&value), "{field}");
        }
    }

    #[test]
    fn the_thinking_switch_goes_in_the_servers_dialect() {
        let switched = |dialect, on| {
            let request = ChatRequest {
                thinking: Some(on),
                ..request()
            };
            let Value::Object(mut sent) = body(&request, dialect) else {
                panic!("a body is an object")
            };
            for field in ["model", "messages", "stream", "stream_options"] {
                assert!(sent.remove(field).is_some());
            }
            Value::Object(sent)
        };
        assert_eq!(
            switched(ThinkingDialect::ChatTemplate, false),
            json!({ "chat_template_kwargs": { "enable_thinking": false, "thinking": false } })
        );
        assert_eq!(
            switched(ThinkingDialect::ReasoningEffort, false),
            json!({ "reasoning_effort": "none" })
        );
        assert_eq!(
            switched(ThinkingDialect::ReasoningEffort, true),
            json!({ "reasoning_effort": "medium" })
        );
        assert_eq!(
            switched(ThinkingDialect::Reasoning, true),
            json!({ "reasoning": { "enabled": true } })
        );
        assert_eq!(
            switched(ThinkingDialect::ThinkingType, false),
            json!({ "thinking": { "type": "disabled" } })
        );
        assert_eq!(
            switched(ThinkingDialect::EnableThinking, true),
            json!({ "enable_thinking": true })
        );
        assert_eq!(switched(ThinkingDialect::Unsent, true), json!({}));
    }
}
