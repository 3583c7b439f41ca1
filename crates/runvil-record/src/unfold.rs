//! How a value is put together again from what stands in the database.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::{Map, Value};

use crate::{
    change::{ListKey, TextNumber},
    course::Course,
    deep,
    fold::{LIST, TEXT, hash},
};

/// Whether an object could be taken for a reference.
fn is_reserved(members: &Map<String, Value>) -> bool {
    members.len() == 1 && members.keys().all(|name| name.starts_with('$'))
}

/// Puts the values of one run together again.
pub(crate) struct Unfolder {
    course: Arc<Course>,
    /// The texts that are known to be what was written.
    checked: HashSet<TextNumber>,
    /// The ends of the lists that were read.
    nodes: HashMap<ListKey, Node>,
}

/// The last item of a list.
struct Node {
    /// The list before it.
    before: ListKey,
    item: Value,
    /// How many levels the item nests.
    levels: usize,
}

/// What keeps a value from being put together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damaged(String);

impl Unfolder {
    pub(crate) fn new(course: Arc<Course>) -> Self {
        Self {
            course,
            checked: HashSet::new(),
            nodes: HashMap::new(),
        }
    }

    /// The data that stands in the database as `text`.
    pub(crate) fn unfold<T: serde::de::DeserializeOwned>(&mut self, text: &str) -> Result<T, Damaged> {
        // Every reference begins so, and most values have none.
        if !text.contains("\"$") {
            return parse(text.as_bytes());
        }
        let value = self.unfold_value(parse(text.as_bytes())?)?;
        deep::for_levels(deep::levels(&value), || T::deserialize(value)).map_err(damaged)
    }

    fn unfold_value(&mut self, value: Value) -> Result<Value, Damaged> {
        Ok(match value {
            Value::Array(items) => Value::Array(
                items
                    .into_iter()
                    .map(|item| deep::down(|| self.unfold_value(item)))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(members) if is_reserved(&members) => self.unfold_reserved(members)?,
            Value::Object(members) => {
                let mut unfolded = Map::new();
                for (name, member) in members {
                    unfolded.insert(name, deep::down(|| self.unfold_value(member))?);
                }
                Value::Object(unfolded)
            }
            other => other,
        })
    }

    fn unfold_reserved(&mut self, members: Map<String, Value>) -> Result<Value, Damaged> {
        let (name, member) = members.into_iter().next().expect("a reserved object has one key");
        match (name.as_str(), member.as_i64()) {
            (TEXT, Some(key)) => {
                let bytes = self.text(key)?;
                let text = std::str::from_utf8(&bytes).map_err(|_| damaged(format_args!("text {key} is not UTF-8")))?;
                Ok(Value::String(text.to_owned()))
            }
            (LIST, Some(key)) => self.list(key).map(Value::Array),
            _ if name.starts_with("$$") => {
                let member = deep::down(|| self.unfold_value(member))?;
                Ok(Value::Object(Map::from_iter([(name[1..].to_owned(), member)])))
            }
            _ => Err(damaged(format_args!("`{name}` refers to nothing"))),
        }
    }

    /// A text's bytes.
    pub(crate) fn text(&mut self, number: TextNumber) -> Result<Arc<[u8]>, Damaged> {
        let text = self.course.texts.get(&number);
        let (known, bytes) = text.ok_or_else(|| damaged(format_args!("text {number} is missing")))?;
        if self.checked.insert(number) && hash(bytes) != *known {
            return Err(damaged(format_args!("text {number} is not what was written")));
        }
        Ok(Arc::clone(bytes))
    }

    fn list(&mut self, end: ListKey) -> Result<Vec<Value>, Damaged> {
        let mut items = Vec::new();
        let mut node = end;
        while node != 0 {
            let Node { before, item, levels } = self.node(node)?;
            // A node stands behind the one that it extends, so that no list goes round in circles.
            if *before >= node || *before < 0 {
                return Err(damaged(format_args!("list node {node} is out of order")));
            }
            items.push(deep::for_levels(*levels, || item.clone()));
            node = *before;
        }
        items.reverse();
        Ok(items)
    }

    fn node(&mut self, key: ListKey) -> Result<&Node, Damaged> {
        if !self.nodes.contains_key(&key) {
            let node = self.course.lists.get(&key);
            let &(before, item) = node.ok_or_else(|| damaged(format_args!("list node {key} is missing")))?;
            let item = self.text(item)?;
            let item: Value = parse(&item)?;
            let item = deep::down(|| self.unfold_value(item))?;
            let levels = deep::levels(&item);
            self.nodes.insert(key, Node { before, item, levels });
        }
        Ok(&self.nodes[&key])
    }
}

fn parse<T: serde::de::DeserializeOwned>(json: &[u8]) -> Result<T, Damaged> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    // Values nest as deep as the Engine lets a prompt's Lua make them.
    reader.disable_recursion_limit();
    deep::for_levels(deep::levels_of_json(json), || {
        T::deserialize(&mut reader).map_err(damaged)
    })
}

