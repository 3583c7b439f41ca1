use std::{fs, io::Write as _};

use proptest::prelude::*;

use super::*;
use crate::{
    ModelFacts,
    tiny::{Meta, Tiny},
};

fn open(bytes: &[u8]) -> Result<Gguf, GgufError> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    Gguf::open(file.path()).map(|(gguf, _)| gguf)
}

fn refusal(bytes: &[u8]) -> String {
    open(bytes).expect_err("refused").to_string()
}

#[test]
fn a_header_tells_its_metadata_and_its_tensors() {
    let gguf = open(&Tiny::llama().bytes()).expect("a header");
    assert_eq!(gguf.text("general.architecture"), Some("llama"));
    assert_eq!(gguf.count("llama.context_length"), Some(128));
    assert_eq!(gguf.number("llama.rope.freq_base"), Some(10000.0));
    assert_eq!(
        gguf.texts("tokenizer.ggml.tokens").map(|tokens| tokens.len()),
        Some(259)
    );
    let tensor = &gguf.tensors["blk.1.ffn_down.weight"];
    assert_eq!(
        (tensor.shape.as_slice(), tensor.kind),
        ([64, 96].as_slice(), TensorKind::F32)
    );
    assert_eq!((tensor.numbers(), tensor.bytes), (64 * 96, 4 * 64 * 96));
}

#[test]
fn what_is_not_gguf_is_told_at_once() {
    for bytes in [b"".as_slice(), b"GG", b"PK\x03\x04 a wheel", b"# a prompt\n"] {
        assert_eq!(refusal(bytes), "this is not a GGUF file");
    }
    assert_eq!(
        refusal(b"GGUF\x01\0\0\0"),
        "GGUF version 1 is not supported, only 2 and 3"
    );
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let bytes = Tiny::llama().bytes();
    for len in (4..bytes.len() - 32).step_by(997) {
        let error = refusal(&bytes[..len]);
        assert!(
            error.starts_with(&format!("the file is cut off: it has {len} bytes and needs at least ")),
            "{error}"
        );
    }
}

#[test]
fn a_header_that_promises_more_than_the_file_holds_costs_no_memory() {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(u64::MAX.to_le_bytes());
    bytes.extend(u64::MAX.to_le_bytes());
    assert_eq!(
        refusal(&bytes),
        "the GGUF header is damaged at byte 32: a length is past the end of all files"
    );
}

#[test]
fn a_list_of_more_values_than_any_model_has_is_refused() {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    for number in [0u64, 1, 1] {
        bytes.extend(number.to_le_bytes());
    }
    // A key of one letter, and a list of bytes.
    bytes.push(b'k');
    bytes.extend(9u32.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend((5u64 << 20).to_le_bytes());
    bytes.resize(bytes.len() + (5 << 20), 0);
    assert!(refusal(&bytes).ends_with(": there are more than four million metadata values"));
}

#[test]
fn a_damaged_header_is_told_with_its_place() {
    let odd = Tiny::llama().with("general.alignment", Meta::U32(3));
    assert!(refusal(&odd.bytes()).ends_with(": the alignment is no power of two"));
    let mut wide = Tiny::llama();
    wide.tensors.insert("wide".to_owned(), vec![1; 5]);
    assert!(refusal(&wide.bytes()).ends_with(": a tensor has more than four dimensions"));
    let mut none = Tiny::llama();
    none.tensors.insert("none".to_owned(), vec![0]);
    assert!(refusal(&none.bytes()).ends_with(": a tensor has a dimension of no size"));
}

#[test]
fn any_change_of_a_byte_reads_or_is_refused() {
    let whole = Tiny::llama().bytes();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changed.gguf");
    for at in (0..6000).step_by(13) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&path, &bytes).expect("written");
        let _ = Gguf::open(&path);
    }
}

/// Bytes that a file may have after damage: some of them changed, and cut off somewhere.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let whole = Tiny::llama().bytes();
    // Damage within the header says more than damage of a weight.
    let place = prop_oneof![0..64usize, 0..9000usize, 0..whole.len()];
    let change = (place, any::<u8>());
    let cut = prop_oneof![4 => Just(whole.len()), 1 => 0..whole.len()];
    (prop::collection::vec(change, 0..6), cut).prop_map(move |(changes, len)| {
        let mut bytes = whole.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        bytes.truncate(len);
        bytes
    })
}

/// A header that promises much: counts and lengths of any size where the format has them.
fn promising() -> impl Strategy<Value = Vec<u8>> {
    let count = prop_oneof![Just(u64::MAX), Just(1 << 40), Just(1 << 63), any::<u64>(), 0..4u64];
    let word = prop_oneof![
        count.prop_map(|count| count.to_le_bytes().to_vec()),
        any::<u32>().prop_map(|word| {
            // Mostly one of the types of the format.
            (word % 14).to_le_bytes().to_vec()
        })
    ];
    prop::collection::vec(word, 2..24).prop_map(|words| {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(words.concat());
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_damaged_file_is_read_or_refused_and_takes_no_more_memory_than_it_is_large(
        bytes in prop_oneof![damaged(), promising()],
    ) {
        let mut read = None;
        let measured = allocation_counter::measure(|| read = Some(open(&bytes)));
        // A value in memory is larger than its byte in a file, by a factor that is the same for every file.
        let most = 64 * bytes.len() as u64 + (64 << 10);
        prop_assert!(measured.bytes_max <= most, "{} of {} bytes", measured.bytes_max, bytes.len());
        if let Some(Ok(gguf)) = read {
            for tensor in gguf.tensors.values() {
                prop_assert!(tensor.start + tensor.bytes <= bytes.len() as u64);
            }
            let _ = ModelFacts::of(&gguf);
        }
    }
}
