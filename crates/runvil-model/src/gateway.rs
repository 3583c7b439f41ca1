//! The settings of the gateway that a Host reaches models through (book: Gateway environment variables).

use std::{ffi::OsString, fmt, str::FromStr};

use reqwest::header::HeaderValue;
use url::{Host, Url};

/// The variable that names the API root.
pub const GATEWAY_URL: &str = "RUNVIL_GATEWAY_URL";

/// The variable that holds the API key.
pub const GATEWAY_API_KEY: &str = "RUNVIL_GATEWAY_API_KEY";

/// Why no gateway can be set up. No message repeats the URL or the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewaySetupError {
    /// A required variable is unset, or a required key is empty.
    #[error("missing environment variable: {name}")]
    Missing {
        /// The variable's name.
        name: &'static str,
    },
    /// A variable that is not text.
    #[error("environment variable is set but not valid Unicode: {name}")]
    NotUnicode {
        /// The variable's name.
        name: &'static str,
    },
    /// A URL that cannot be an API root.
    #[error(transparent)]
    Url(#[from] InvalidApiRoot),
    /// A key that no header can carry.
    #[error(transparent)]
    Key(#[from] InvalidApiKey),
}

/// The rule of API roots that a URL breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidApiRoot {
    /// It does not parse, or has no scheme.
    #[error("gateway URL must be an absolute URL")]
    NotAbsolute,
    /// Another scheme.
    #[error("gateway URL must use the http or https scheme")]
    Scheme,
    /// No host.
    #[error("gateway URL must have a host")]
    NoHost,
    /// A user name or a password.
    #[error("gateway URL must not contain credentials")]
    Credentials,
    /// A query, an empty one included.
    #[error("gateway URL must not contain a query")]
    Query,
    /// A fragment, an empty one included.
    #[error("gateway URL must not contain a fragment")]
    Fragment,
}

/// A key that a header cannot carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("gateway API key must not contain a line break or another control character")]
pub struct InvalidApiKey;

/// How to reach a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Where it is.
    pub root: ApiRoot,
    /// The key that it asks for. A loopback gateway may do without; a key that is set is sent to it too.
    pub api_key: Option<ApiKey>,
}

impl Gateway {
    /// Reads the gateway variables through `lookup`, such as `|name| std::env::var_os(name)`.
    ///
    /// # Errors
    /// The first variable that is missing, not Unicode or not usable: the URL before the key.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, GatewaySetupError> {
        let text = |name: &'static str| match lookup(name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(_)) => Err(GatewaySetupError::NotUnicode { name }),
        };
        let url = text(GATEWAY_URL)?.ok_or(GatewaySetupError::Missing { name: GATEWAY_URL })?;
        let root: ApiRoot = url.parse()?;
        let api_key = match text(GATEWAY_API_KEY)?.filter(|key| !key.is_empty()) {
            Some(key) => Some(key.parse()?),
            None if root.is_loopback() => None,
            None => {
                return Err(GatewaySetupError::Missing { name: GATEWAY_API_KEY });
            }
        };
        Ok(Self { root, api_key })
    }
}

/// The base URL that every call is sent under, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRoot(Url);

impl ApiRoot {
    /// The URL of an endpoint below the root.
    #[must_use]
    pub(crate) fn endpoint(&self, path: &str) -> String {
        format!("{self}/{path}")
    }

    /// The host as the URL writes it, in lower case.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The port, where it is not the scheme's own.
    pub(crate) fn port(&self) -> Option<u16> {
        self.0.port()
    }

    /// Whether calls go over TLS.
    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the host is `localhost`, an address in `127.0.0.0/8`, or `::1`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Domain(domain)) => domain.eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }
}

impl FromStr for ApiRoot {
    type Err = InvalidApiRoot;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).map_err(|error| match error {
            url::ParseError::EmptyHost => InvalidApiRoot::NoHost,
            _ => InvalidApiRoot::NotAbsolute,
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidApiRoot::Scheme);
        }
        if !url.has_host() {
            return Err(InvalidApiRoot::NoHost);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidApiRoot::Credentials);
        }
        if url.query().is_some() {
            return Err(InvalidApiRoot::Query);
        }
        if url.fragment().is_some() {
            return Err(InvalidApiRoot::Fragment);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ApiRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.0.as_str();
        f.write_str(url.strip_suffix('/').unwrap_or(url))
    }
}

