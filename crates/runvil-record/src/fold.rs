//! How a value stands in the database: its long texts and long lists are taken out, and kept once.
//!
//! What is left is JSON. `{"$text": 7}` stands for text 7 and `{"$list": 9}` for the list that ends at node 9. An object
//! of the value itself that has one key, and one that begins with `$`, gets a second `$` before it.

use std::{collections::HashMap, sync::Arc};

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// A text of fewer bytes stays where it is.
const LONG_TEXT: usize = 48;

/// A list of fewer items stays where it is.
const LONG_LIST: usize = 4;

const TEXT: &str = "$text";
const LIST: &str = "$list";

/// A text's key in the database.
pub(crate) type TextKey = i64;

/// The key of a list's last node; 0 is the empty list.
type ListKey = i64;

/// The hash that a text is known by.
pub(crate) fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Takes the values of one run apart.
///
/// It remembers what the run has in the database, so it is of no more use after a transaction that did not land.
pub(crate) struct Folder {
    run: i64,
    texts: HashMap<[u8; 32], TextKey>,
    lists: HashMap<(ListKey, TextKey), ListKey>,
}

impl Folder {
    /// The folder of a run that has these lists already.
    pub(crate) fn new(connection: &Connection, run: i64) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare("SELECT key, before, item FROM lists WHERE run = ?1")?;
        let rows = statement.query_map([run], |row| Ok(((row.get(1)?, row.get(2)?), row.get(0)?)))?;
        let lists = rows.collect::<rusqlite::Result<_>>()?;
        Ok(Self {
            run,
            texts: HashMap::new(),
            lists,
        })
    }

    /// The value as it stands in the database.
    pub(crate) fn fold(&mut self, connection: &Connection, value: &impl Serialize) -> rusqlite::Result<String> {
        let value = serde_json::to_value(value).expect("the data of a run is JSON");
        Ok(self.fold_value(connection, value)?.to_string())
    }

    fn fold_value(&mut self, connection: &Connection, value: Value) -> rusqlite::Result<Value> {
        Ok(match value {
            Value::String(text) if text.len() >= LONG_TEXT => reference(TEXT, self.text(connection, text.as_bytes())?),
            Value::Array(items) => {
                let items = items
                    .into_iter()
                    .map(|item| self.fold_value(connection, item))
                    .collect::<rusqlite::Result<Vec<_>>>()?;
                if items.len() < LONG_LIST {
                    Value::Array(items)
                } else {
                    reference(LIST, self.list(connection, &items)?)
                }
            }
            Value::Object(members) => {
                let escaped = is_reserved(&members);
                let mut folded = Map::new();
                for (name, member) in members {
                    let name = if escaped { format!("${name}") } else { name };
                    folded.insert(name, self.fold_value(connection, member)?);
                }
                Value::Object(folded)
            }
            other => other,
        })
    }

    /// The key of a text, which the run holds from here on.
    pub(crate) fn text(&mut self, connection: &Connection, bytes: &[u8]) -> rusqlite::Result<TextKey> {
        let hash = hash(bytes);
        if let Some(&key) = self.texts.get(&hash) {
            return Ok(key);
        }
        let known = connection
            .prepare_cached("SELECT key FROM texts WHERE hash = ?1")?
            .query_row([&hash[..]], |row| row.get(0))
            .optional()?;
        let key = match known {
            Some(key) => key,
            None => connection
                .prepare_cached("INSERT INTO texts (hash, body) VALUES (?1, ?2)")?
                .insert(params![&hash[..], bytes])?,
        };
        connection
            .prepare_cached("INSERT OR IGNORE INTO text_uses (run, text) VALUES (?1, ?2)")?
            .execute([self.run, key])?;
        self.texts.insert(hash, key);
        Ok(key)
    }

    /// The key of a list of folded items.
    fn list(&mut self, connection: &Connection, items: &[Value]) -> rusqlite::Result<ListKey> {
        let mut list = 0;
        for item in items {
            let item = self.text(connection, item.to_string().as_bytes())?;
            list = match self.lists.get(&(list, item)) {
                Some(&key) => key,
                None => self.add_node(connection, list, item)?,
            };
        }
        Ok(list)
    }

    fn add_node(&mut self, connection: &Connection, before: ListKey, item: TextKey) -> rusqlite::Result<ListKey> {
        let key = ListKey::try_from(self.lists.len()).expect("fewer nodes than an i64 counts") + 1;
        connection
            .prepare_cached("INSERT INTO lists (run, key, before, item) VALUES (?1, ?2, ?3, ?4)")?
            .execute([self.run, key, before, item])?;
        self.lists.insert((before, item), key);
        Ok(key)
    }
}

fn reference(kind: &str, key: i64) -> Value {
    Value::Object(Map::from_iter([(kind.to_owned(), key.into())]))
}

/// Whether an object could be taken for a reference.
fn is_reserved(members: &Map<String, Value>) -> bool {
    members.len() == 1 && members.keys().all(|name| name.starts_with('$'))
}

/// Puts the values of one run together again. It keeps each text that it read, once.
pub(crate) struct Unfolder {
    run: i64,
    texts: HashMap<TextKey, Arc<[u8]>>,
    /// Each node's list before it, and its item.
    nodes: HashMap<ListKey, (ListKey, Value)>,
}

/// Why a value cannot be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnfoldError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Damaged(String),
}

impl Unfolder {
    pub(crate) fn new(run: i64) -> Self {
        Self {
            run,
            texts: HashMap::new(),
            nodes: HashMap::new(),
        }
    }

