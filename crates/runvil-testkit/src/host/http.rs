//! A web that answers from the case.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

use runvil_pack::async_trait;
use runvil_web::{AddressPolicy, Bytes, HeaderMap, HopError, HopRequest, HopResponse, HttpTransport, StatusCode, Url};

use crate::case::{HostSpec, HttpAnswer};

/// Serves each URL of the case, and nothing else.
pub(crate) struct ScriptedWeb {
    pages: BTreeMap<String, HttpAnswer>,
    lookups: BTreeMap<String, Vec<IpAddr>>,
}

impl ScriptedWeb {
    pub(crate) fn new(host: &HostSpec) -> Self {
        // A URL is looked up in its parsed form, so the case may leave out a trailing slash or spell a host in capitals.
        let key = |url: &String| Url::parse(url).map_or_else(|_| url.clone(), |url| url.to_string());
        let pages = host
            .http
            .iter()
            .map(|(url, answer)| (key(url), answer.clone()))
            .collect();
        Self {
            pages,
            lookups: host.lookups.clone(),
        }
    }

    fn serve(&self, url: &Url) -> Result<HopResponse, HopError> {
        let unreachable = || HopError::Network("the case scripts nothing at this address".into());
        let answer = self.pages.get(url.as_str()).ok_or_else(unreachable)?;
        if let Some(message) = &answer.fails {
            return Err(HopError::Network(message.as_str().into()));
        }
        respond(answer).map_err(|message| HopError::Network(message.into()))
    }

    /// Refuses a host whose scripted addresses are all blocked, as the real transport does when it connects.
    fn look_up(&self, url: &Url) -> Result<(), HopError> {
        let Some(addresses) = url.host_str().and_then(|host| self.lookups.get(host)) else {
            return Ok(());
        };
        let found: Vec<_> = addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect();
        match AddressPolicy::global_only().allowed(url.host_str().unwrap_or_default(), found) {
            allowed if allowed.is_empty() => Err(HopError::NoAllowedAddress),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl HttpTransport for ScriptedWeb {
    async fn send(&self, request: HopRequest) -> Result<HopResponse, HopError> {
        self.look_up(&request.url)?;
        self.serve(&request.url)
    }
}

fn respond(answer: &HttpAnswer) -> Result<HopResponse, String> {
    let body = answer.body()?;
    let by_default = if answer.redirect.is_some() { 302 } else { 200 };
    let status = StatusCode::from_u16(answer.status.unwrap_or(by_default)).map_err(|error| error.to_string())?;
    let mut headers = HeaderMap::new();
    let given = match &answer.headers {
        Some(given) => given.clone(),
        None => BTreeMap::from([("content-type".to_owned(), "text/html; charset=utf-8".to_owned())]),
    };
    for (name, value) in given {
        let name = name.parse::<http::HeaderName>().map_err(|error| error.to_string())?;
        headers.append(name, value.parse().map_err(|_| "a scripted header value is malformed")?);
    }
    if let Some(target) = &answer.redirect {
        let target = target.parse().map_err(|_| "a scripted redirect is malformed")?;
        headers.insert(http::header::LOCATION, target);
    }
    Ok(HopResponse {
        status,
        headers,
        body: Box::new(Bytes::from(body)),
    })
}
