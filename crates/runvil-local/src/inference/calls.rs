//! Tool calls, found in the text of a reply.
//!
//! A model writes them in one of two ways: as `<tool_call>{"name": …, "arguments": …}</tool_call>` somewhere in its
//! text, as the templates of Hermes and Qwen ask for; or as a reply that is nothing but
//! `{"name": …, "parameters": …}`, as those of Llama 3 do, several of them parted by semicolons.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    /// A JSON object as text.
    pub(super) arguments: String,
}

/// The text of a reply to a request that offers tools.
#[derive(Debug)]
pub(super) struct ToolText<'a> {
    /// The names of the offered tools.
    offered: BTreeSet<&'a str>,
    text: String,
    /// How much of it was let through.
    told: usize,
}

/// A text with its calls taken out.
#[derive(Debug, PartialEq)]
pub(super) struct Parted {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// The end of the text, which was held back until now.
    pub(super) rest: String,
}

impl<'a> ToolText<'a> {
    /// An empty text, in which calls are looked for if there are tools to call.
    pub(super) fn new(offered: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            offered: offered.into_iter().collect(),
            text: String::new(),
            told: 0,
        }
    }

    /// Adds a piece and gives the text that is certainly not a part of a call.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.text.push_str(piece);
        let certain = self.certain();
        let out = self.text[self.told..certain].to_owned();
        self.told = certain;
        out
    }

    /// Ends the text and takes the calls out of it. What only looks like one stays text.
    pub(super) fn finish(self) -> Parted {
        let (text, calls) = match self.whole_reply() {
            Some(calls) => (String::new(), calls),
            None => self.tagged(),
        };
        let rest = text.get(self.told..).unwrap_or_default().to_owned();
        Parted { text, calls, rest }
    }

    fn certain(&self) -> usize {
        if self.offered.is_empty() {
            return self.text.len();
        }
        let begins = self.text.trim_start();
        if begins.is_empty() || begins.starts_with('{') {
            return self.told;
        }
        let certain = self.text.find(OPEN).unwrap_or_else(|| {
            let mut places = self.text.char_indices().map(|(at, _)| at);
            let beginning = places.find(|at| OPEN.starts_with(&self.text[*at..]));
            beginning.unwrap_or(self.text.len())
        });
        // A reply of calls alone has no text, and not white space for one.
        if self.text[..certain].trim().is_empty() {
            return self.told;
        }
        certain
    }

    /// The calls of a reply that is nothing else. Each must name an offered tool: other JSON is an answer.
    fn whole_reply(&self) -> Option<Vec<Call>> {
        let mut rest = self.text.trim();
        let mut calls = Vec::new();
        while rest.starts_with('{') {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
            let call = call(values.next()?.ok()?)?;
            if !self.offered.contains(call.name.as_str()) {
                return None;
            }
            calls.push(call);
            rest = rest[values.byte_offset()..].trim_start_matches(|c: char| c == ';' || c.is_whitespace());
        }
        (rest.is_empty() && !calls.is_empty()).then_some(calls)
    }

    /// The text outside of all calls that stand between tags, and these calls.
    fn tagged(&self) -> (String, Vec<Call>) {
        let (mut text, mut calls) = (String::new(), Vec::new());
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find(OPEN).filter(|_| !self.offered.is_empty()) {
            let inside = &rest[at + OPEN.len()..];
            // The last one may lack its end, where the model ends its turn instead.
            let (inside, after) = inside.split_once(CLOSE).unwrap_or((inside, ""));
            let whole = &rest[..rest.len() - after.len()];
            match serde_json::from_str(inside.trim()).ok().and_then(call) {
                Some(call) => {
                    // The white space around calls is no text.
                    let before = if calls.is_empty() {
                        &rest[..at]
                    } else {
                        rest[..at].trim()
                    };
                    text.push_str(before);
                    calls.push(call);
                }
                None => text.push_str(whole),
            }
            rest = after;
        }
        text.push_str(if calls.is_empty() { rest } else { rest.trim() });
        if !calls.is_empty() && text.trim().is_empty() {
            text.clear();
        }
        (text, calls)
    }
}

