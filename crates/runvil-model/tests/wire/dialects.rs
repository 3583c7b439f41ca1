//! Replies as the well-known servers stream them, written after their documentation.

use runvil_engine::{CompletionErrorKind as Kind, ModelReply};

use crate::{
    process::ServerProcess,
    support::{complete, limits},
};

async fn reply(stream: &str) -> ModelReply {
    let server = ServerProcess::start(stream);
    let reply = complete(&server.client(), limits()).await.expect("a reply");
    assert!(reply.metadata_problems.is_empty(), "{:?}", reply.metadata_problems);
    reply
}

async fn failure(stream: &str) -> Kind {
    let server = ServerProcess::start(stream);
    complete(&server.client(), limits()).await.expect_err("an error").kind
}

/// Text, reasoning and finish reason.
fn said(reply: &ModelReply) -> (&str, Option<&str>, Option<&str>) {
    (&reply.text, reply.reasoning.as_deref(), reply.finish_reason.as_deref())
}

/// Prompt, completion and reasoning tokens.
fn counted(reply: &ModelReply) -> (Option<u64>, Option<u64>, Option<u64>) {
    let usage = reply.usage.unwrap_or_default();
    (usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens)
}

fn called(reply: &ModelReply) -> Vec<(&str, &str, &str)> {
    reply
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
        .collect()
}

#[tokio::test]
async fn openai_streams_two_calls_in_fragments() {
    let reply = reply("openai-tools").await;
    assert_eq!(said(&reply), ("", None, Some("tool_calls")));
    assert_eq!(
        called(&reply),
        [
            ("call_A1", "web_search", "{\"query\": \"lua\"}"),
            ("call_B2", "web_fetch", "{\"url\": \"https://lua.example/\"}"),
        ]
    );
    assert_eq!(counted(&reply), (Some(61), Some(40), Some(0)));
}

#[tokio::test]
async fn azure_begins_with_a_chunk_of_filter_results() {
    let reply = reply("azure-text").await;
    assert_eq!(said(&reply), ("Bonjour, ça va ?", None, Some("stop")));
    assert_eq!(counted(&reply), (Some(9), Some(6), Some(0)));
}

#[tokio::test]
async fn llama_cpp_reasons_and_reports_timings() {
    let reply = reply("llama-cpp-reasoning").await;
    assert_eq!(said(&reply), ("Hello 模型", Some("The user greets."), Some("stop")));
    assert_eq!(counted(&reply), (Some(12), Some(9), None));
    let metrics = reply.metrics.expect("metrics");
    assert_eq!(metrics["timings"]["predicted_n"], 9);
    assert_eq!(metrics["usage"]["total_tokens"], 21);
}

#[tokio::test]
async fn llama_cpp_streams_arguments_token_by_token_and_may_count_nothing() {
    let reply = reply("llama-cpp-tool").await;
    assert_eq!(called(&reply), [("v2dhQ", "run_command", "{\"command\":\"pwd\"}")]);
    assert_eq!(reply.usage, None);
}

#[tokio::test]
async fn llama_cpp_sends_an_error_under_a_field_of_its_own() {
    assert_eq!(failure("llama-cpp-error").await, Kind::ContextOverflow);
}

#[tokio::test]
async fn vllm_sends_reasoning_under_two_names() {
    let reply = reply("vllm-tools").await;
    assert_eq!(said(&reply), ("", Some("Two calls."), Some("tool_calls")));
    assert_eq!(
        called(&reply),
        [
            ("chatcmpl-tool-1a", "get_weather", "{\"city\": \"Paris\"}"),
            ("chatcmpl-tool-2b", "get_weather", "{\"city\": \"Rome\"}"),
        ]
    );
    assert_eq!(counted(&reply), (Some(170), Some(52), None));
}

#[tokio::test]
async fn vllm_sends_an_error_as_an_object_marked_error() {
    assert_eq!(failure("vllm-error").await, Kind::Overloaded);
}

#[tokio::test]
async fn ollama_sends_whole_calls_under_one_index_and_finishes_with_stop() {
    let reply = reply("ollama-tools").await;
    assert_eq!(said(&reply), ("", Some("List it."), Some("stop")));
    assert_eq!(
        called(&reply),
        [
            ("call_wteop8bt", "run_command", "{\"command\":\"ls\"}"),
            ("call_rk2xye1l", "run_command", "{\"command\":\"ls -l\"}"),
        ]
    );
}

#[tokio::test]
async fn openrouter_sends_comments_and_counts_last() {
    let reply = reply("openrouter-text").await;
    assert_eq!(said(&reply), ("Yes.", Some("Hm"), Some("stop")));
    assert_eq!(counted(&reply), (Some(11), Some(30), Some(22)));
}

#[tokio::test]
async fn openrouter_puts_the_providers_error_inside_its_own() {
    assert_eq!(failure("openrouter-error").await, Kind::Overloaded);
}

#[tokio::test]
async fn deepseek_sends_null_content_beside_reasoning() {
    let reply = reply("deepseek-reasoning").await;
    assert_eq!(said(&reply), ("9.8", Some("9.8 is more."), Some("length")));
    assert_eq!(counted(&reply), (Some(18), Some(25), Some(20)));
}

#[tokio::test]
async fn mistral_sends_content_in_parts_and_all_calls_at_once() {
    let reply = reply("mistral-tools").await;
    assert_eq!(said(&reply), ("One moment.", Some("Look it up."), Some("tool_calls")));
    assert_eq!(
        called(&reply),
        [
            ("Zx81kPq02", "web_search", "{\"query\": \"lua\"}"),
            ("Rt55mNb77", "web_search", "{\"query\": \"moon\"}"),
        ]
    );
}

#[tokio::test]
async fn gemini_sends_calls_without_an_index_and_counts_on() {
    let reply = reply("gemini-tools").await;
    assert_eq!(
        called(&reply),
        [
            ("function-call-1", "look", "{\"q\":1}"),
            ("function-call-2", "look", "{\"q\":2}")
        ]
    );
    assert_eq!(counted(&reply), (Some(9), Some(12), None));
}

#[tokio::test]
async fn xai_counts_reasoning_beside_the_completion() {
    let reply = reply("xai-text").await;
    assert_eq!(said(&reply), ("101 * 3 is 303.", Some("Let me see."), Some("stop")));
    assert_eq!(counted(&reply), (Some(32), Some(103), Some(94)));
}
