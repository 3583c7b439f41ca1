//! An HTML page as Markdown (book: Readability extraction).

mod limits;
mod tree;

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use url::Url;

use limits::Limits;

/// The article Markdown that makes a page worth reducing to it, in bytes.
const ARTICLE_MINIMUM: usize = 100;

/// The longest address against which an article's links are resolved, in bytes: each link repeats it.
const ADDRESS_MAXIMUM: usize = 512;

/// How a page's text was produced. Its `Display` is the extraction label of the provenance header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtractionLabel {
    /// The main article of an HTML page.
    Readability,
    /// The whole HTML page.
    RawHtml,
    /// A resource that is not HTML, as it is.
    Plain,
}

impl std::fmt::Display for ExtractionLabel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Readability => "readability",
            Self::RawHtml => "raw-html",
            Self::Plain => "plain",
        })
    }
}

/// The text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    /// How it was produced.
    pub label: ExtractionLabel,
    /// The Markdown.
    pub text: String,
}

impl Extraction {
    /// A whole page of which nothing could be rendered.
    pub(crate) fn empty() -> Self {
        Self {
            label: ExtractionLabel::RawHtml,
            text: String::new(),
        }
    }
}

/// Renders a page: its main article, or with `whole`, or when it has no article to speak of, all of it.
///
/// `address` is the page's final URL, against which the article's links are resolved. It never fails: of a page that
/// is built to exhaust its reader, only the beginning is rendered.
pub fn extract(html: &str, address: &Url, whole: bool) -> Extraction {
    extract_within(html, address, whole, Limits::default())
}

fn extract_within(html: &str, address: &Url, whole: bool, limits: Limits) -> Extraction {
    let Some(document) = tree::parse(html, limits) else {
        return Extraction::empty();
    };
    if whole {
        return whole_page(&document);
    }
    // Finding the article takes the tree apart, so the whole page needs one of its own.
    let article = article(document.clone(), address);
    if article.trim().len() >= ARTICLE_MINIMUM {
        return Extraction {
            label: ExtractionLabel::Readability,
            text: article,
        };
    }
    whole_page(&document)
}

fn whole_page(document: &Document) -> Extraction {
    Extraction {
        label: ExtractionLabel::RawHtml,
        text: document.md(None).to_string(),
    }
}

/// The Markdown of the main article, empty when there is none.
fn article(document: Document, address: &Url) -> String {
    let config = Config {
        // Metadata is not returned, and what a page embeds as JSON is not looked at.
        disable_json_ld: true,
        text_mode: TextMode::Markdown,
        ..Config::default()
    };
    let address = short_address(address);
    Readability::with_document(document, Some(address.as_str()), Some(config))
        .and_then(|mut readability| readability.parse())
        .map(|article| article.text_content.to_string())
        .unwrap_or_default()
}

/// The address without what makes it long: the query string first, then the path.
fn short_address(address: &Url) -> Url {
    let mut short = address.clone();
    if short.as_str().len() > ADDRESS_MAXIMUM {
        short.set_query(None);
    }
    if short.as_str().len() > ADDRESS_MAXIMUM {
        short.set_path("/");
    }
    short
}

#[cfg(test)]
mod tests;