/// A secret that calls are sent with. Its debug form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// The value of the authorization header, marked as sensitive.
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl FromStr for ApiKey {
    type Err = InvalidApiKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut header = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| InvalidApiKey)?;
        header.set_sensitive(true);
        Ok(Self(header))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(url: Option<&str>, key: Option<&str>) -> Result<Gateway, String> {
        Gateway::from_lookup(|name| match name {
            GATEWAY_URL => url.map(OsString::from),
            GATEWAY_API_KEY => key.map(OsString::from),
            _ => None,
        })
        .map_err(|error| error.to_string())
    }

    fn refusal(url: &str) -> String {
        gateway(Some(url), Some("k")).expect_err(url)
    }

    #[test]
    fn the_url_is_required_before_the_key() {
        assert_eq!(
            gateway(None, None),
            Err("missing environment variable: RUNVIL_GATEWAY_URL".to_owned())
        );
        let missing_key = Err("missing environment variable: RUNVIL_GATEWAY_API_KEY".to_owned());
        assert_eq!(gateway(Some("https://gate.example/v1"), None), missing_key);
        assert_eq!(gateway(Some("https://gate.example/v1"), Some("")), missing_key);
    }

    #[test]
    fn a_loopback_host_needs_no_key_and_only_such_a_host() {
        for url in [
            "http://127.0.0.1:8081/v1",
            "http://127.0.0.2:8081/v1",
            "http://127.255.255.255/",
            "http://[::1]:8081/v1",
            "http://LOCALHOST:8081/v1",
            "https://localhost",
        ] {
            let gateway = gateway(Some(url), Some("")).expect(url);
            assert_eq!(gateway.api_key, None);
        }
        for url in [
            "http://localhost.evil.com:8081/v1",
            "http://localhost.:8081/v1",
            "http://128.0.0.1/v1",
            "http://[::2]/v1",
            "http://[::ffff:127.0.0.1]/v1",
            "http://0.0.0.0/v1",
        ] {
            assert_eq!(
                gateway(Some(url), None).expect_err(url),
                "missing environment variable: RUNVIL_GATEWAY_API_KEY"
            );
        }
    }

    #[test]
    fn a_key_that_is_set_is_kept_for_a_loopback_host_and_never_printed() {
        let gateway = gateway(Some("http://localhost:1"), Some("secret-key")).expect("a gateway");
        let key = gateway.api_key.as_ref().expect("the key is kept");
        assert_eq!(key.header().as_bytes(), b"Bearer secret-key");
        assert!(!format!("{gateway:?} {:?}", key.header()).contains("secret"));
    }

    #[test]
    fn one_trailing_slash_is_dropped() {
        let root = |url: &str| url.parse::<ApiRoot>().expect(url).endpoint("chat/completions");
        assert_eq!(root("http://host:8080/v1/"), "http://host:8080/v1/chat/completions");
        assert_eq!(root("http://host:8080/v1"), "http://host:8080/v1/chat/completions");
        assert_eq!(root("http://host:8080"), "http://host:8080/chat/completions");
    }

    #[test]
    fn a_broken_rule_is_named_and_the_url_never_repeated() {
        let scheme = "gateway URL must use the http or https scheme";
        for url in ["ftp://secret.example/", "localhost:8081/v1", "file:///secret"] {
            assert_eq!(refusal(url), scheme);
        }
        for url in [
            "",
            "/v1",
            "secret.example/v1",
            "//secret.example",
            "http://[secret",
            "http://secret:port/",
        ] {
            assert_eq!(refusal(url), "gateway URL must be an absolute URL");
        }
        assert_eq!(refusal("http://"), "gateway URL must have a host");
        for url in [
            "http://secret@host/v1",
            "http://user:pass@host/v1",
            "http://:pass@host/v1",
        ] {
            assert_eq!(refusal(url), "gateway URL must not contain credentials");
        }
        for url in ["http://host/v1?secret=1", "http://host/v1?"] {
            assert_eq!(refusal(url), "gateway URL must not contain a query");
        }
        for url in ["http://host/v1#secret", "http://host/v1#"] {
            assert_eq!(refusal(url), "gateway URL must not contain a fragment");
        }
    }

    #[test]
    fn a_key_that_no_header_carries_is_refused() {
        for key in ["line\n", "nul\0", "\u{7f}"] {
            assert_eq!(
                gateway(Some("http://localhost"), Some(key)),
                Err(InvalidApiKey.to_string()),
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_not_text_is_named() {
        use std::os::unix::ffi::OsStringExt;

        let broken = || Some(OsString::from_vec(vec![b'h', 0xff]));
        let url = Gateway::from_lookup(|name| (name == GATEWAY_URL).then(broken).flatten());
        assert_eq!(
            url.map_err(|error| error.to_string()),
            Err("environment variable is set but not valid Unicode: RUNVIL_GATEWAY_URL".to_owned())
        );
        let key = Gateway::from_lookup(|name| match name {
            GATEWAY_URL => Some("http://localhost".into()),
            _ => broken(),
        });
        assert_eq!(
            key.map_err(|error| error.to_string()),
            Err("environment variable is set but not valid Unicode: RUNVIL_GATEWAY_API_KEY".to_owned())
        );
    }
}
