//! Composing a list into the messages that a model receives (book: What the model receives).

use std::{ops::Range, sync::Arc};

use super::record::{Record, RoundCall};
use crate::wire::{Content, ContentPart, Message, Role};

/// What joins the texts of neighboring system or user records.
const BLANK_LINE: &str = "\n\n";

/// The messages that the records compose into, in order.
pub(crate) fn compose(records: &[Arc<Record>]) -> Vec<Message> {
    runs(records).map(|run| merge(&records[run])).collect()
}

/// The ranges of records of which each becomes one message.
pub(super) fn runs(records: &[Arc<Record>]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = records.get(start)?;
        let mut end = start + 1;
        while records.get(end).is_some_and(|next| joins(&records[end - 1], next)) {
            end += 1;
        }
        debug_assert_eq!(first.role, records[end - 1].role, "a run has one role");
        let run = start..end;
        start = end;
        Some(run)
    })
}

/// Whether a record merges into the run that `last` ends.
fn joins(last: &Record, next: &Record) -> bool {
    last.role == next.role && next.role != Role::Tool && last.calls.is_empty()
}

/// Whether two runs, each of its own list, are the same message to a model.
pub(super) fn same_message(one: &[Arc<Record>], other: &[Arc<Record>]) -> bool {
    let same_records = one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other));
    same_records || merge(one) == merge(other)
}

/// One run as one message.
fn merge(run: &[Arc<Record>]) -> Message {
    let last = run.last().expect("a run holds a record");
    let separator = if last.role == Role::Assistant { "" } else { BLANK_LINE };
    Message {
        role: last.role,
        content: merge_content(run, separator),
        tool_calls: last.calls.iter().map(RoundCall::to_wire).collect(),
        tool_call_id: last.tool_call_id.clone(),
    }
}

/// The contents of a run as one: text while every record is plain text, else all parts in order.
fn merge_content(run: &[Arc<Record>], separator: &str) -> Content {
    let mut contents = run.iter().map(|record| &record.content);
    let mut merged = contents.next().cloned().expect("a run holds a record");
    for content in contents {
        merged = match (merged, content) {
            (Content::Text(mut text), Content::Text(next)) => {
                if !text.is_empty() && !next.is_empty() {
                    text.push_str(separator);
                }
                text.push_str(next);
                Content::Text(text)
            }
            (merged, next) => {
                let mut parts = into_parts(merged);
                parts.extend(text_part(separator));
                parts.extend(into_parts(next.clone()));
                Content::Parts(parts)
            }
        };
    }
    merged
}

fn into_parts(content: Content) -> Vec<ContentPart> {
    match content {
        Content::Text(text) => text_part(&text).into_iter().collect(),
        Content::Parts(parts) => parts,
    }
}

