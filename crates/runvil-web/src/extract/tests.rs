use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn address() -> Url {
    Url::parse("https://site.example/dir/page?q=1").expect("a URL")
}

fn article_page(paragraphs: usize) -> String {
    let mut page = String::from(
        "<html><head><title>Doc</title><style>p { color: red }</style></head><body>\
         <nav><a href='/x'>site menu</a></nav><article><h1>Orchard notes</h1>",
    );
    for index in 0..paragraphs {
        write!(
            page,
            "<p>Entry {index} of the <a href='trees#{index}'>orchard notes</a> tells, at some length, which rows of \
             trees were <b>pruned</b> in the cold months, who carried the ladders from the barn, and how many baskets \
             of late apples still came in before the frost.</p>"
        )
        .expect("into memory");
    }
    page + "</article><script>var x = '<p>no</p>';</script><footer>site footer</footer></body></html>"
}

#[test]
fn a_page_is_reduced_to_its_article_with_links_resolved() {
    let found = extract(&article_page(8), &address(), false);
    assert_eq!(found.label, ExtractionLabel::Readability);
    assert!(
        found.text.contains("[orchard notes](https://site.example/dir/trees#3)"),
        "{}",
        found.text
    );
    assert!(found.text.contains("**pruned**"), "{}", found.text);
    for boilerplate in ["site menu", "site footer", "var x", "color: red"] {
        assert!(!found.text.contains(boilerplate), "{boilerplate}: {}", found.text);
    }
}

#[test]
fn a_whole_page_keeps_everything_but_its_code() {
    let found = extract(&article_page(8), &address(), true);
    assert_eq!(found.label, ExtractionLabel::RawHtml);
    for kept in ["site menu", "# Orchard notes", "site footer"] {
        assert!(found.text.contains(kept), "{kept}: {}", found.text);
    }
    for code in ["var x", "color: red"] {
        assert!(!found.text.contains(code), "{code}: {}", found.text);
    }
}

#[test]
fn a_table_survives_as_a_table() {
    let table = "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>";
    assert_eq!(extract(table, &address(), true).text, "| A | B |\n| - | - |\n| 1 | 2 |");
}

#[test]
fn a_page_without_an_article_to_speak_of_comes_whole() {
    for (page, text) in [
        ("<div>tiny note</div>", "tiny note"),
        ("<html></html>", ""),
        ("", ""),
        ("plain", "plain"),
    ] {
        let found = extract(page, &address(), false);
        assert_eq!(
            (found.label, found.text.as_str()),
            (ExtractionLabel::RawHtml, text),
            "{page}"
        );
    }
}

#[test]
fn the_threshold_counts_bytes_of_trimmed_markdown() {
    let page = |count: usize| format!("<article><p>{}</p></article>", "é".repeat(count));
    assert_eq!(
        extract(&page(50), &address(), false).label,
        ExtractionLabel::Readability
    );
    assert_eq!(extract(&page(49), &address(), false).label, ExtractionLabel::RawHtml);
}

#[test]
fn a_long_address_is_shortened_before_links_repeat_it() {
    let long = "a".repeat(600);
    for (address, base) in [
        (
            format!("https://site.example/dir/page?q={long}"),
            "https://site.example/dir/page",
        ),
        (format!("https://site.example/{long}"), "https://site.example/"),
    ] {
        assert_eq!(short_address(&Url::parse(&address).expect("a URL")).as_str(), base);
    }
    assert_eq!(short_address(&address()), address());
}

/// Small limits, so that a test reaches them with a small page.
fn small() -> Limits {
    Limits {
        nodes: 1000,
        text: 10_000,
        depth: 20,
        indents: 3,
        ..Limits::default()
    }
}

fn rendered(page: &str, limits: Limits) -> String {
    extract_within(page, &address(), true, limits).text
}

#[test]
fn tags_nested_too_deep_become_siblings_and_keep_their_text() {
    let page = format!("<div>{}</div>after", "<section><b>x".repeat(200));
    let text = rendered(&page, small());
    assert_eq!(text.matches('x').count(), 200);
    assert!(text.contains("after"), "{text}");
}

#[test]
fn lists_and_quotes_nested_too_deep_indent_no_further() {
    assert_eq!(
        rendered(&"<blockquote><p>a</p>".repeat(5), small()).lines().last(),
        Some("> > > a")
    );
    let list = rendered(&"<ul><li>a".repeat(6), small());
    assert!(list.lines().all(|line| line.len() < 20), "{list}");
    assert_eq!(list.matches('a').count(), 6);
}

