//! The text and the reasoning that a delta or a message holds, under the names that servers give them.

use serde_json::{Map, Value};

/// The fields that servers put reasoning into, the first that holds any wins: some servers send the same text under
/// two names while they move from one to the other.
const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "thinking", "reasoning_text"];

/// The text and the reasoning of one delta or message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Reply text.
    pub(super) text: String,
    /// Reasoning text.
    pub(super) reasoning: String,
}

impl Content {
    /// Takes the content out of a delta or message.
    pub(super) fn take(from: &mut Map<String, Value>) -> Self {
        let mut content = Self::default();
        for field in REASONING {
            if let Some(Value::String(reasoning)) = from.remove(field)
                && content.reasoning.is_empty()
            {
                content.reasoning = reasoning;
            }
        }
        match from.remove("content") {
            Some(Value::String(text)) => content.text = text,
            Some(Value::Array(parts)) => parts.into_iter().for_each(|part| content.take_part(part)),
            _ => {}
        }
        content
    }

    /// Takes one part of a multipart content: text, or a list of reasoning parts under `thinking`.
    fn take_part(&mut self, part: Value) {
        let Value::Object(mut part) = part else {
            return;
        };
        match part.remove("thinking") {
            Some(Value::String(reasoning)) => self.reasoning.push_str(&reasoning),
            Some(Value::Array(inner)) => {
                for inner in &inner {
                    self.reasoning
                        .push_str(inner.get("text").and_then(Value::as_str).unwrap_or_default());
                }
            }
            _ => {}
        }
        if let Some(Value::String(text)) = part.remove("text") {
            self.text.push_str(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn take(delta: Value) -> (String, String) {
        let Value::Object(mut delta) = delta else {
            panic!("a delta is an object")
        };
        let content = Content::take(&mut delta);
        (content.text, content.reasoning)
    }

    #[test]
    fn reasoning_goes_by_several_names_and_is_taken_once() {
        for field in REASONING {
            assert_eq!(
                take(json!({ field: "hm", "content": null })),
                (String::new(), "hm".to_owned())
            );
        }
        assert_eq!(take(json!({ "reasoning": "hm", "reasoning_content": "hm" })).1, "hm");
        assert_eq!(take(json!({ "reasoning": "hm", "reasoning_content": "" })).1, "hm");
        assert_eq!(take(json!({ "reasoning": { "effort": "low" }, "thinking": 5 })).1, "");
    }

    #[test]
    fn content_in_parts_is_joined_in_order() {
        let delta = json!({ "content": [
            { "type": "thinking", "thinking": [{ "type": "text", "text": "h" }, { "type": "text", "text": "m" }] },
            { "type": "text", "text": "a" }, { "type": "reference", "reference_ids": [1] }, 7,
            { "type": "text", "text": "b" },
        ] });
        assert_eq!(take(delta), ("ab".to_owned(), "hm".to_owned()));
    }

    #[test]
    fn anything_else_holds_no_text() {
        for delta in [
            json!({}),
            json!({ "content": null }),
            json!({ "content": 5 }),
            json!({ "content": {} }),
        ] {
            assert_eq!(take(delta), (String::new(), String::new()));
        }
    }
}
