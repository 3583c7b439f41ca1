//! The context precheck's arithmetic (book: The context precheck).

use std::io;

use serde::Serialize;

use crate::{
    models::Model,
    wire::{Content, ContentPart, Message},
};

/// Bytes of text that count as one token.
const BYTES_PER_TOKEN: u64 = 4;

/// Tokens of framing for each message.
const FRAMING: u64 = 4;

/// The most tokens of the default reserve.
const RESERVE_CAP: u32 = 8192;

/// The tokens that messages are estimated to take.
pub(crate) fn estimate(messages: &[Message]) -> u64 {
    let bytes: usize = messages.iter().map(text_len).sum();
    bytes as u64 / BYTES_PER_TOKEN + FRAMING * messages.len() as u64
}

/// The bytes of a message that count: its text, and its tool calls in serialized form.
fn text_len(message: &Message) -> usize {
    let content = match &message.content {
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts.iter().map(part_len).sum(),
    };
    content + message.tool_calls.iter().map(serialized_len).sum::<usize>()
}

fn part_len(part: &ContentPart) -> usize {
    match part {
        ContentPart::Text { text } => text.len(),
        ContentPart::ImageUrl { .. } => 0,
    }
}

/// The tokens that a round keeps free for the reply.
pub(super) fn reserve(context: u32, max_tokens: Option<u32>) -> u32 {
    max_tokens
        .unwrap_or_else(|| (context / 8).min(RESERVE_CAP))
        .min(context / 2)
}

/// Whether a request of this many tokens leaves its model room for the reply.
pub(super) fn fits(tokens: u64, model: &Model) -> bool {
    let reserve = reserve(model.context, model.sampling.max_tokens);
    tokens.saturating_add(reserve.into()) <= u64::from(model.context)
}

/// The length of a value as compact JSON, in bytes.
pub(super) fn serialized_len(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("plain data serializes, and counting cannot fail");
    count.0
}

/// Counts what is written.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        models::Sampling,
        wire::{FunctionCall, FunctionPayload, FunctionTag, ImageUrl, Role},
    };

    fn model(context: u32, max_tokens: Option<u32>) -> Model {
        let mut model = Model::of_raw_id("m").expect("a valid id");
        model.context = context;
        model.with(Sampling {
            temperature: None,
            max_tokens,
        })
    }

    #[test]
    fn the_reserve_is_max_tokens_or_an_eighth_and_never_over_half() {
        for (context, max_tokens, expected) in [
            (4096, None, 512),
            (65_536, None, 8192),
            (1_000_000, None, 8192),
            (4096, Some(1000), 1000),
            (4096, Some(100_000), 2048),
            (100, Some(51), 50),
            (1, None, 0),
            (1, Some(1), 0),
        ] {
            assert_eq!(reserve(context, max_tokens), expected, "{context} {max_tokens:?}");
        }
    }

    #[test]
    fn a_total_equal_to_the_window_fits() {
        assert!(fits(103, &model(123, Some(20))));
        assert!(!fits(103, &model(122, Some(20))));
        assert!(!fits(u64::MAX, &model(u32::MAX, None)));
    }

    #[test]
    fn the_division_runs_once_over_all_messages() {
        let messages = [
            Message::text(Role::System, "abc"),
            Message::text(Role::User, "x".repeat(397)),
        ];
        assert_eq!(estimate(&messages), 400 / 4 + 2 * 4);
        assert_eq!(estimate(&[Message::text(Role::User, "x".repeat(100_000))]), 25_004);
        assert_eq!(estimate(&[]), 0);
    }

    #[test]
    fn only_text_parts_count_and_calls_count_whole() {
        let mut message = Message::text(Role::Assistant, "");
        message.content = Content::Parts(vec![
            ContentPart::Text { text: "é".repeat(10) },
            ContentPart::ImageUrl {
                image_url: ImageUrl { url: "u".repeat(1000) },
            },
        ]);
        let call = FunctionCall {
            id: "c".to_owned(),
            r#type: FunctionTag::Function,
            function: FunctionPayload {
                name: "n".to_owned(),
                arguments: "{\"a\":1}".to_owned(),
            },
        };
        let serialized = serde_json::to_string(&call).expect("plain data").len() as u64;
        message.tool_calls = vec![call];
        assert_eq!(estimate(&[message]), (20 + serialized) / 4 + 4);
    }
}
