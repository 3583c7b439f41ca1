//! A response body, received under the response cap and the receive timeout.

use std::{error::Error, future::Future};

use reqwest::Response;
use runvil_engine::{CompletionError, CompletionErrorKind};
use tokio::time::timeout;

use crate::{Malformed, RoundLimits};

/// In which words the response cap is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// The body of a successful reply.
    Reply,
    /// The body of an error reply, or any other that is read whole.
    Whole,
}

/// A body on its way in. Bytes past the cap are refused before anyone sees them.
pub(crate) struct Incoming {
    response: Response,
    limits: RoundLimits,
    kind: BodyKind,
    received: u64,
}

impl Incoming {
    /// The body of a response, unless its announced length is over the cap.
    pub(crate) fn new(response: Response, limits: RoundLimits, kind: BodyKind) -> Result<Self, Malformed> {
        let cap = limits.max_response_bytes;
        match (response.content_length(), kind) {
            (Some(len), BodyKind::Reply) if len > cap => Err(Malformed::StreamTooLong { max_bytes: cap }),
            (Some(len), BodyKind::Whole) if len > cap => Err(Malformed::AnnouncedTooLong { len, cap }),
            _ => Ok(Self {
                response,
                limits,
                kind,
                received: 0,
            }),
        }
    }

    /// The next bytes, or `None` at the end of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, CompletionError> {
        let chunk = within(self.limits, self.response.chunk()).await?;
        if let Some(chunk) = &chunk {
            self.received += chunk.len() as u64;
            let cap = self.limits.max_response_bytes;
            match self.kind {
                _ if self.received <= cap => {}
                BodyKind::Reply => return Err(Malformed::StreamTooLong { max_bytes: cap }.into()),
                BodyKind::Whole => return Err(Malformed::BodyTooLong { cap }.into()),
            }
        }
        Ok(chunk)
    }

    /// The whole body.
    pub(crate) async fn whole(mut self) -> Result<Vec<u8>, CompletionError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.next().await? {
            body.extend_from_slice(chunk.as_ref());
        }
        Ok(body)
    }
}

/// Waits for the next part of a reply, for the receive timeout at most.
pub(crate) async fn within<T>(
    limits: RoundLimits,
    part: impl Future<Output = reqwest::Result<T>>,
) -> Result<T, CompletionError> {
    match timeout(limits.receive_timeout, part).await {
        Ok(Ok(part)) => Ok(part),
        Ok(Err(error)) => {
            tracing::debug!(error = %chain(&error.without_url()), "the connection to the model backend failed");
            Err(CompletionError::new(CompletionErrorKind::Transport))
        }
        Err(_) => Err(CompletionError::new(CompletionErrorKind::Timeout)),
    }
}

/// An error with its causes, for the log.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
