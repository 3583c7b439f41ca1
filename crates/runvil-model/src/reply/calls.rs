//! Tool calls, put together from their fragments.

use std::collections::BTreeMap;

use runvil_engine::ReplyCall;
use serde_json::{Map, Value};

/// The tool calls of a reply while their fragments arrive.
///
/// A fragment belongs to the call that is open under its index, unless it brings a new id: then it starts a call,
/// since some servers number every call 0. A fragment that repeats the id and name of its call continues it; one
/// without an id but with another name starts a call that has no id, which no judgement will let run.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// In order of appearance, each with its index.
    calls: Vec<(u64, ReplyCall)>,
    by_id: BTreeMap<(u64, String), usize>,
    open: BTreeMap<u64, usize>,
    last_index: u64,
}

impl Calls {
    /// Adds a fragment of a streamed call.
    pub(super) fn take_fragment(&mut self, fragment: Value) {
        let Value::Object(mut fragment) = fragment else {
            return self.take_whole(fragment);
        };
        // A server that leaves the index out goes on with the call that it sent last.
        let index = fragment.get("index").and_then(Value::as_u64).unwrap_or(self.last_index);
        let call = call(&mut fragment);
        self.last_index = index;
        let slot = self.slot(index, &call).unwrap_or_else(|| self.start(index));
        self.continue_call(slot, index, call);
    }

    /// Adds a call of a message that is not streamed.
    pub(super) fn take_whole(&mut self, whole: Value) {
        let call = match whole {
            Value::Object(mut whole) => call(&mut whole),
            _ => ReplyCall {
                id: String::new(),
                name: String::new(),
                arguments: String::new(),
            },
        };
        let index = self.calls.len() as u64;
        self.calls.push((index, call));
    }

    /// The calls, in the order of their indexes; under one index, in the order in which they began.
    pub(super) fn finish(mut self) -> Vec<ReplyCall> {
        self.calls.sort_by_key(|(index, _)| *index);
        self.calls.into_iter().map(|(_, call)| call).collect()
    }

    /// The call that a fragment continues, if it continues one.
    fn slot(&self, index: u64, fragment: &ReplyCall) -> Option<usize> {
        if !fragment.id.is_empty()
            && let Some(slot) = self.by_id.get(&(index, fragment.id.clone()))
        {
            return Some(*slot);
        }
        let slot = *self.open.get(&index)?;
        let (_, open) = &self.calls[slot];
        let same_id = fragment.id.is_empty() || open.id.is_empty();
        let same_name = fragment.name.is_empty() || open.name.is_empty() || fragment.name == open.name;
        (same_id && same_name).then_some(slot)
    }

    fn start(&mut self, index: u64) -> usize {
        let slot = self.calls.len();
        self.calls.push((
            index,
            ReplyCall {
                id: String::new(),
                name: String::new(),
                arguments: String::new(),
            },
        ));
        slot
    }

    fn continue_call(&mut self, slot: usize, index: u64, fragment: ReplyCall) {
        let (_, call) = &mut self.calls[slot];
        if call.id.is_empty() && !fragment.id.is_empty() {
            self.by_id.insert((index, fragment.id.clone()), slot);
            call.id = fragment.id;
        }
        if call.name.is_empty() {
            call.name = fragment.name;
        }
        call.arguments.push_str(&fragment.arguments);
        self.open.insert(index, slot);
    }
}

/// Takes what a fragment or a whole call says; what it leaves out is empty.
fn call(from: &mut Map<String, Value>) -> ReplyCall {
    let id = string(from.remove("id"));
    let (name, arguments) = match from.remove("function") {
        Some(Value::Object(mut function)) => (string(function.remove("name")), arguments(function.remove("arguments"))),
        _ => (String::new(), String::new()),
    };
    ReplyCall { id, name, arguments }
}

