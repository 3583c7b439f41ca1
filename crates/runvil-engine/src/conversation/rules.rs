//! The rules that relate the records of a list to one another (book: Cross-record errors).

use std::{collections::BTreeSet, sync::Arc};

use super::{
    At,
    record::{Record, RoundCall},
};
use crate::wire::{Content, Role};

/// The rule that a list breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ListFault {
    #[error("is a system message with content parts; only plain text system messages can be composed")]
    SystemParts,
    #[error("sets tool_calls but is not an assistant message")]
    StrayCalls,
    #[error("tool call id {0:?} duplicates an earlier tool call")]
    DuplicateCall(String),
    #[error("tool call {0:?} has no tool result")]
    NoResult(String),
    #[error("is an orphan tool record: no pending assistant tool call with id {0:?}")]
    Orphan(String),
}

/// Why a list cannot be sent, and at which record.
pub(crate) type ListError = At<ListFault>;

/// Checks a list before it is sent or kept. The first broken rule is reported: of the leading block first, then of
/// each record in order.
pub(crate) fn check(records: &[Arc<Record>]) -> Result<(), ListError> {
    check_leading_block(records)?;
    let mut seen = BTreeSet::new();
    let mut open = Open::default();
    for (index, record) in records.iter().enumerate() {
        let at = |fault| At::new(index + 1, fault);
        if record.role != Role::Assistant && !record.calls.is_empty() {
            return Err(at(ListFault::StrayCalls));
        }
        if let Some(id) = &record.tool_call_id {
            if !open.pending.remove(id.as_str()) {
                return Err(at(ListFault::Orphan(id.clone())));
            }
            continue;
        }
        open.settle()?;
        let repeated = record.calls.iter().find(|call| !seen.insert(&*call.id));
        if let Some(call) = repeated {
            return Err(at(ListFault::DuplicateCall(call.id.clone())));
        }
        open = Open::new(index + 1, &record.calls);
    }
    open.settle()
}

/// Two or more leading system records compose into one, so all of them are plain text.
fn check_leading_block(records: &[Arc<Record>]) -> Result<(), ListError> {
    let leading = records.iter().take_while(|record| record.role == Role::System).count();
    let parts = |record: &Arc<Record>| matches!(record.content, Content::Parts(_));
    match records[..leading].iter().position(parts) {
        Some(index) if leading > 1 => Err(At::new(index + 1, ListFault::SystemParts)),
        _ => Ok(()),
    }
}

/// The assistant record whose calls the tool records after it answer.
#[derive(Default)]
struct Open<'a> {
    position: usize,
    calls: &'a [RoundCall],
    /// The ids that no tool record answered yet.
    pending: BTreeSet<&'a str>,
}

impl<'a> Open<'a> {
    fn new(position: usize, calls: &'a [RoundCall]) -> Self {
        Self {
            position,
            calls,
            pending: calls.iter().map(|call| &*call.id).collect(),
        }
    }

    /// Every call was answered.
    fn settle(&self) -> Result<(), ListError> {
        let unanswered = self.calls.iter().find(|call| self.pending.contains(&*call.id));
        match unanswered {
            None => Ok(()),
            Some(call) => Err(At::new(self.position, ListFault::NoResult(call.id.clone()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(records: serde_json::Value) -> Vec<Arc<Record>> {
        let records: Vec<serde_json::Value> = serde_json::from_value(records).expect("a list of records");
        records
            .into_iter()
            .map(|record| Arc::new(Record::check(record).expect("a record")))
            .collect()
    }

    fn fault(records: serde_json::Value) -> Option<String> {
        check(&list(records)).err().map(|error| error.to_string())
    }

    #[test]
    fn a_tool_record_with_calls_is_refused_for_them_before_it_is_an_orphan() {
        assert_eq!(
            fault(json!([{
                "role": "tool", "content": "", "tool_call_id": "a", "tool_calls": [{ "id": "b", "name": "n" }],
            }])),
            Some("messages[1] sets tool_calls but is not an assistant message".to_owned())
        );
    }

    #[test]
    fn an_open_call_is_reported_before_the_duplicate_that_follows_it() {
        let calls = json!({ "role": "assistant", "content": "", "tool_calls": [{ "id": "a", "name": "n" }] });
        assert_eq!(
            fault(json!([calls, calls])),
            Some("messages[1] tool call \"a\" has no tool result".to_owned())
        );
        let result = json!({ "role": "tool", "content": "", "tool_call_id": "a" });
        assert_eq!(
            fault(json!([calls, result, calls])),
            Some("messages[3] tool call id \"a\" duplicates an earlier tool call".to_owned())
        );
    }

    #[test]
    fn results_come_in_any_order_and_once() {
        let calls = json!({
            "role": "assistant", "content": "", "tool_calls": [{ "id": "a", "name": "n" }, { "id": "b", "name": "n" }],
        });
        let result = |id: &str| json!({ "role": "tool", "content": "", "tool_call_id": id });
        assert_eq!(fault(json!([calls, result("b"), result("a")])), None);
        assert_eq!(
            fault(json!([calls, result("b"), result("b"), result("a")])),
            Some("messages[3] is an orphan tool record: no pending assistant tool call with id \"b\"".to_owned())
        );
    }

    #[test]
    fn an_empty_list_breaks_no_rule() {
        assert_eq!(fault(json!([])), None);
    }
}