/// A text part, none for empty text.
fn text_part(text: &str) -> Option<ContentPart> {
    (!text.is_empty()).then(|| ContentPart::Text { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::conversation::rules;

    fn list(records: &Value) -> Vec<Arc<Record>> {
        let records = records.as_array().expect("a list of records").iter();
        records
            .map(|record| Arc::new(Record::check(record.clone()).expect("a record")))
            .collect()
    }

    fn composed(records: &Value) -> Value {
        serde_json::to_value(compose(&list(records))).expect("messages are plain data")
    }

    #[test]
    fn runs_of_one_role_merge_and_empty_records_vanish_into_them() {
        let records = json!([
            { "role": "system", "content": "a" }, { "role": "system", "content": "b" },
            { "role": "user", "content": "" }, { "role": "user", "content": "one" },
            { "role": "assistant", "content": "" }, { "role": "assistant", "content": "two" },
            { "role": "assistant", "content": ", three" }, { "role": "user", "content": "four" },
        ]);
        assert_eq!(
            composed(&records),
            json!([
                { "role": "system", "content": "a\n\nb" },
                { "role": "user", "content": "one" },
                { "role": "assistant", "content": "two, three" },
                { "role": "user", "content": "four" },
            ])
        );
    }

    #[test]
    fn a_lone_empty_record_is_a_message_of_its_own() {
        let records = json!([{ "role": "user", "content": "" }]);
        assert_eq!(composed(&records), records);
    }

    #[test]
    fn parts_of_users_are_set_apart_by_a_part_even_beside_empty_text() {
        let part = json!({ "type": "text", "text": "x" });
        let records = json!([{ "role": "user", "content": "" }, { "role": "user", "content": [part] }]);
        let blank = json!({ "type": "text", "text": "\n\n" });
        assert_eq!(
            composed(&records),
            json!([{ "role": "user", "content": [blank, part] }])
        );
    }

    #[test]
    fn text_before_calls_becomes_their_visible_content() {
        let call = json!({ "id": "c", "name": "n", "arguments": { "a": [1, null] } });
        let records = json!([
            { "role": "assistant", "content": "let me " },
            { "role": "assistant", "content": "see", "tool_calls": [call] },
            { "role": "tool", "content": "r", "tool_call_id": "c" },
            { "role": "assistant", "content": "so" },
        ]);
        assert_eq!(
            composed(&records),
            json!([
                {
                    "role": "assistant",
                    "content": "let me see",
                    "tool_calls": [{
                        "id": "c",
                        "type": "function",
                        "function": { "name": "n", "arguments": "{\"a\":[1,null]}" },
                    }],
                },
                { "role": "tool", "content": "r", "tool_call_id": "c" },
                { "role": "assistant", "content": "so" },
            ])
        );
    }

    fn content() -> impl Strategy<Value = Value> {
        let text = prop_oneof![Just(String::new()), "[a-z]{1,3}"];
        let part = json!({ "type": "text", "text": "p" });
        prop_oneof![
            4 => text.prop_map(Value::from),
            1 => Just(json!([part])),
        ]
    }

    fn record() -> impl Strategy<Value = Value> {
        let id = prop_oneof![Just("a"), Just("b"), Just("c")];
        let call = id.clone().prop_map(|id| json!({ "id": id, "name": "n" }));
        let calls = prop::collection::vec(call, 0..3);
        prop_oneof![
            content().prop_map(|it| json!({ "role": "user", "content": it })),
            (content(), calls)
                .prop_map(|(it, calls)| json!({ "role": "assistant", "content": it, "tool_calls": calls })),
            (content(), id).prop_map(|(it, id)| json!({ "role": "tool", "content": it, "tool_call_id": id })),
        ]
    }

    fn records() -> impl Strategy<Value = Vec<Value>> {
        let system = content().prop_map(|it| json!({ "role": "system", "content": it }));
        let leading = prop::collection::vec(system, 0..3);
        let rest = prop::collection::vec(record(), 0..12);
        (leading, rest).prop_map(|(leading, rest)| leading.into_iter().chain(rest).collect())
    }

    /// What a provider asks of a request: alternating roles, one leading system message, every call answered right
    /// after it.
    fn assert_well_formed(messages: &[Message]) {
        let mut pending: Vec<&str> = Vec::new();
        let mut last = None;
        for (index, message) in messages.iter().enumerate() {
            assert!(message.role != Role::System || index == 0);
            assert!(message.role == Role::Tool || last != Some(message.role));
            assert!(message.tool_calls.is_empty() || message.role == Role::Assistant);
            match &message.tool_call_id {
                Some(id) => {
                    let open = pending.iter().position(|open| open == id);
                    pending.remove(open.expect("a result answers an open call"));
                }
                None => assert!(pending.is_empty()),
            }
            pending.extend(message.tool_calls.iter().map(|call| &*call.id));
            last = Some(message.role);
        }
        assert!(pending.is_empty());
    }

    proptest! {
        #[test]
        fn a_list_that_breaks_no_rule_composes_into_a_well_formed_request(records in records()) {
            let records = list(&Value::Array(records));
            if rules::check(&records).is_ok() {
                assert_well_formed(&compose(&records));
            }
        }

        #[test]
        fn no_text_and_no_part_is_lost_or_added(records in records()) {
            let records = list(&Value::Array(records));
            let letters = |text: &str| text.replace(BLANK_LINE, "");
            let text_of = |content: &Content| match content {
                Content::Text(text) => letters(text),
                Content::Parts(parts) => parts
                    .iter()
                    .map(|part| match part {
                        ContentPart::Text { text } => letters(text),
                        ContentPart::ImageUrl { .. } => String::new(),
                    })
                    .collect(),
            };
            let before: String = records.iter().map(|record| text_of(&record.content)).collect();
            let after: String = compose(&records).iter().map(|message| text_of(&message.content)).collect();
            prop_assert_eq!(before, after);
        }

        #[test]
        fn a_list_keeps_every_message_of_itself_and_of_its_prefix(records in records(), cut in 0_usize..12) {
            let records = list(&Value::Array(records));
            let count = compose(&records).len();
            prop_assert_eq!(super::super::anchor::kept(&records, &records), count);
            let prefix = &records[..cut.min(records.len())];
            let kept = super::super::anchor::kept(prefix, &records);
            prop_assert_eq!(&compose(prefix)[..kept], &compose(&records)[..kept]);
        }
    }
}
