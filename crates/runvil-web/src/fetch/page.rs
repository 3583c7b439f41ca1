//! From a response to the text that a call returns (book: Content types and charsets; Size caps, truncation, and time
//! limits).

use std::fmt;

use url::Url;

use super::arguments::FetchCall;
use super::failure::Failure;
use super::hops;
use crate::body::{self, Body, BodyFailure, OverCap};
use crate::charset;
use crate::content_type::{ContentType, Format, TypeRefusal};
use crate::extract::{Extraction, ExtractionLabel, extract};
use crate::policy::BYTE_CAP;
use crate::shown::ShownUrl;
use crate::transport::{HopResponse, HttpTransport};

/// A fetched page. Its `Display` is the provenance header, a blank line, and the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    url: Url,
    truncated: bool,
    label: ExtractionLabel,
    text: String,
}

impl fmt::Display for Page {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            url,
            truncated,
            label,
            text,
        } = self;
        write!(
            formatter,
            "url: {url}\ntruncated: {truncated}\nextraction: {label}\n\n{text}"
        )
    }
}

/// Fetches the page that a call asks for.
pub(super) async fn fetch(transport: &dyn HttpTransport, call: FetchCall) -> Result<Page, Failure> {
    let (url, response) = hops::follow(transport, &call.url).await?;
    if !response.status.is_success() {
        return Err(Failure::Status {
            url: ShownUrl::from(&url),
            status: response.status,
        });
    }
    let content_type = ContentType::of(&response.headers).map_err(|refusal| type_failure(refusal, &url))?;
    let body = read_body(response, content_type.format, &url).await?;
    let text =
        charset::decode(body.bytes, content_type.charset.as_deref()).map_err(|unknown| Failure::UnknownCharset {
            url: ShownUrl::from(&url),
            charset: unknown.0,
        })?;
    let extraction = match content_type.format {
        Format::Html => render(text, url.clone(), call.raw).await,
        Format::Data | Format::FlatText => Extraction {
            label: ExtractionLabel::Plain,
            text,
        },
    };
    let (text, shortened) = truncate(extraction.text, call.max_chars);
    Ok(Page {
        url,
        truncated: body.cut || shortened,
        label: extraction.label,
        text,
    })
}

fn type_failure(refusal: TypeRefusal, url: &Url) -> Failure {
    let url = ShownUrl::from(url);
    match refusal {
        TypeRefusal::Missing => Failure::NoContentType(url),
        TypeRefusal::Unsupported(content_type) => Failure::UnsupportedType { content_type, url },
    }
}

async fn read_body(response: HopResponse, format: Format, url: &Url) -> Result<Body, Failure> {
    let over = match format {
        Format::Html | Format::Data => OverCap::Refuse,
        Format::FlatText => OverCap::Cut,
    };
    body::read(response, BYTE_CAP, over)
        .await
        .map_err(|failure| match failure {
            BodyFailure::TooLarge => Failure::TooLarge {
                url: ShownUrl::from(url),
                limit: BYTE_CAP,
            },
            BodyFailure::Broken => Failure::BrokenBody(ShownUrl::from(url)),
        })
}

/// Renders a page on a blocking thread. Rendering never fails a fetch, not even when it panics.
async fn render(html: String, url: Url, raw: bool) -> Extraction {
    let rendering = tokio::task::spawn_blocking(move || extract(&html, &url, raw));
    rendering.await.unwrap_or_else(|panic| {
        tracing::warn!("rendering a page failed: {panic}");
        Extraction::empty()
    })
}

/// Cuts a text to its first `max_chars` characters, and says whether it was longer.
fn truncate(mut text: String, max_chars: usize) -> (String, bool) {
    match text.char_indices().nth(max_chars) {
        None => (text, false),
        Some((end, _)) => {
            text.truncate(end);
            (text, true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_a_character() {
        for (text, max, cut, shortened) in [
            ("abcde", 5, "abcde", false),
            ("abcdef", 5, "abcde", true),
            ("é漢🙂x", 3, "é漢🙂", true),
            ("é漢🙂", 3, "é漢🙂", false),
            ("", 1, "", false),
        ] {
            assert_eq!(truncate(text.to_owned(), max), (cut.to_owned(), shortened), "{text}");
        }
    }
}
