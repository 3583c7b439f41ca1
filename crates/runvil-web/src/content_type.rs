//! What a response's `Content-Type` says (book: Content types and charsets).

use data_url::mime::Mime;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// How a body is turned into text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Rendered to Markdown.
    Html,
    /// JSON or XML: returned whole or not at all.
    Data,
    /// Any other text: returned as far as it goes.
    FlatText,
}

/// An accepted content type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentType {
    pub(crate) format: Format,
    /// The declared charset label, as written.
    pub(crate) charset: Option<String>,
}

/// Why a response cannot be returned as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypeRefusal {
    /// There is no content type, or it holds a byte that is not ASCII.
    Missing,
    /// The type is none of the accepted ones, or the value is no MIME type. It is quoted verbatim.
    Unsupported(String),
}

impl ContentType {
    /// Reads the header.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, TypeRefusal> {
        let value = headers.get(CONTENT_TYPE).ok_or(TypeRefusal::Missing)?;
        let value = value.to_str().map_err(|_| TypeRefusal::Missing)?;
        let unsupported = || TypeRefusal::Unsupported(value.to_owned());
        let mime: Mime = value.parse().map_err(|_| unsupported())?;
        let format = format_of(&mime).ok_or_else(unsupported)?;
        let charset = mime.get_parameter("charset").map(str::to_owned);
        Ok(Self { format, charset })
    }
}

fn format_of(mime: &Mime) -> Option<Format> {
    if mime.matches("text", "html") || mime.matches("application", "xhtml+xml") {
        return Some(Format::Html);
    }
    match mime.type_.as_str() {
        "text" | "application" if is_data(&mime.subtype) => Some(Format::Data),
        "text" => Some(Format::FlatText),
        _ => None,
    }
}

fn is_data(subtype: &str) -> bool {
    let format = subtype.rsplit_once('+').map_or(subtype, |(_, suffix)| suffix);
    matches!(format, "json" | "xml")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(value: &[u8]) -> Result<ContentType, TypeRefusal> {
        let value = HeaderValue::from_bytes(value).expect("a header value");
        ContentType::of(&HeaderMap::from_iter([(CONTENT_TYPE, value)]))
    }

    #[test]
    fn each_type_takes_its_path() {
        for (value, format) in [
            ("text/html", Format::Html),
            ("Text/HTML; Charset=x", Format::Html),
            ("application/xhtml+xml", Format::Html),
            ("application/json", Format::Data),
            ("application/xml", Format::Data),
            ("application/ld+json", Format::Data),
            ("application/atom+xml", Format::Data),
            ("text/xml", Format::Data),
            ("text/json", Format::Data),
            ("text/x+json", Format::Data),
            ("text/plain", Format::FlatText),
            ("text/markdown", Format::FlatText),
            ("text/csv; header=present", Format::FlatText),
            ("text/plain;", Format::FlatText),
        ] {
            assert_eq!(of(value.as_bytes()).expect(value).format, format, "{value}");
        }
    }

    #[test]
    fn every_other_type_is_quoted_verbatim() {
        for value in [
            "application/pdf",
            "application/octet-stream",
            "application/javascript",
            "image/svg+xml",
            "audio/mpeg",
            "IMAGE/PNG; x=1",
            "garbage",
            "text",
            "",
        ] {
            assert_eq!(of(value.as_bytes()), Err(TypeRefusal::Unsupported(value.to_owned())));
        }
    }

    #[test]
    fn a_missing_type_is_never_guessed() {
        assert_eq!(ContentType::of(&HeaderMap::new()), Err(TypeRefusal::Missing));
        assert_eq!(of("text/plain; name=é".as_bytes()), Err(TypeRefusal::Missing));
    }

    #[test]
    fn the_charset_comes_as_written() {
        let charset = |value: &str| of(value.as_bytes()).expect(value).charset;
        assert_eq!(charset("text/plain; charset=X-Nope").as_deref(), Some("X-Nope"));
        assert_eq!(charset("text/plain;charset=\"utf-8\"").as_deref(), Some("utf-8"));
        assert_eq!(charset("text/plain"), None);
    }
}
