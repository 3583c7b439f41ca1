//! Bytes to text (book: Charsets).

use encoding_rs::Encoding;

/// The declared charset is none that is known; holds its label in lowercase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownCharset(pub(crate) String);

/// Decodes a body with its declared charset, UTF-8 when it declares none. Malformed bytes become replacement
/// characters. Nothing is taken from the body itself: neither a byte order mark nor a `meta` tag changes the charset.
pub(crate) fn decode(bytes: Vec<u8>, label: Option<&str>) -> Result<String, UnknownCharset> {
    let encoding = match label {
        None => encoding_rs::UTF_8,
        Some(label) => known(label)?,
    };
    if encoding == encoding_rs::UTF_8 {
        return Ok(utf8(bytes));
    }
    let (text, _) = encoding.decode_without_bom_handling(&bytes);
    Ok(text.into_owned())
}

/// The encoding of a label. The labels that the web maps to a mere replacement character count as unknown, since no
/// text comes out of them.
fn known(label: &str) -> Result<&'static Encoding, UnknownCharset> {
    Encoding::for_label_no_replacement(label.as_bytes()).ok_or_else(|| UnknownCharset(label.to_lowercase()))
}

fn utf8(bytes: Vec<u8>) -> String {
    // Most bodies are valid, and those are taken over without a copy.
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], label: Option<&str>) -> String {
        decode(bytes.to_vec(), label).expect("a known charset")
    }

    #[test]
    fn no_charset_and_utf8_in_any_case_decode_as_utf8() {
        for label in [None, Some("utf-8"), Some("UTF-8"), Some("utf8"), Some("UTF8")] {
            assert_eq!(text("é".as_bytes(), label), "é");
            assert_eq!(text(b"a\xffb", label), "a\u{fffd}b");
        }
    }

    #[test]
    fn a_known_label_decodes_through_its_encoding() {
        assert_eq!(text(b"Caf\xe9", Some("ISO-8859-1")), "Café");
        assert_eq!(text(b"\x93q\x94", Some("windows-1252")), "\u{201c}q\u{201d}");
        assert_eq!(text(b"\x83e\x83X\x83g", Some("Shift_JIS")), "テスト");
        assert_eq!(text(b"a\x81", Some("shift_jis")), "a\u{fffd}");
    }

    #[test]
    fn an_unknown_label_is_named_in_lowercase() {
        for label in ["Not-A-Charset", "", "utf-8x", "ISO-2022-KR"] {
            assert_eq!(
                decode(b"x".to_vec(), Some(label)),
                Err(UnknownCharset(label.to_lowercase()))
            );
        }
    }
}
