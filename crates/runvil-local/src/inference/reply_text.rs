//! The text of a reply, out of the bytes of its tokens.

use std::str;

/// Holds back what may still change: bytes that do not make a character yet, and text that may begin a stop string.
#[derive(Debug)]
pub(super) struct ReplyText<'a> {
    stops: &'a [String],
    bytes: Vec<u8>,
    held: String,
    len: usize,
    stopped: bool,
}

impl<'a> ReplyText<'a> {
    /// An empty text that ends before the first of the stop strings.
    pub(super) fn new(stops: &'a [String]) -> Self {
        Self {
            stops,
            bytes: Vec::new(),
            held: String::new(),
            len: 0,
            stopped: false,
        }
    }

    /// Adds the bytes of a token and gives the text that is certain now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.bytes.extend_from_slice(bytes);
        let whole = whole_characters(&self.bytes);
        let characters: Vec<u8> = self.bytes.drain(..whole).collect();
        self.held.push_str(&String::from_utf8_lossy(&characters));
        self.release()
    }

    /// Whether a stop string came. Nothing is added any more.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Ends the text and gives what was held back.
    pub(super) fn finish(&mut self) -> String {
        if self.stopped {
            return String::new();
        }
        let bytes = std::mem::take(&mut self.bytes);
        self.held.push_str(&String::from_utf8_lossy(&bytes));
        let rest = std::mem::take(&mut self.held);
        self.len += rest.len();
        rest
    }

    /// How many bytes of text there are so far.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn release(&mut self) -> String {
        if self.stopped {
            return String::new();
        }
        let stop = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str())).min();
        self.stopped = stop.is_some();
        let certain = stop.unwrap_or_else(|| self.held.len() - self.beginning_of_a_stop());
        let rest = self.held.split_off(certain);
        let out = std::mem::replace(&mut self.held, rest);
        self.len += out.len();
        out
    }

    /// The length of the longest end of the held text that a stop string begins with.
    fn beginning_of_a_stop(&self) -> usize {
        let begins = |end: &&str| self.stops.iter().any(|stop| stop.starts_with(*end));
        let ends = self.held.char_indices().map(|(at, _)| &self.held[at..]);
        ends.into_iter().find(begins).map_or(0, str::len)
    }
}

/// How many of the bytes make whole characters. Bytes that can never make one count as whole.
fn whole_characters(bytes: &[u8]) -> usize {
    let mut done = 0;
    loop {
        match str::from_utf8(&bytes[done..]) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                None => return done + error.valid_up_to(),
                Some(invalid) => done += error.valid_up_to() + invalid,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(stops: &[&str], tokens: &[&[u8]]) -> (Vec<String>, String) {
        let stops: Vec<String> = stops.iter().map(ToString::to_string).collect();
        let mut text = ReplyText::new(&stops);
        let mut pieces: Vec<String> = tokens.iter().map(|token| text.push(token)).collect();
        pieces.push(text.finish());
        let whole = pieces.concat();
        assert_eq!(text.len(), whole.len());
        (pieces, whole)
    }

    #[test]
    fn a_character_waits_until_it_is_whole() {
        let (pieces, _) = pieces(&[], &[b"caf\xc3", b"\xa9 \xf0\x9f", b"\x8d", b"\xb5!"]);
        assert_eq!(pieces, ["caf", "é ", "", "🍵!", ""]);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let (_, text) = pieces(&[], &[b"a\xffb", b"\xc3"]);
        assert_eq!(text, "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn a_stop_string_ends_the_text_before_it() {
        let (pieces, text) = pieces(&["User:", "\n\n"], &[b"Hi. U", b"se", b"r: me", b" too"]);
        assert_eq!(text, "Hi. ");
        assert_eq!(pieces, ["Hi. ", "", "", "", ""]);
    }

    #[test]
    fn what_only_begins_a_stop_string_comes_later() {
        let (pieces, text) = pieces(&["User:"], &[b"Us", b"ual", b" U"]);
        assert_eq!(text, "Usual U");
        assert_eq!(pieces, ["", "Usual", " ", "U"]);
    }
}