/// A call, if that is what the object is.
fn call(mut object: Map<String, Value>) -> Option<Call> {
    let Some(Value::String(name)) = object.remove("name") else {
        return None;
    };
    let arguments = object.remove("arguments").or_else(|| object.remove("parameters"));
    let arguments = match arguments {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        // Some models write the arguments as a text that holds them.
        Some(Value::String(text)) => serde_json::from_str(&text).ok()?,
        Some(_) => return None,
    };
    (!name.trim().is_empty()).then(|| Call {
        name,
        arguments: Value::Object(arguments).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(name: &str, arguments: &str) -> Call {
        Call {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    /// What is streamed of a text that comes in pieces of some bytes, and what becomes of it.
    fn parted_by(text: &str, size: usize, offered: &[&str]) -> (String, Parted) {
        let mut reply = ToolText::new(offered.iter().copied());
        let characters: Vec<char> = text.chars().collect();
        let mut heard = String::new();
        for piece in characters.chunks(size) {
            heard.push_str(&reply.push(&piece.iter().collect::<String>()));
        }
        let parted = reply.finish();
        heard.push_str(&parted.rest);
        assert_eq!(heard, parted.text, "what is heard is the text");
        (heard, parted)
    }

    fn parted(text: &str) -> (String, Vec<Call>) {
        let (_, all) = parted_by(text, 1000, &["find", "add"]);
        for size in [1, 3, 7] {
            assert_eq!(parted_by(text, size, &["find", "add"]).1.text, all.text);
        }
        (all.text, all.calls)
    }

    #[test]
    fn a_call_between_tags_is_taken_out_of_the_text() {
        let (text, calls) =
            parted("I look.\n<tool_call>\n{\"name\": \"find\", \"arguments\": {\"q\": \"tea\"}}\n</tool_call>");
        assert_eq!(text, "I look.\n");
        assert_eq!(calls, [call("find", "{\"q\":\"tea\"}")]);
    }

    #[test]
    fn several_calls_come_in_their_order_and_need_no_text() {
        let (text, calls) = parted(
            "\n<tool_call>{\"name\":\"find\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1}}",
        );
        assert_eq!(text, "");
        assert_eq!(calls, [call("find", "{}"), call("add", "{\"a\":1}")]);
    }

    #[test]
    fn a_reply_that_is_a_call_needs_no_tags() {
        let (text, calls) = parted("{\"name\": \"find\", \"parameters\": {\"q\": \"tea\"}}");
        assert_eq!((text.as_str(), calls), ("", vec![call("find", "{\"q\":\"tea\"}")]));
        let (_, calls) =
            parted("{\"name\": \"add\", \"parameters\": {}}; {\"name\": \"find\", \"parameters\": \"{}\"}");
        assert_eq!(calls, [call("add", "{}"), call("find", "{}")]);
    }

    #[test]
    fn what_is_no_sound_call_stays_text() {
        for text in [
            "<tool_call>{\"name\": \"find\", \"arguments\": {</tool_call>",
            "<tool_call>{\"name\": 3, \"arguments\": {}}</tool_call> Done.",
            "<tool_call>{\"name\": \"find\", \"arguments\": [1]}</tool_call>",
            "<tool_call>",
            "<tool_call></tool_call>",
            "</tool_call>",
            "{\"name\": \"unknown\", \"parameters\": {}}",
            "{\"name\": \"find\", \"parameters\": {}} is the call.",
            "{\"answer\": 42}",
            "A < b and <tool is no tag",
            "{",
            "",
            "  ",
        ] {
            assert_eq!(parted(text), (text.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn a_broken_call_beside_a_sound_one_is_text() {
        let (text, calls) =
            parted("<tool_call>oops</tool_call>\n<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>");
        assert_eq!(text, "<tool_call>oops</tool_call>\n");
        assert_eq!(calls, [call("add", "{}")]);
    }

    #[test]
    fn without_tools_nothing_is_a_call_and_nothing_waits() {
        let text = "<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>";
        let mut reply = ToolText::new([]);
        assert_eq!(reply.push(text), text);
        let parted = reply.finish();
        assert_eq!((parted.text.as_str(), parted.calls.len()), (text, 0));
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_heard_once(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<tool_call>"), Just("</tool_call>"), Just("{\"name\":\"add\"}"), Just("{"), Just("<tool"), Just(" é\n"),
                ],
                0..8,
            ),
            size in 1usize..9,
        ) {
            parted_by(&parts.concat(), size, &["add"]);
        }
    }
}
