//! `runvil models`.

mod common;

use common::{Place, Server};
use serde_json::{Value, json};

#[test]
fn the_list_tells_the_current_model_and_what_the_endpoint_leaves_unsaid() {
    let run = Place::new().runvil(["models"]).server("rich-models").run();
    assert_eq!(run.status, Some(0), "{run:#?}");
    insta::assert_snapshot!(run.stdout, @r"
       MODEL       CONTEXT  THINKING     PROVIDER  DESCRIPTION
    *  qwen3-8b      32768  switchable   library   Small and quick.
       deep/think   131072  always
       bare          8192?  switchable?
    ");
    run.says("model list entry 3: invalid model id: name must not be empty");
}

#[test]
fn the_configuration_names_the_current_model_and_counts_before_the_list() {
    let place = Place::new();
    place.file(
        "runvil.toml",
        "[model]\nid = 'gateway/bare'\ncontext = 4096\nthinking = 'never'\nprovider = 'me'\n",
    );
    let run = place.runvil(["models"]).server("rich-models").run();
    assert!(
        run.stdout.contains("*  bare           4096  never       me\n"),
        "{run:#?}"
    );
    assert_eq!(run.stdout.matches('*').count(), 1, "{run:#?}");
}

#[test]
fn a_current_model_that_is_not_listed_is_shown_as_such() {
    let place = Place::new();
    place.file("runvil.toml", "[model]\nid = 'hidden'\n");
    let run = place.runvil(["models", "--json"]).server("rich-models").run();
    let told: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(told["url"], format!("{}/models", Server::shared().root("rich-models")));
    assert_eq!(
        told["models"][0],
        json!({
            "id": "gateway/hidden", "name": "hidden", "context": 8192, "context_assumed": true,
            "thinking": "switchable", "thinking_assumed": true, "description": "", "provider": null,
            "current": true, "listed": false,
        })
    );
    assert_eq!(told["models"][1]["current"], false);
    assert_eq!(told["models"][1]["context_assumed"], false);
    let run = place.runvil(["models"]).server("rich-models").run();
    assert!(run.stdout.contains("(not listed)"), "{run:#?}");
}

#[test]
fn an_endpoint_without_models_is_told_and_no_failure() {
    let place = Place::new();
    let run = place.runvil(["models"]).server("empty-models").run();
    run.completed("").says("lists no models");
    let run = place.runvil(["models", "--json"]).server("empty-models").run();
    let told: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(told["models"], json!([]));
}

#[test]
fn without_an_endpoint_the_help_says_where_to_name_one() {
    Place::new()
        .runvil(["models"])
        .run()
        .refused(2, "no endpoint is configured")
        .says("RUNVIL_GATEWAY_URL")
        .says("[endpoint]");
}

#[test]
fn an_endpoint_that_gives_no_list_is_one_clear_error() {
    let place = Place::new();
    for behaviour in ["no-models", "garbage-models"] {
        place
            .runvil(["models"])
            .server(behaviour)
            .run()
            .refused(1, "the models cannot be listed from http://127.0.0.1:")
            .says("help: start the endpoint");
    }
    place
        .runvil(["models"])
        .env("RUNVIL_GATEWAY_URL", "ftp://x/")
        .run()
        .refused(2, "http or https");
}
