use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::*;
use crate::transport::BodyError;

/// A body of scripted chunks; `None` is where it breaks off.
struct Chunks(Vec<Option<&'static [u8]>>);

#[async_trait::async_trait]
impl HttpBody for Chunks {
    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        match self.0.remove(0) {
            Some(bytes) => Ok(Some(Bytes::from_static(bytes))),
            None => Err(BodyError("socket reset".into())),
        }
    }
}

fn response(headers: &[(&'static str, &str)], body: impl HttpBody + 'static) -> HopResponse {
    let headers = headers.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_str(value).expect("a header value"),
        )
    });
    HopResponse {
        status: StatusCode::OK,
        headers: HeaderMap::from_iter(headers),
        body: Box::new(body),
    }
}

fn read_now(
    headers: &[(&'static str, &str)],
    body: impl HttpBody + 'static,
    over: OverCap,
) -> Result<Body, BodyFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(read(response(headers, body), 8, over))
}

fn whole(text: &str) -> Result<Body, BodyFailure> {
    Ok(Body {
        bytes: text.as_bytes().to_vec(),
        cut: false,
    })
}

fn gzip(text: &str) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("into memory");
    encoder.finish().expect("into memory").into()
}

#[test]
fn a_body_of_exactly_the_cap_is_accepted() {
    for over in [OverCap::Refuse, OverCap::Cut] {
        assert_eq!(
            read_now(&[], Chunks(vec![Some(b"1234"), Some(b"5678")]), over),
            whole("12345678")
        );
    }
}

#[test]
fn a_body_over_the_cap_is_refused_or_cut() {
    let nine = || Chunks(vec![Some(b"1234"), Some(b"56789"), None]);
    assert_eq!(read_now(&[], nine(), OverCap::Refuse), Err(BodyFailure::TooLarge));
    assert_eq!(
        read_now(&[], nine(), OverCap::Cut),
        Ok(Body {
            bytes: b"12345678".to_vec(),
            cut: true
        })
    );
}

#[test]
fn a_declared_length_over_the_cap_is_refused_before_the_body() {
    let headers = [("content-length", "9")];
    assert_eq!(
        read_now(&headers, Chunks(vec![None]), OverCap::Refuse),
        Err(BodyFailure::TooLarge)
    );
    assert_eq!(
        read_now(&headers, Chunks(vec![Some(b"123456789")]), OverCap::Cut),
        Ok(Body {
            bytes: b"12345678".to_vec(),
            cut: true
        })
    );
}

#[test]
fn a_body_that_breaks_off_or_is_shorter_than_declared_is_broken() {
    for over in [OverCap::Refuse, OverCap::Cut] {
        assert_eq!(
            read_now(&[], Chunks(vec![Some(b"12"), None]), over),
            Err(BodyFailure::Broken)
        );
        let headers = [("content-length", "8")];
        assert_eq!(
            read_now(&headers, Chunks(vec![Some(b"1234567")]), over),
            Err(BodyFailure::Broken)
        );
    }
}

#[test]
fn a_length_that_is_no_number_declares_nothing() {
    assert_eq!(
        read_now(
            &[("content-length", "many")],
            Chunks(vec![Some(b"12")]),
            OverCap::Refuse
        ),
        whole("12")
    );
}

#[test]
fn gzip_and_brotli_are_undone_and_measured_by_their_expanded_size() {
    let mut brotli = Vec::new();
    brotli::BrotliCompress(&mut "aaaaaaaa".as_bytes(), &mut brotli, &Default::default()).expect("into memory");
    for (encoding, bytes) in [
        ("gzip", gzip("aaaaaaaa")),
        ("X-GZip", gzip("aaaaaaaa")),
        ("br", brotli.into()),
    ] {
        assert_eq!(
            read_now(&[("content-encoding", encoding)], bytes, OverCap::Refuse),
            whole("aaaaaaaa"),
            "{encoding}"
        );
    }
    let nine = gzip("aaaaaaaaa");
    assert_eq!(
        read_now(&[("content-encoding", "gzip")], nine.clone(), OverCap::Refuse),
        Err(BodyFailure::TooLarge)
    );
    assert_eq!(
        read_now(&[("content-encoding", "gzip")], nine, OverCap::Cut),
        Ok(Body {
            bytes: b"aaaaaaaa".to_vec(),
            cut: true
        })
    );
}

#[test]
fn a_compressed_body_that_is_cut_short_or_corrupt_is_broken() {
    let short = gzip("abc").split_to(15);
    let mut corrupt = gzip("abc").to_vec();
    corrupt[12] ^= 0xff;
    for bytes in [short, corrupt.into(), Bytes::from_static(b"no gzip")] {
        assert_eq!(
            read_now(&[("content-encoding", "gzip")], bytes, OverCap::Refuse),
            Err(BodyFailure::Broken)
        );
    }
    assert_eq!(
        read_now(
            &[("content-encoding", "br")],
            Bytes::from_static(b"\x8b"),
            OverCap::Refuse
        ),
        Err(BodyFailure::Broken)
    );
}

#[test]
fn an_encoding_that_was_not_asked_for_is_broken() {
    for encoding in ["zstd", "deflate", "gzip, br", "x"] {
        assert_eq!(
            read_now(
                &[("content-encoding", encoding)],
                Chunks(vec![Some(b"12")]),
                OverCap::Cut
            ),
            Err(BodyFailure::Broken),
            "{encoding}"
        );
    }
    assert_eq!(
        read_now(
            &[("content-encoding", "identity")],
            Chunks(vec![Some(b"12")]),
            OverCap::Cut
        ),
        whole("12")
    );
}

/// A body that never ends.
struct Endless(Bytes);

#[async_trait::async_trait]
impl HttpBody for Endless {
    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        Ok(Some(self.0.clone()))
    }
}

#[test]
fn reading_holds_the_cap_and_little_more() {
    const CAP: usize = 4 << 20;
    const REST: u64 = 256 * 1024;

    let bomb = gzip(&"x".repeat(64 << 20));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let most = |headers: &[(&'static str, &str)], chunk: &Bytes| {
        let response = response(headers, Endless(chunk.clone()));
        let mut body = None;
        let held = allocation_counter::measure(|| body = Some(runtime.block_on(read(response, CAP, OverCap::Cut))));
        let read = body.and_then(Result::ok).map(|body| (body.bytes.len(), body.cut));
        assert_eq!(read, Some((CAP, true)));
        held.bytes_max
    };
    for held in [
        most(&[], &Bytes::from(vec![b'x'; 65_536])),
        most(&[("content-encoding", "gzip")], &bomb),
    ] {
        assert!(held <= CAP as u64 + REST, "{held} bytes");
    }
}
