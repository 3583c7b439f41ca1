//! Model rounds over real sockets, against a server process that streams and that misbehaves in each way.

mod common;

use std::time::{Duration, Instant};

use common::{Outcome, Place, Server};

const INFER: &str = "## A\n\n```lua\nmodels.use('w')\nreturn models.infer(args)\n```";

/// Runs a prompt that makes one round against the server's behaviour.
fn infer(behaviour: &str) -> Outcome {
    infer_in(&Place::new(), behaviour)
}

fn infer_in(place: &Place, behaviour: &str) -> Outcome {
    let prompt = place.prompt("models: { w: {} }\n", INFER);
    place
        .runvil(["run", prompt.to_str().expect("text"), "say it"])
        .server(behaviour)
        .run()
}

#[test]
fn a_streamed_reply_is_the_result_whatever_the_chunks_cut() {
    infer("hello").completed("Hello, world!");
    infer("bytes").completed("Grüße, 世界");
    infer("document").completed("as one document");
    infer("echo").completed("say it");
}

#[test]
fn a_reply_that_keeps_streaming_is_never_cut_off() {
    let place = Place::new();
    place.file("runvil.toml", "[limits]\nrequest_timeout_ms = 600\n");
    infer_in(&place, "slow").completed("slow but steady");
}

#[test]
fn the_request_names_the_model_and_carries_the_key() {
    let place = Place::new();
    let prompt = place.prompt("models: { w: {} }\n", INFER);
    place
        .runvil(["run", prompt.to_str().expect("text"), "hi", "--model", "gateway/second"])
        .server("keyed")
        .env("RUNVIL_GATEWAY_API_KEY", "k-1")
        .run()
        .completed("Hello, world!");
    let sent = Server::shared().requests("keyed", "chat/completions");
    assert_eq!(sent.len(), 1, "a round is sent once");
    assert_eq!(sent[0]["authorization"], "Bearer k-1");
    assert_eq!(sent[0]["body"]["model"], "second");
    assert_eq!(sent[0]["body"]["messages"][0]["content"], "hi");
}

#[test]
fn the_first_model_of_the_list_is_the_current_one() {
    let place = Place::new();
    let body = "## A\n\n```lua\nmodels.use('w')\nlocal h = models.get('w')\nreturn h.model_id .. ' ' .. h.context\n```";
    let prompt = place.prompt("models: { w: {} }\n", body);
    let run = |args: &[&str]| {
        let mut all = vec!["run", prompt.to_str().expect("text"), ""];
        all.extend(args);
        place.runvil(all).server("listed").run()
    };
    run(&[]).completed("first 32000");
    run(&["--model", "second"]).completed("second 64000");
    run(&["--model", "unlisted"]).completed("unlisted 8192");
    place.file("runvil.toml", "[model]\nid = 'second'\ncontext = 100\n");
    run(&[]).completed("second 100");
    run(&["--model", "first"]).completed("first 32000");
}

#[test]
fn the_endpoint_may_stand_in_the_configuration() {
    let place = Place::new();
    let root = Server::shared().root("configured");
    place.file("runvil.toml", format!("[endpoint]\nurl = '{root}'\n"));
    let prompt = place.prompt("models: { w: {} }\n", INFER);
    let run = || {
        place
            .runvil(["run", prompt.to_str().expect("text"), "hi"])
            .env("RUNVIL_GATEWAY_API_KEY", "k-2")
            .run()
    };
    run().completed("Hello, world!");
    assert_eq!(
        Server::shared().requests("configured", "chat/completions")[0]["authorization"],
        "Bearer k-2"
    );
    place.file("runvil.toml", "[endpoint]\nurl = 'https://gate.example/v1'\n");
    place
        .runvil(["run", prompt.to_str().expect("text"), "hi"])
        .run()
        .refused(2, "missing environment variable: RUNVIL_GATEWAY_API_KEY");
}

#[test]
fn a_status_fails_the_round_in_its_own_words_and_the_body_stays_out() {
    for (behaviour, says) in [
        ("status-503", "the model backend is overloaded (status 503)"),
        (
            "status-500",
            "the model backend reported a fault of its own (status 500)",
        ),
        ("status-502-overloaded", "the model backend is overloaded (status 502)"),
        (
            "status-429",
            "the model backend is limiting the request rate (status 429)",
        ),
        (
            "status-429-insufficient_quota",
            "the model backend says the usage quota is spent (status 429)",
        ),
        (
            "status-401",
            "the model backend did not accept the credentials (status 401)",
        ),
        (
            "status-400-content_policy",
            "the model backend refused the request on content policy grounds (status 400)",
        ),
        ("status-418", "the model backend rejected the request (status 418)"),
    ] {
        infer(behaviour)
            .refused(1, says)
            .says("(Completion)")
            .does_not_say("private");
    }
}

