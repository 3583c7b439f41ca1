//! Reading a response body within the byte cap (book: Bodies over the byte cap).

mod decoder;

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};

use crate::transport::{HopResponse, HttpBody};
use decoder::Decoder;

/// What becomes of a body over the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverCap {
    /// It is refused whole.
    Refuse,
    /// It is read up to the cap.
    Cut,
}

/// A body within the cap.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Body {
    /// The bytes after decompression.
    pub(crate) bytes: Vec<u8>,
    /// Whether there was more than the cap.
    pub(crate) cut: bool,
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFailure {
    /// It is over the cap.
    TooLarge,
    /// It broke off, or is not what its headers declare.
    Broken,
}

/// Reads the body of `response`, at most `cap` bytes of it after decompression.
pub(crate) async fn read(response: HopResponse, cap: usize, over: OverCap) -> Result<Body, BodyFailure> {
    let declared = declared_length(&response.headers);
    if over == OverCap::Refuse && declared.is_some_and(|length| length > cap as u64) {
        return Err(BodyFailure::TooLarge);
    }
    let mut decoder = Decoder::new(&content_encoding(&response.headers), cap).ok_or(BodyFailure::Broken)?;
    let received = receive(response.body, &mut decoder).await?;
    let complete = decoder.finish();
    if decoder.is_full() {
        return match over {
            OverCap::Refuse => Err(BodyFailure::TooLarge),
            OverCap::Cut => Ok(Body {
                bytes: decoder.into_bytes(),
                cut: true,
            }),
        };
    }
    if !complete || declared.is_some_and(|length| received < length) {
        return Err(BodyFailure::Broken);
    }
    Ok(Body {
        bytes: decoder.into_bytes(),
        cut: false,
    })
}

/// Feeds the decoder until the body ends or the cap is passed, and returns how many bytes came, as sent.
async fn receive(mut body: Box<dyn HttpBody>, decoder: &mut Decoder) -> Result<u64, BodyFailure> {
    let mut received = 0;
    while let Some(bytes) = body.chunk().await.map_err(|_| BodyFailure::Broken)? {
        received += bytes.len() as u64;
        decoder.write(&bytes).map_err(|_| BodyFailure::Broken)?;
        if decoder.is_full() {
            break;
        }
    }
    Ok(received)
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

fn content_encoding(headers: &HeaderMap) -> String {
    let values: Vec<_> = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .map(|value| value.to_str().unwrap_or("?"))
        .collect();
    values.join(",").trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