    /// The data that stands in the database as `text`.
    pub(crate) fn unfold<T: serde::de::DeserializeOwned>(
        &mut self,
        connection: &Connection,
        text: &str,
    ) -> Result<T, UnfoldError> {
        let value = self.unfold_value(connection, parse(text.as_bytes())?)?;
        T::deserialize(value).map_err(|error| UnfoldError::Damaged(error.to_string()))
    }

    fn unfold_value(&mut self, connection: &Connection, value: Value) -> Result<Value, UnfoldError> {
        Ok(match value {
            Value::Array(items) => Value::Array(
                items
                    .into_iter()
                    .map(|item| self.unfold_value(connection, item))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(members) if is_reserved(&members) => self.unfold_reserved(connection, members)?,
            Value::Object(members) => {
                let mut unfolded = Map::new();
                for (name, member) in members {
                    unfolded.insert(name, self.unfold_value(connection, member)?);
                }
                Value::Object(unfolded)
            }
            other => other,
        })
    }

    fn unfold_reserved(&mut self, connection: &Connection, members: Map<String, Value>) -> Result<Value, UnfoldError> {
        let (name, member) = members.into_iter().next().expect("a reserved object has one key");
        match (name.as_str(), member.as_i64()) {
            (TEXT, Some(key)) => {
                let bytes = self.text(connection, key)?;
                let text = std::str::from_utf8(&bytes).map_err(|_| damaged(format_args!("text {key} is not UTF-8")))?;
                Ok(Value::String(text.to_owned()))
            }
            (LIST, Some(key)) => self.list(connection, key).map(Value::Array),
            _ if name.starts_with("$$") => {
                let member = self.unfold_value(connection, member)?;
                Ok(Value::Object(Map::from_iter([(name[1..].to_owned(), member)])))
            }
            _ => Err(damaged(format_args!("`{name}` refers to nothing"))),
        }
    }

    /// A text's bytes.
    pub(crate) fn text(&mut self, connection: &Connection, key: TextKey) -> Result<Arc<[u8]>, UnfoldError> {
        if let Some(bytes) = self.texts.get(&key) {
            return Ok(Arc::clone(bytes));
        }
        let row = connection
            .prepare_cached("SELECT hash, body FROM texts WHERE key = ?1")?
            .query_row([key], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?)))
            .optional()?;
        let (known, bytes) = row.ok_or_else(|| damaged(format_args!("text {key} is missing")))?;
        if hash(&bytes)[..] != known[..] {
            return Err(damaged(format_args!("text {key} is not what was written")));
        }
        let bytes: Arc<[u8]> = bytes.into();
        self.texts.insert(key, Arc::clone(&bytes));
        Ok(bytes)
    }

    fn list(&mut self, connection: &Connection, end: ListKey) -> Result<Vec<Value>, UnfoldError> {
        let mut items = Vec::new();
        let mut node = end;
        while node != 0 {
            let (before, item) = self.node(connection, node)?;
            // A node stands behind the one that it extends, so that no list goes round in circles.
            if *before >= node || *before < 0 {
                return Err(damaged(format_args!("list node {node} is out of order")));
            }
            items.push(item.clone());
            node = *before;
        }
        items.reverse();
        Ok(items)
    }

    fn node(&mut self, connection: &Connection, key: ListKey) -> Result<&(ListKey, Value), UnfoldError> {
        if !self.nodes.contains_key(&key) {
            let row = connection
                .prepare_cached("SELECT before, item FROM lists WHERE run = ?1 AND key = ?2")?
                .query_row([self.run, key], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let (before, item) = row.ok_or_else(|| damaged(format_args!("list node {key} is missing")))?;
            let item = self.text(connection, item)?;
            let item = self.unfold_value(connection, parse(&item)?)?;
            self.nodes.insert(key, (before, item));
        }
        Ok(&self.nodes[&key])
    }
}

/// Values nest as deep as a prompt's Lua may make them, and the Engine bounds that.
fn parse(bytes: &[u8]) -> Result<Value, UnfoldError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut reader).map_err(damaged)
}

fn damaged(detail: impl std::fmt::Display) -> UnfoldError {
    UnfoldError::Damaged(detail.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Database;

    fn there_and_back(values: &[Value]) -> Vec<Value> {
        let database = Database::in_memory().expect("a database");
        let connection = database.connection();
        let mut folder = Folder::new(&connection, 1).expect("a folder");
        let folded: Vec<String> = values
            .iter()
            .map(|value| folder.fold(&connection, value).expect("folded"))
            .collect();
        let mut unfolder = Unfolder::new(1);
        let unfold = |text: &String| unfolder.unfold(&connection, text).expect("unfolded");
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
    fn a_value_nests_deeper_than_a_readers_default() {
        let deep = (0..400).fold(json!("x"), |inner, _| json!([inner]));
        assert_eq!(there_and_back(std::slice::from_ref(&deep)), [deep]);
    }

    #[test]
    fn a_text_and_the_beginning_of_a_list_are_kept_once() {
        let database = Database::in_memory().expect("a database");
        let connection = database.connection();
        let mut folder = Folder::new(&connection, 1).expect("a folder");
        let text = |number: usize| format!("{number} {}", "x".repeat(100));
        let list: Vec<String> = (0..20).map(text).collect();
        for length in 10..20 {
            folder.fold(&connection, &&list[..length]).expect("folded");
        }
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table}");
            connection
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .expect("a count")
        };
        // Each item has its text, and its JSON, which refers to the text.
        assert_eq!((count("lists"), count("texts")), (19, 38));
    }
}
