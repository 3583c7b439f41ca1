//! Requests and redirects (book: Following redirects).

use http::header::{ACCEPT_ENCODING, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, StatusCode};
use url::Url;

use super::failure::{Failure, HopRefusal};
use crate::admission;
use crate::policy::{self, MAX_REDIRECTS};
use crate::shown::ShownUrl;
use crate::transport::{HopError, HopRequest, HopResponse, HttpTransport};

/// Requests `url` and follows its redirects. Returns the final URL with its response, whatever its status.
pub(super) async fn follow(transport: &dyn HttpTransport, url: &Url) -> Result<(Url, HopResponse), Failure> {
    let mut current = url.clone();
    let mut followed = 0;
    loop {
        let request = HopRequest {
            url: current.clone(),
            headers: headers(),
        };
        let response = transport
            .send(request)
            .await
            .map_err(|error| hop_failure(&error, url, &current))?;
        let Some(target) = redirect_target(&current, &response) else {
            return Ok((current, response));
        };
        check_hop(followed, &current, &target).map_err(|reason| Failure::Redirect {
            from: ShownUrl::from(&current),
            to: ShownUrl::from(&target),
            reason,
        })?;
        followed += 1;
        current = target;
    }
}

/// Everything that a request says about its sender.
fn headers() -> HeaderMap {
    HeaderMap::from_iter([
        (USER_AGENT, HeaderValue::from_static(policy::USER_AGENT)),
        (ACCEPT_ENCODING, HeaderValue::from_static("gzip, br")),
    ])
}

fn hop_failure(error: &HopError, requested: &Url, current: &Url) -> Failure {
    // The cause, which no message repeats, is for whoever runs the Host.
    tracing::debug!("the request to {} failed: {error:?}", ShownUrl::from(current));
    let host = || current.host_str().unwrap_or_default().to_owned();
    match error {
        HopError::Lookup(_) => Failure::Lookup(host()),
        HopError::NoAllowedAddress => Failure::NoAllowedAddress(host()),
        HopError::TimedOut => Failure::TimedOut(ShownUrl::from(requested)),
        HopError::Network(_) => Failure::Network(requested.clone()),
    }
}

/// Where a response redirects to, without the fragment. A redirect without a usable target is an ordinary response.
fn redirect_target(base: &Url, response: &HopResponse) -> Option<Url> {
    if !matches!(
        response.status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    ) {
        return None;
    }
    let location = response.headers.get(LOCATION)?;
    let location = std::str::from_utf8(location.as_bytes()).ok()?;
    let mut target = base.join(location).ok()?;
    target.set_fragment(None);
    Some(target)
}

/// The three redirect rules, in order.
fn check_hop(followed: usize, from: &Url, to: &Url) -> Result<(), HopRefusal> {
    if followed >= MAX_REDIRECTS {
        return Err(HopRefusal::TooMany);
    }
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(HopRefusal::Downgrade);
    }
    Ok(admission::admit(to)?)
}