fn string(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

/// Arguments are JSON text; some servers send the JSON itself.
fn arguments(value: Option<Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assemble(fragments: impl IntoIterator<Item = Value>) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        fragments.into_iter().for_each(|fragment| calls.take_fragment(fragment));
        calls
            .finish()
            .into_iter()
            .map(|call| (call.id, call.name, call.arguments))
            .collect()
    }

    fn fragment(index: u64, id: &str, name: &str, arguments: &str) -> Value {
        json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
    }

    fn triple(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn fragments_join_under_their_index() {
        let calls = assemble([
            fragment(0, "a", "x", ""),
            json!({ "index": 0, "function": { "arguments": "{\"n\"" } }),
            fragment(1, "b", "y", "{"),
            json!({ "index": 0, "id": null, "function": { "name": null, "arguments": ":1}" } }),
            json!({ "index": 1, "function": { "arguments": "}" } }),
        ]);
        assert_eq!(calls, [triple("a", "x", "{\"n\":1}"), triple("b", "y", "{}")]);
    }

    #[test]
    fn the_index_gives_the_order() {
        let calls = assemble([fragment(1, "b", "y", "{}"), fragment(0, "a", "x", "{}")]);
        assert_eq!(calls, [triple("a", "x", "{}"), triple("b", "y", "{}")]);
    }

    #[test]
    fn a_new_id_under_one_index_starts_a_call() {
        let calls = assemble([
            fragment(0, "a", "x", "{\"n\":1}"),
            fragment(0, "b", "x", "{\"n\":"),
            json!({ "index": 0, "function": { "arguments": "2}" } }),
        ]);
        assert_eq!(calls, [triple("a", "x", "{\"n\":1}"), triple("b", "x", "{\"n\":2}")]);
    }

    #[test]
    fn a_missing_index_goes_on_with_the_last_call() {
        let bare = |id: &str, arguments: &str| json!({ "id": id, "function": { "name": "x", "arguments": arguments } });
        let calls = assemble([bare("a", "{"), bare("", "}"), bare("b", "{}")]);
        assert_eq!(calls, [triple("a", "x", "{}"), triple("b", "x", "{}")]);
    }

    #[test]
    fn an_id_and_a_name_repeated_in_each_fragment_are_taken_once() {
        let calls = assemble([
            fragment(0, "a", "x", "{"),
            fragment(0, "a", "x", "}"),
            fragment(0, "", "x", ""),
        ]);
        assert_eq!(calls, [triple("a", "x", "{}")]);
    }

    #[test]
    fn a_late_id_joins_its_call() {
        let calls = assemble([fragment(0, "", "x", "{"), fragment(0, "a", "", "}")]);
        assert_eq!(calls, [triple("a", "x", "{}")]);
    }

    #[test]
    fn another_name_without_an_id_is_a_call_without_an_id() {
        let calls = assemble([fragment(0, "a", "x", ""), fragment(0, "", "y", "{}")]);
        assert_eq!(calls, [triple("a", "x", ""), triple("", "y", "{}")]);
    }

    #[test]
    fn an_id_repeated_under_another_index_stays_a_call_of_its_own() {
        let calls = assemble([fragment(0, "a", "x", "{}"), fragment(1, "a", "x", "{}")]);
        assert_eq!(calls, [triple("a", "x", "{}"), triple("a", "x", "{}")]);
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_empty_and_json_arguments_become_text() {
        let calls = assemble([
            json!({ "index": 0, "id": 7, "function": { "name": "x", "arguments": { "n": 1 } } }),
            json!({ "index": 1, "id": "b" }),
            json!({ "index": 2, "id": "c", "function": { "arguments": [1] } }),
            json!({ "index": "3", "id": "d", "function": { "name": 5, "arguments": null } }),
        ]);
        let expected = [
            triple("", "x", "{\"n\":1}"),
            triple("b", "", ""),
            triple("c", "", "[1]"),
            triple("d", "", ""),
        ];
        assert_eq!(calls, expected);
    }

    #[test]
    fn whole_calls_are_never_merged() {
        let mut calls = Calls::default();
        calls.take_whole(json!({ "index": 0, "id": "a", "function": { "name": "x", "arguments": "{}" } }));
        calls.take_whole(json!({ "index": 0, "id": "a", "function": { "name": "x", "arguments": "" } }));
        calls.take_whole(json!("no call"));
        assert_eq!(calls.finish().len(), 3);
    }
}
