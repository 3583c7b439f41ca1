//! The URL admission check (book: URL admission rules).

use std::net::IpAddr;

use url::{Host, Url};

use crate::policy::{PORTS, SCHEME};

/// The rule that a URL breaks. Its `Display` is the message that the book fixes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("invalid url")]
    Unparseable,
    #[error("scheme not allowed: {0}")]
    Scheme(String),
    #[error("url must not contain userinfo")]
    Userinfo,
    #[error("port not allowed: {0}")]
    Port(u16),
    #[error("ip literal host not allowed: {0}")]
    IpLiteral(IpAddr),
}

/// Parses a call's `url` argument and admits it. The fragment, which no server ever sees, is dropped.
pub(crate) fn admit_text(text: &str) -> Result<Url, Refusal> {
    let mut url = Url::parse(text).map_err(|_| Refusal::Unparseable)?;
    admit(&url)?;
    url.set_fragment(None);
    Ok(url)
}

/// Admits a URL that parses, reporting only the first rule that it breaks.
pub(crate) fn admit(url: &Url) -> Result<(), Refusal> {
    if url.scheme() != SCHEME {
        return Err(Refusal::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::Userinfo);
    }
    let port = url.port_or_known_default().ok_or(Refusal::Unparseable)?;
    if !PORTS.contains(&port) {
        return Err(Refusal::Port(port));
    }
    match url.host() {
        Some(Host::Domain(_)) => Ok(()),
        Some(Host::Ipv4(address)) => Err(Refusal::IpLiteral(address.into())),
        Some(Host::Ipv6(address)) => Err(Refusal::IpLiteral(address.into())),
        None => Err(Refusal::Unparseable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        match admit_text(text) {
            Ok(url) => format!("admitted {url}"),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn a_url_that_breaks_one_rule_gets_its_message() {
        for (text, message) in [
            ("not a url", "invalid url"),
            ("", "invalid url"),
            ("/path/only", "invalid url"),
            ("https://", "invalid url"),
            ("//site.example/", "invalid url"),
            ("https://site.example:99999/", "invalid url"),
            ("http://site.example/", "scheme not allowed: http"),
            ("HTTP://site.example/", "scheme not allowed: http"),
            ("ftp://site.example/", "scheme not allowed: ftp"),
            ("file:///etc/passwd", "scheme not allowed: file"),
            ("data:text/plain,hi", "scheme not allowed: data"),
            ("javascript:alert(1)", "scheme not allowed: javascript"),
            ("https://ann:pw@site.example/", "url must not contain userinfo"),
            ("https://ann@site.example/", "url must not contain userinfo"),
            ("https://:pw@site.example/", "url must not contain userinfo"),
            ("https://site.example@other.example/", "url must not contain userinfo"),
            ("https://site.example:8080/", "port not allowed: 8080"),
            ("https://site.example:0/", "port not allowed: 0"),
            ("https://93.184.216.34/", "ip literal host not allowed: 93.184.216.34"),
        ] {
            assert_eq!(refusal(text), message, "{text}");
        }
    }

    #[test]
    fn an_ip_literal_is_seen_through_every_notation() {
        for (host, address) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("0x7f.0.0.1", "127.0.0.1"),
            ("0x7F000001", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("127.0.1", "127.0.0.1"),
            ("0", "0.0.0.0"),
            ("%31%32%37.0.0.1", "127.0.0.1"),
            // Digits and dots of other scripts that IDNA maps to ASCII.
            ("①②⑦.⓪.⓪.①", "127.0.0.1"),
            ("１２７。０。０。１", "127.0.0.1"),
            ("[::1]", "::1"),
            ("[0:0:0:0:0:0:0:1]", "::1"),
            ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
            ("[::127.0.0.1]", "::7f00:1"),
            ("[64:ff9b::127.0.0.1]", "64:ff9b::7f00:1"),
            ("[2606:4700:4700::1111]", "2606:4700:4700::1111"),
        ] {
            assert_eq!(
                refusal(&format!("https://{host}/")),
                format!("ip literal host not allowed: {address}"),
                "{host}"
            );
        }
    }

    #[test]
    fn the_first_broken_rule_is_reported() {
        for (text, message) in [
            ("http://ann@127.0.0.1:8080/", "scheme not allowed: http"),
            ("https://ann@127.0.0.1:8080/", "url must not contain userinfo"),
            ("https://127.0.0.1:8080/", "port not allowed: 8080"),
        ] {
            assert_eq!(refusal(text), message);
        }
    }

    #[test]
    fn an_admitted_url_keeps_its_query_and_loses_its_fragment() {
        for (text, url) in [
            (
                "https://site.example/p?q=1&r=a%20b#frag",
                "https://site.example/p?q=1&r=a%20b",
            ),
            ("https://site.example:80/", "https://site.example:80/"),
            ("https://site.example:443", "https://site.example/"),
            ("https://LOCALHOST./", "https://localhost./"),
            ("https://xn--exmple-cua.example/", "https://xn--exmple-cua.example/"),
        ] {
            assert_eq!(admit_text(text).expect(text).as_str(), url);
        }
    }
}
