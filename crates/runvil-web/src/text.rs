//! A piece of text by its bytes.

/// The longest beginning of `text` that is at most `most` bytes long and ends at a character.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_at_a_character() {
        assert_eq!(beginning("aé漢", 0), "");
        assert_eq!(beginning("aé漢", 2), "a");
        assert_eq!(beginning("aé漢", 3), "aé");
        assert_eq!(beginning("aé漢", 5), "aé");
        assert_eq!(beginning("aé漢", 99), "aé漢");
    }
}
