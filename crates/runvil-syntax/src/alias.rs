//! The prompt-local alias grammar: role labels, arg names and local tool aliases.

/// The grammar as messages show it.
pub(crate) const GRAMMAR: &str = "[A-Za-z][A-Za-z0-9_-]{0,63}";

const MAX_LENGTH: usize = 64;

/// Whether `text` is an ASCII letter and then up to 63 ASCII letters, digits, `_` or `-`.
#[must_use]
pub fn is_alias(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_rest = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    bytes.len() <= MAX_LENGTH && bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.iter().all(is_rest)
}

/// Checks an alias or a role label that Lua passes (book: Run-time name errors).
///
/// # Errors
/// `text` is outside the grammar.
pub fn check_alias(text: &str) -> Result<(), InvalidAlias> {
    if is_alias(text) {
        Ok(())
    } else {
        Err(InvalidAlias(text.to_owned()))
    }
}

/// An alias outside the grammar. Its message quotes and escapes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid alias {0:?}: expected {GRAMMAR}")]
pub struct InvalidAlias(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_and_up_to_63_more_characters_are_an_alias() {
        let longest = "z".repeat(64);
        for text in ["a", "A", "web_fetch", "web-fetch2", "q-_9", &longest] {
            assert!(is_alias(text), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        let too_long = "z".repeat(65);
        for text in ["", "1a", "_a", "-a", "a b", "a.b", "a/b", "é", "aé", "a\n", &too_long] {
            assert!(!is_alias(text), "{text:?}");
        }
    }

    #[test]
    fn the_message_escapes_the_alias() {
        let message = check_alias("a\"\\\n").expect_err("has a quote").to_string();
        assert_eq!(
            message,
            r#"invalid alias "a\"\\\n": expected [A-Za-z][A-Za-z0-9_-]{0,63}"#
        );
    }
}
