//! The Pack as a Host builds it, and what a model is shown of its tools.

use crate::support::{Network, Provider, build, services};
use runvil_pack::serde_json::{Map, Value, json};
use runvil_pack::{Configuration, OutputKind, SEARCH_PROVIDER, Services};
use runvil_web::{TOKIO_RUNTIME, WebPlugin};

use std::sync::Arc;

use tokio::runtime::Handle;

fn configured(value: Value) -> WebPlugin {
    let values = Map::from_iter([("web".to_owned(), value)]);
    WebPlugin::new(Configuration::from(values)).with_transport(Arc::new(Network::default()))
}

fn reason(plugin: &WebPlugin, services: &Services) -> String {
    let built = build(plugin, services);
    assert_eq!(built.name.as_str(), "runvil/web");
    match built.pack {
        Ok(_) => "built".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn each_setup_problem_has_its_reason_and_the_first_is_named() {
    let all = services(Provider::default());
    let runtime_only = Services::new().with(TOKIO_RUNTIME, Arc::new(Handle::current()));
    let provider_only = Services::new().with(SEARCH_PROVIDER, all.get(SEARCH_PROVIDER).expect("a provider"));
    let search = "web needs runvil/search-provider, and this host provides none";
    for (value, services, expected) in [
        (json!(null), &all, "built"),
        (json!({}), &all, "built"),
        (json!({ "max_chars": 1 }), &all, "web takes no configuration"),
        (json!(false), &Services::new(), "web takes no configuration"),
        (json!(null), &Services::new(), search),
        (json!(null), &runtime_only, search),
        (
            json!(null),
            &provider_only,
            "web needs runvil/tokio-runtime, and this host provides none",
        ),
    ] {
        assert_eq!(reason(&configured(value), services), expected);
    }
}

#[tokio::test]
async fn the_shipped_plugin_sets_up_its_own_transport() {
    assert_eq!(reason(&WebPlugin::default(), &services(Provider::default())), "built");
}

#[tokio::test]
async fn the_pack_has_two_tools_no_prelude_and_no_per_run_needs() {
    let pack = build(&configured(json!({})), &services(Provider::default()))
        .pack
        .expect("the Pack builds");
    assert_eq!(pack.description(), "Search the web and fetch pages.");
    assert!(pack.prelude().is_none() && pack.needs().is_empty());
    let tools = pack.tools();
    let ids: Vec<_> = tools.iter().map(|tool| tool.definition().id.to_string()).collect();
    assert_eq!(ids, ["web/fetch", "web/search"]);
    for tool in &tools {
        let definition = tool.definition();
        assert_eq!(definition.output, OutputKind::Plain);
        assert!(!definition.survives_stop && definition.repeat_safe);
    }
}

#[tokio::test]
async fn a_model_is_shown_the_descriptions_and_schemas() {
    let pack = build(&configured(json!({})), &services(Provider::default()))
        .pack
        .expect("the Pack builds");
    let tools = pack.tools();
    let (fetch, search) = (tools[0].definition(), tools[1].definition());
    assert_eq!(
        fetch.description,
        "Fetch a web page and return its main content as markdown."
    );
    assert_eq!(
        fetch.parameters,
        json!({
            "type": "object",
            "properties": {
                "url": { "type": "string", "description": "The URL to fetch." },
                "max_chars": {
                    "type": "integer", "minimum": 1, "maximum": 40000,
                    "description": "Maximum number of characters of text to return for this call. Clamped to the \
                        configured ceiling. Longer text is truncated on a character boundary and the result is \
                        flagged as truncated.",
                },
                "raw": { "type": "boolean" },
            },
            "required": ["url"],
        })
    );
    assert_eq!(
        search.description,
        "Search the web and return a list of results (title, url, description)."
    );
    let properties = search.parameters["properties"].as_object().expect("an object");
    let described: Vec<_> = properties
        .iter()
        .map(|(name, schema)| (name.as_str(), schema["description"].clone()))
        .collect();
    for (name, description) in [
        ("query", "The search query."),
        ("count", "Max number of results."),
        ("freshness", "Freshness filter."),
        ("country", "Country code for the search."),
        ("search_lang", "Search language code."),
        ("safesearch", "SafeSearch level."),
        ("include_domains", "Only keep results from these hostnames."),
        ("exclude_domains", "Drop results from these hostnames."),
    ] {
        assert!(described.contains(&(name, json!(description))), "{name}");
    }
    assert_eq!(properties.len(), 8);
    assert_eq!(search.parameters["required"], json!(["query"]));
}
