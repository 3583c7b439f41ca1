//! A JSON value laid out flat, between the parser and the Lua heap.
//!
//! Building Lua values can raise an error at any step, which must not jump over the parser's frames; so the parser
//! fills a tape, and the tape is then built into tables in one go.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// One value, or the head of a container whose members follow. An object's members are a text and a value each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Node {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    /// Bytes `start..start + length` of the tape's text.
    Text {
        start: usize,
        length: usize,
    },
    List(usize),
    Object(usize),
}

/// The nodes in document order, and their texts one after another.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    pub(crate) nodes: Vec<Node>,
    pub(crate) text: String,
}

impl Tape {
    pub(super) fn push_text(&mut self, text: &str) {
        let (start, length) = (self.text.len(), text.len());
        self.text.push_str(text);
        self.nodes.push(Node::Text { start, length });
    }

    /// Lays out a tree.
    pub(crate) fn push_value(&mut self, value: &Value) {
        match value {
            Value::Null => self.nodes.push(Node::Null),
            Value::Bool(value) => self.nodes.push(Node::Boolean(*value)),
            Value::Number(number) => self.nodes.push(match number.as_i64() {
                Some(integer) => Node::Integer(integer),
                None => Node::Float(number.as_f64().unwrap_or(f64::NAN)),
            }),
            Value::String(text) => self.push_text(text),
            Value::Array(items) => {
                self.nodes.push(Node::List(items.len()));
                items.iter().for_each(|item| self.push_value(item));
            }
            Value::Object(members) => {
                self.nodes.push(Node::Object(members.len()));
                for (key, value) in members {
                    self.push_text(key);
                    self.push_value(value);
                }
            }
        }
    }

    /// Adds another tape's values behind its own.
    pub(crate) fn append(&mut self, other: &Self) {
        let offset = self.text.len();
        self.text.push_str(&other.text);
        self.nodes.extend(other.nodes.iter().map(|node| match *node {
            Node::Text { start, length } => Node::Text {
                start: start + offset,
                length,
            },
            node => node,
        }));
    }
}

/// Parses one value onto the tape.
pub(crate) struct Onto<'t>(pub(crate) &'t mut Tape);

impl<'de> DeserializeSeed<'de> for Onto<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Onto<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.nodes.push(Node::Null);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.nodes.push(Node::Boolean(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.nodes.push(Node::Integer(value));
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        #[allow(
            clippy::cast_precision_loss,
            reason = "a number past the integers is the nearest float"
        )]
        let beyond = value as f64;
        self.0
            .nodes
            .push(i64::try_from(value).map_or(Node::Float(beyond), Node::Integer));
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.nodes.push(Node::Float(value));
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.push_text(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let head = self.0.nodes.len();
        self.0.nodes.push(Node::List(0));
        let mut count = 0;
        while items.next_element_seed(Onto(self.0))?.is_some() {
            count += 1;
        }
        self.0.nodes[head] = Node::List(count);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let head = self.0.nodes.len();
        self.0.nodes.push(Node::Object(0));
        let mut count = 0;
        while members.next_key_seed(Onto(self.0))?.is_some() {
            members.next_value_seed(Onto(self.0))?;
            count += 1;
        }
        self.0.nodes[head] = Node::Object(count);
        Ok(())
    }
}

/// One document of a stream, on a tape of its own.
#[derive(Debug)]
pub(crate) struct Document(pub(crate) Tape);

impl<'de> serde::Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut tape = Tape::default();
        Onto(&mut tape).deserialize(deserializer)?;
        Ok(Self(tape))
    }
}
