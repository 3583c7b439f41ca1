//! Every way in which a fetch fails (book: Every fetch failure message).

use http::StatusCode;
use runvil_pack::{ToolError, ToolErrorKind, ToolOutput};
use url::Url;

use crate::admission::Refusal;
use crate::policy::MAX_REDIRECTS;
use crate::shown::ShownUrl;

/// A fetch that returned no page. Its `Display` is the message that the book fixes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("web_fetch: missing url argument")]
    MissingUrl,
    #[error("web_fetch: max_chars must be a positive integer")]
    MaxChars,
    #[error("web_fetch: raw must be a boolean")]
    Raw,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("host {0} has no allowed address")]
    NoAllowedAddress(String),
    #[error("web_fetch: the fetch task did not finish")]
    Unfinished,
    #[error("dns resolution failed for {0}")]
    Lookup(String),
    #[error("request to {0} timed out; try again or use a different URL")]
    TimedOut(ShownUrl),
    #[error("{url} answered HTTP {}; try a different URL", status.as_u16())]
    Status { url: ShownUrl, status: StatusCode },
    #[error("redirect from {from} to {to} refused: {reason}")]
    Redirect {
        from: ShownUrl,
        to: ShownUrl,
        reason: HopRefusal,
    },
    #[error("response from {0} declared no content type; refusing to guess its format; try a different URL")]
    NoContentType(ShownUrl),
    #[error(
        "content type {content_type} from {url} cannot be returned as text; \
         try an HTML version of the page or a different URL"
    )]
    UnsupportedType { content_type: String, url: ShownUrl },
    #[error("response from {url} declared unknown charset {charset}; cannot decode its text")]
    UnknownCharset { url: ShownUrl, charset: String },
    #[error("response from {url} exceeds the {limit}-byte size cap")]
    TooLarge { url: ShownUrl, limit: usize },
    #[error("the response body from {0} could not be read; try again or use a different URL")]
    BrokenBody(ShownUrl),
    #[error("fetch failed for {0}: network error; try a different URL")]
    Network(Url),
}

/// Why a redirect hop is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HopRefusal {
    #[error("exceeded max redirects ({MAX_REDIRECTS})")]
    TooMany,
    #[error("refusing https to http downgrade")]
    Downgrade,
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Failure {
    /// What the call answers with: an error when the arguments or the address are at fault, else text for the model,
    /// which can try another URL.
    pub(super) fn into_answer(self) -> Result<ToolOutput, ToolError> {
        match self {
            Self::MissingUrl | Self::MaxChars | Self::Raw | Self::NoAllowedAddress(_) => {
                Err(ToolError::invalid_arguments(self.to_string()))
            }
            Self::Refused(ref refusal) if !matches!(refusal, Refusal::Scheme(_)) => {
                Err(ToolError::invalid_arguments(self.to_string()))
            }
            Self::Unfinished => Err(ToolError::new(ToolErrorKind::Other, self.to_string())),
            soft => Ok(ToolOutput::untrusted(soft.to_string())),
        }
    }
}
