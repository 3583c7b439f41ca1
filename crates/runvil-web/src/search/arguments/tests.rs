use runvil_pack::{Freshness, SafeSearch};
use serde_json::json;

use super::*;

fn refusal(arguments: &Value) -> String {
    let arguments = arguments.as_object().expect("an object").clone();
    match parse(arguments) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_call_may_combine_every_argument() {
    let arguments = json!({
        "query": " rust ", "count": 5, "freshness": "pw", "country": "us", "search_lang": "en",
        "safesearch": "strict", "include_domains": ["a.example"], "exclude_domains": ["b.example"],
    });
    let request = parse(arguments.as_object().expect("an object").clone()).expect("accepted");
    let expected = SearchRequest {
        query: " rust ".to_owned(),
        count: Some(5),
        freshness: Some(Freshness::PastWeek),
        country: Some("us".to_owned()),
        search_lang: Some("en".to_owned()),
        safesearch: Some(SafeSearch::Strict),
        include_domains: vec!["a.example".to_owned()],
        exclude_domains: vec!["b.example".to_owned()],
    };
    assert_eq!(request, expected);
}

#[test]
fn what_does_not_parse_gets_one_message() {
    for arguments in [
        json!({}),
        json!({ "query": null }),
        json!({ "query": 1 }),
        json!({ "query": "q", "max_results": 3 }),
        json!({ "query": "q", "count": "5" }),
        json!({ "query": "q", "count": -1 }),
        json!({ "query": "q", "count": 1.5 }),
        json!({ "query": "q", "freshness": "week" }),
        json!({ "query": "q", "freshness": "PD" }),
        json!({ "query": "q", "safesearch": "high" }),
        json!({ "query": "q", "safesearch": "Strict" }),
        json!({ "query": "q", "country": 1 }),
        json!({ "query": "q", "search_lang": true }),
        json!({ "query": "q", "include_domains": {} }),
        json!({ "query": "q", "include_domains": "a.example" }),
        json!({ "query": "q", "exclude_domains": [1] }),
        json!({ "query": "", "count": 99, "extra": 1 }),
    ] {
        assert_eq!(refusal(&arguments), "invalid arguments", "{arguments}");
    }
}

#[test]
fn null_is_the_same_as_leaving_an_option_out() {
    let arguments = json!({
        "query": "q", "count": null, "freshness": null, "country": null, "search_lang": null,
        "safesearch": null, "include_domains": null, "exclude_domains": null,
    });
    let request = parse(arguments.as_object().expect("an object").clone()).expect("accepted");
    assert_eq!(
        request,
        SearchRequest {
            query: "q".to_owned(),
            ..SearchRequest::default()
        }
    );
}

#[test]
fn a_whole_count_may_be_written_as_a_float() {
    assert_eq!(refusal(&json!({ "query": "q", "count": 5.0 })), "accepted");
}

#[test]
fn each_bound_has_its_message() {
    let many: Vec<_> = (0..21).map(|index| format!("h{index}.example")).collect();
    for (arguments, message) in [
        (json!({ "query": "" }), "query must not be empty"),
        (json!({ "query": " ".repeat(500) }), "query must not be empty"),
        (json!({ "query": "x".repeat(401) }), "query exceeds 400 characters"),
        (
            json!({ "query": format!(" {} ", "x".repeat(399)) }),
            "query exceeds 400 characters",
        ),
        (json!({ "query": "q", "count": 0 }), "count must be between 1 and 20"),
        (json!({ "query": "q", "count": 21 }), "count must be between 1 and 20"),
        (
            json!({ "query": "q", "country": "" }),
            "country must be 1..=128 characters",
        ),
        (
            json!({ "query": "q", "country": "  " }),
            "country must be 1..=128 characters",
        ),
        (
            json!({ "query": "q", "country": "c".repeat(129) }),
            "country must be 1..=128 characters",
        ),
        (
            json!({ "query": "q", "search_lang": "" }),
            "search_lang must be 1..=128 characters",
        ),
        (
            json!({ "query": "q", "include_domains": many }),
            "include_domains may list at most 20 hostnames",
        ),
        (
            json!({ "query": "q", "exclude_domains": many }),
            "exclude_domains may list at most 20 hostnames",
        ),
        (
            json!({ "query": "q", "exclude_domains": ["a/b"] }),
            "exclude_domains contains an invalid hostname",
        ),
    ] {
        assert_eq!(refusal(&arguments), message);
    }
}

#[test]
fn a_domain_is_a_bare_hostname() {
    for domain in [
        "https://a.example",
        "a example",
        "",
        " ",
        "a\tb",
        "a\u{7}b",
        "a\u{85}b",
        "a\u{a0}b",
        &"d".repeat(129),
    ] {
        let arguments = json!({ "query": "q", "include_domains": ["ok.example", domain] });
        assert_eq!(
            refusal(&arguments),
            "include_domains contains an invalid hostname",
            "{domain:?}"
        );
    }
}

#[test]
fn the_limits_count_characters_and_are_inclusive() {
    let many: Vec<_> = (0..20).map(|index| format!("h{index}.example")).collect();
    for arguments in [
        json!({ "query": "é".repeat(400) }),
        json!({ "query": "q", "count": 1 }),
        json!({ "query": "q", "count": 20 }),
        json!({ "query": "q", "country": "é".repeat(128), "search_lang": "é".repeat(128) }),
        json!({ "query": "q", "include_domains": many, "exclude_domains": ["é".repeat(128)] }),
        json!({ "query": "q", "include_domains": [], "exclude_domains": [] }),
    ] {
        assert_eq!(refusal(&arguments), "accepted", "{arguments}");
    }
}

#[test]
fn the_bounds_are_checked_in_order() {
    for (arguments, message) in [
        (json!({ "query": " ", "count": 0 }), "query must not be empty"),
        (
            json!({ "query": "q", "count": 0, "country": "" }),
            "count must be between 1 and 20",
        ),
        (
            json!({ "query": "q", "country": "", "search_lang": "" }),
            "country must be 1..=128 characters",
        ),
        (
            json!({ "query": "q", "search_lang": "", "include_domains": ["a/b"] }),
            "search_lang must be 1..=128 characters",
        ),
        (
            json!({ "query": "q", "include_domains": ["a/b"], "exclude_domains": ["a/b"] }),
            "include_domains contains an invalid hostname",
        ),
    ] {
        assert_eq!(refusal(&arguments), message);
    }
}