fn damaged(detail: impl std::fmt::Display) -> Damaged {
    Damaged(detail.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        change::Change,
        fold::{Folder, LONG_TEXT},
    };

    /// A run that holds these texts and lists.
    fn course(changes: Vec<Change>) -> Course {
        let mut course = Course::default();
        for change in changes {
            match change {
                Change::Text { number, hash, body } => {
                    drop(course.texts.insert(number, (hash, body.into_vec().into())));
                }
                Change::Node { key, before, item } => drop(course.lists.insert(key, (before, item))),
                other => panic!("{other:?}"),
            }
        }
        course
    }

    /// Folds values, as a run's writer does, and back.
    fn there_and_back(values: &[Value]) -> Vec<Value> {
        let mut folder = Folder::default();
        let folded: Vec<String> = values.iter().map(|value| folder.fold(value)).collect();
        let mut unfolder = Unfolder::new(Arc::new(course(folder.take())));
        let unfold = |text: &String| unfolder.unfold(text).expect("unfolded");
        folded.iter().map(unfold).collect()
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let key =
            prop_oneof![Just("$text"), Just("$list"), Just("$$text"), Just("a"), Just("")].prop_map(str::to_owned);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-c]{0,3}".prop_map(Value::from),
            "[a-b]".prop_map(|letter| Value::from(letter.repeat(LONG_TEXT + 2))),
        ];
        leaf.prop_recursive(5, 60, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(key.clone(), inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_values_read_back(values in prop::collection::vec(any_value(), 1..4)) {
            prop_assert_eq!(there_and_back(&values), values);
        }
    }

    #[test]
    fn a_value_that_looks_like_a_reference_reads_back() {
        let values = [
            json!({ "$text": 1 }),
            json!({ "$list": 9 }),
            json!({ "$$text": { "$text": 7 } }),
            json!({ "$text": 1, "b": 2 }),
            json!([{ "$list": [1, 2, 3, 4, 5] }, 2, 3, 4]),
        ];
        assert_eq!(there_and_back(&values), values);
    }

    #[test]
    fn a_value_of_a_thousand_levels_fits_on_the_stack_of_any_thread() {
        let nest: [fn(Value) -> Value; 3] = [
            |inner| json!([inner]),
            |inner| json!({ "a": inner }),
            |inner| json!([1, 2, 3, 4, inner]),
        ];
        let work = move || {
            for nest in nest {
                let deep = (0..1000).fold(json!("x"), |inner, _| nest(inner));
                assert_eq!(there_and_back(std::slice::from_ref(&deep)), [deep]);
            }
        };
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        thread.spawn(work).expect("a thread").join().expect("it fits");
    }

    #[test]
    fn a_text_and_the_beginning_of_a_list_are_kept_once() {
        let mut folder = Folder::default();
        let text = |number: usize| format!("{number} {}", "x".repeat(100));
        let list: Vec<String> = (0..20).map(text).collect();
        for length in 10..20 {
            folder.fold(&list[..length]);
        }
        let new = folder.take();
        let texts = new.iter().filter(|change| matches!(change, Change::Text { .. }));
        let nodes = new.iter().filter(|change| matches!(change, Change::Node { .. }));
        // Each item has its text, and its JSON, which refers to the text.
        assert_eq!((nodes.count(), texts.count()), (19, 38));
    }

    #[test]
    fn a_folder_knows_what_its_run_has() {
        let list: Vec<String> = (0..9).map(|number| format!("{number}").repeat(100)).collect();
        let mut folder = Folder::default();
        folder.fold(&list);
        let mut changes = folder.take();
        let mut later = Folder::of(&course(changes.clone()));
        let folded = later.fold(&list);
        assert_eq!(later.take(), []);
        let more: Vec<String> = list.iter().cloned().chain(["one more".to_owned()]).collect();
        let grown = later.fold(&more);
        changes.extend(later.take());
        let mut unfolder = Unfolder::new(Arc::new(course(changes)));
        let mut unfold = |text: &str| unfolder.unfold::<Vec<String>>(text).expect("unfolded");
        assert_eq!((unfold(&folded), unfold(&grown)), (list, more));
    }
}