#[test]
fn a_request_that_the_server_finds_too_large_exhausts_the_context() {
    let says = "context exhausted: the provider rejected the request as exceeding the model's context window";
    infer("status-413-context_length_exceeded")
        .refused(1, says)
        .says("(ContextExhausted)")
        .does_not_say("private");
}

#[test]
fn a_transient_failure_says_that_another_try_may_help() {
    infer("status-503").says("run the prompt again");
    infer("status-401").does_not_say("run the prompt again");
}

#[test]
fn a_reply_that_breaks_off_or_makes_no_sense_fails_the_round() {
    let not_understood = "the model backend sent a reply that could not be understood: ";
    infer("cut").refused(
        1,
        &format!("{not_understood}completion stream ended without the [DONE] sentinel"),
    );
    infer("not-json").refused(1, not_understood);
    infer("reset").refused(1, "the connection to the model backend failed");
    infer("garbage").refused(1, "the connection to the model backend failed");
    infer("error-in-stream")
        .refused(1, "the model backend is overloaded")
        .does_not_say("try again\"");
}

#[test]
fn a_redirect_is_not_followed() {
    infer("redirect").refused(1, "the model backend rejected the request (status 302)");
}

#[test]
fn an_endless_reply_is_refused_at_the_cap() {
    let place = Place::new();
    place.file("runvil.toml", "[limits]\nmax_response_bytes = 100000\n");
    infer_in(&place, "flood")
        .refused(1, "response stream exceeds the 100000-byte limit")
        .says("help: raise `max_response_bytes` under [limits]");
}

#[test]
fn a_server_that_falls_silent_misses_the_receive_timeout() {
    for behaviour in ["silent", "stalls"] {
        let place = Place::new();
        place.file(
            "runvil.toml",
            "[model]\nid = 'm'\ncontext = 1000\nthinking = 'never'\n[limits]\nrequest_timeout_ms = 300\n",
        );
        let begun = Instant::now();
        infer_in(&place, behaviour).refused(1, "the model backend did not answer in time");
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn nobody_at_the_endpoint_is_a_failed_round_and_not_a_hang() {
    let place = Place::new();
    let prompt = place.prompt("models: { w: {} }\n", INFER);
    let port = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let run = |args: &[&str]| {
        let mut all = vec!["run", prompt.to_str().expect("text"), "hi"];
        all.extend(args);
        place
            .runvil(all)
            .env("RUNVIL_GATEWAY_URL", format!("http://127.0.0.1:{port}/v1"))
            .run()
    };
    run(&["--model", "m"]).refused(1, "the connection to the model backend failed");
    run(&[]).refused(1, "no model can be picked from").says("--model");
}

#[test]
fn a_model_list_that_is_no_use_is_one_clear_error() {
    for (behaviour, says) in [
        ("no-models", "(status 404)"),
        ("empty-models", "the list is empty"),
        ("garbage-models", "model list was not a JSON list of models"),
    ] {
        infer(behaviour)
            .refused(1, "no model can be picked from")
            .says(says)
            .says("--model");
    }
}

#[test]
fn a_loop_calls_tools_through_the_gateway() {
    let place = Place::new();
    let run = place
        .runvil([
            "run".as_ref(),
            common::shipped("research-person.md").as_os_str(),
            "Ada Lovelace".as_ref(),
        ])
        .server("tools")
        .run();
    run.completed("Ada Lovelace wrote the first program.");
    let searches = Server::shared().requests("tools", "search");
    assert_eq!(searches[0]["body"], serde_json::json!({ "query": "Ada Lovelace" }));
    let rounds = Server::shared().requests("tools", "chat/completions");
    let prose = rounds[0]["body"]["messages"][0]["content"].as_str().expect("text");
    assert!(
        prose.ends_with("Your input is a request about a person:\nAda Lovelace"),
        "{prose}"
    );
}

#[test]
fn a_loop_replys_text_is_not_shown_where_nobody_watches() {
    let place = Place::new();
    let body = "## A\n\n```lua\nmodels.use('w')\nmessages:user('hi')\nmodels.loop()\nreturn 'ok'\n```";
    let prompt = place.prompt("models: { w: {} }\n", body);
    let run = place.runvil(["run".as_ref(), prompt.as_os_str()]).server("hello").run();
    run.completed("ok").does_not_say("Hello");
}