#[test]
fn a_page_ends_with_the_node_or_the_text_that_reaches_a_limit() {
    let nodes = rendered(&"<i>ab</i> ".repeat(5000), small());
    assert!((200..600).contains(&nodes.matches("ab").count()), "{}", nodes.len());
    let text = rendered(&"abc ".repeat(10_000), small());
    assert!((10_000..20_000).contains(&text.len()), "{}", text.len());
}

#[test]
fn scripts_and_styles_do_not_count_as_text() {
    let page = format!(
        "<script>{0}</script><style>{0}</style><p>after</p>",
        "x ".repeat(20_000)
    );
    assert_eq!(rendered(&page, small()), "after");
}

#[test]
fn long_text_is_broken_up_without_a_trace() {
    let words = "word & ".repeat(20_000);
    let limits = Limits {
        text: 1_000_000,
        ..small()
    };
    assert_eq!(rendered(&format!("<p>{words}</p>"), limits), words.trim());
    let letters = "a&".repeat(60_000);
    assert_eq!(rendered(&letters, limits), letters);
    assert_eq!(
        rendered(&format!("<pre>{letters}</pre>"), limits),
        format!("```\n{letters}\n```")
    );
    let document = tree::parse(&format!("<table>{letters}</table>"), limits).expect("a shallow tree");
    let longest = document
        .root()
        .descendants_it()
        .filter(dom_query::NodeRef::is_text)
        .map(|node| node.text().len())
        .max();
    assert!(longest.is_some_and(|length| length <= 40_000), "{longest:?}");
}

#[test]
fn a_drawing_hides_no_text_after_it() {
    assert!(rendered("<svg><style/><script/></svg><p>after</p>", small()).ends_with("after"));
}

#[test]
fn formatting_that_is_opened_again_in_each_paragraph_stays_within_the_nodes() {
    let mut page = String::new();
    for index in 0..2000 {
        write!(page, "<b id={index}>").expect("into memory");
    }
    page.push_str(&"<p>x".repeat(100_000));
    let document = tree::parse(&page, small()).expect("a shallow tree");
    assert!(document.tree.len() < 10_000, "{}", document.tree.len());
}

#[test]
fn an_attribute_of_absurd_size_is_left_out() {
    let long = "a".repeat(3000);
    let text = rendered(
        &format!("<p>x <a href='/{long}'>y</a> <img alt=z src='/{long}'></p>"),
        small(),
    );
    assert!(text.starts_with("x y") || text.starts_with("x [y]"), "{text}");
    assert!(text.len() < 20, "{text}");
    let page = article_page(4).replace(
        "<style>",
        &format!("<base href='https://other.example/{long}/'><style>"),
    );
    assert!(
        extract(&page, &address(), false)
            .text
            .contains("](https://site.example/dir/trees#1)")
    );
}

#[test]
fn a_page_that_makes_the_parser_slow_is_stopped_by_the_clock() {
    let mut page = String::from("<p>first</p><a ");
    for index in 0..1_000_000 {
        write!(page, "a{index} ").expect("into memory");
    }
    let limits = Limits {
        time: Duration::from_millis(50),
        ..Limits::default()
    };
    assert_eq!(rendered(&page, limits), "first");
}

#[test]
fn hostile_shapes_end() {
    let limits = Limits {
        time: Duration::from_millis(500),
        ..Limits::default()
    };
    for page in [
        "<blockquote>".repeat(300) + "<pre>" + &"\n".repeat(200_000),
        "<table>".to_owned() + &"<b>x".repeat(20_000),
        "<ul><li><blockquote><table><tr><td>".repeat(2000),
        "<a><b><p></a></b>".repeat(20_000),
        "<b><p></b><i><div></i>".repeat(20_000),
        "<svg><math><mi><foreignObject>".repeat(5000),
        "<template>".repeat(5000),
        "<select><option>".repeat(20_000),
        "<plaintext>".repeat(1000),
        "<!--".repeat(10_000),
        "&".repeat(200_000),
        "*_`[]<p>".repeat(50_000),
        "\0".repeat(100_000),
    ] {
        for whole in [false, true] {
            extract_within(&page, &address(), whole, limits);
        }
    }
}

/// Pieces from which a page of any shape can be put together, well-formed or not.
const PIECES: [&str; 32] = [
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<b>",
    "</b>",
    "<a href='/x'>",
    "</a>",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "</td>",
    "<ul>",
    "<li>",
    "</ul>",
    "<ol start=9>",
    "<blockquote>",
    "</blockquote>",
    "<pre>",
    "</pre>",
    "<code>",
    "<br>",
    "<img src=a alt=b>",
    "<svg>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<template>",
    "text, and more ",
    "\n\u{a0}&lt;`|*",
];

proptest! {
    #[test]
    fn any_soup_of_tags_is_rendered(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..80)) {
        let page = pieces.concat();
        for whole in [false, true] {
            extract_within(&page, &address(), whole, small());
        }
    }
}
