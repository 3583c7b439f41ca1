//! How a URL is shown in a message (book: What fetch messages show).

use std::fmt;

use url::Url;

/// A URL reduced to its scheme, host, port and path: no credentials, query string or fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownUrl(String);

impl From<&Url> for ShownUrl {
    fn from(url: &Url) -> Self {
        let mut url = url.clone();
        url.set_query(None);
        url.set_fragment(None);
        // Both fail only for a URL that cannot hold credentials.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Self(url.into())
    }
}

impl fmt::Display for ShownUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_holds_no_secret() {
        for (text, shown) in [
            (
                "https://ann:pw@host.example:8443/a/b?x=secret#frag",
                "https://host.example:8443/a/b",
            ),
            ("https://host.example?token=1", "https://host.example/"),
            ("ftp://host.example/f", "ftp://host.example/f"),
            ("data:text/plain,hi?x#y", "data:text/plain,hi"),
        ] {
            assert_eq!(ShownUrl::from(&Url::parse(text).expect(text)).to_string(), shown);
        }
    }
}
