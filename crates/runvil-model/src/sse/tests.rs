use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

type Owned = (String, String);

fn owned(event: SseEvent<'_>) -> Owned {
    (
        String::from_utf8_lossy(event.name).into_owned(),
        String::from_utf8_lossy(event.data).into_owned(),
    )
}

/// The events that an empty line ended, and the one that the end of the stream ended.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Owned>, Option<Owned>) {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    for chunk in chunks {
        let flow = decoder.push(chunk, |event| {
            events.push(owned(event));
            ControlFlow::<Infallible>::Continue(())
        });
        assert!(flow.is_continue());
    }
    let mut last = None;
    let flow = decoder.finish(|event| {
        last = Some(owned(event));
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(flow.is_continue());
    (events, last)
}

fn data(stream: &str) -> Vec<String> {
    decode([stream.as_bytes()])
        .0
        .into_iter()
        .map(|(_, data)| data)
        .collect()
}

#[test]
fn a_line_ends_with_lf_cr_or_crlf() {
    for stream in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\rdata: b\r\r",
        "data: a\r\n\r\ndata: b\r\n\r\n",
    ] {
        assert_eq!(data(stream), ["a", "b"]);
    }
    assert_eq!(data("data: a\r\ndata: b\n\r\ndata: c\r\n\r"), ["a\nb", "c"]);
}

#[test]
fn a_crlf_cut_between_chunks_is_one_ending() {
    let (events, last) = decode([&b"data: a\r"[..], b"", b"\n\r", b"\ndata: b\r", b"\r"]);
    let data: Vec<&str> = events.iter().map(|(_, data)| data.as_str()).collect();
    assert_eq!((data.as_slice(), last), (["a", "b"].as_slice(), None));
}

#[test]
fn comments_and_unknown_fields_are_passed_over() {
    assert_eq!(
        data(": keep-alive\n\n:\nid: 7\nretry: 9\ndatas: x\n data: y\ndata: a\n: in between\ndata: b\n\n"),
        ["a\nb"]
    );
}

#[test]
fn one_space_after_the_colon_is_not_part_of_the_value() {
    assert_eq!(
        data("data:a\n\ndata:  b\n\ndata\n\ndata:\n\ndata: c: d\n\n"),
        ["a", " b", "", "", "c: d"]
    );
}

#[test]
fn an_event_without_data_is_none_and_its_name_is_forgotten() {
    let (events, _) = decode([&b"event: ping\n\ndata: a\n\nevent: error\ndata: b\n\n"[..]]);
    assert_eq!(
        events,
        [(String::new(), "a".to_owned()), ("error".to_owned(), "b".to_owned())]
    );
}

#[test]
fn an_error_field_is_an_event_named_error() {
    let (events, _) = decode([&b"error: {\"code\":500}\n\n"[..]]);
    assert_eq!(events, [("error".to_owned(), "{\"code\":500}".to_owned())]);
}

#[test]
fn a_byte_order_mark_is_dropped_at_the_start_alone() {
    let stream = b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n";
    for cut in 0..stream.len() {
        let (events, _) = decode([&stream[..cut], &stream[cut..]]);
        let data: Vec<&str> = events.iter().map(|(_, data)| data.as_str()).collect();
        assert_eq!(data, ["a", "c"]);
    }
}

#[test]
fn what_no_empty_line_ended_is_the_last_event() {
    for stream in ["data: a\n\ndata: b", "data: a\n\ndata: b\n", "data: a\n\ndata: b\r"] {
        let (events, last) = decode([stream.as_bytes()]);
        assert_eq!(events.len(), 1);
        assert_eq!(last, Some((String::new(), "b".to_owned())));
    }
    assert_eq!(decode([&b"data: a\n\n"[..]]).1, None);
}

#[test]
fn a_break_stops_the_stream() {
    let mut seen = 0;
    let flow = SseDecoder::new().push(b"data: a\n\ndata: b\n\n", |_| {
        seen += 1;
        ControlFlow::Break("enough")
    });
    assert_eq!((flow, seen), (ControlFlow::Break("enough"), 1));
}

/// Streams made of the pieces that matter, so that cuts fall inside line endings and characters.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"event: error".to_vec()),
        Just(b":".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just("caf\u{e9} \u{6a21}\u{578b}".as_bytes().to_vec()),
        Just(b"[DONE]".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(stream in stream(), sizes in proptest::collection::vec(0usize..7, 1..80)) {
        let mut chunks = Vec::new();
        let mut rest = stream.as_slice();
        for size in sizes {
            let (chunk, tail) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        chunks.push(rest);
        prop_assert_eq!(decode(chunks), decode([stream.as_slice()]));
    }

    #[test]
    fn any_bytes_decode_without_a_panic(stream in proptest::collection::vec(any::<u8>(), 0..400)) {
        let (events, _) = decode([stream.as_slice()]);
        prop_assert!(events.len() <= stream.len());
    }
}
