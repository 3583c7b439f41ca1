use std::{fs, io::Write as _};

use super::*;
use crate::tiny::{Meta, Tiny};

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
