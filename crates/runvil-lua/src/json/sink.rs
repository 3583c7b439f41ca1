//! What a walk writes to: JSON text, or a tree.

use serde_json::{Map, Number, Value};

use super::tape::{Node, Tape};
use super::walk::Stop;

/// Takes a value's parts in order.
pub(crate) trait Sink {
    fn null(&mut self);
    fn boolean(&mut self, value: bool);
    fn integer(&mut self, value: i64);
    /// A finite number.
    fn float(&mut self, value: f64);
    fn text(&mut self, text: &str);
    fn begin_list(&mut self, items: usize);
    /// Before each item.
    fn item(&mut self, first: bool);
    fn end_list(&mut self);
    fn begin_object(&mut self);
    /// Before each value.
    fn key(&mut self, first: bool, key: &str);
    fn end_object(&mut self);

    /// Refuses to grow without end.
    fn check_size(&self) -> Result<(), Stop> {
        Ok(())
    }
}

/// Takes everything and keeps nothing: a walk that only checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoSink;

impl Sink for NoSink {
    fn null(&mut self) {}
    fn boolean(&mut self, _value: bool) {}
    fn integer(&mut self, _value: i64) {}
    fn float(&mut self, _value: f64) {}
    fn text(&mut self, _text: &str) {}
    fn begin_list(&mut self, _items: usize) {}
    fn item(&mut self, _first: bool) {}
    fn end_list(&mut self) {}
    fn begin_object(&mut self) {}
    fn key(&mut self, _first: bool, _key: &str) {}
    fn end_object(&mut self) {}
}

/// Compact JSON text.
#[derive(Debug)]
pub(crate) struct TextSink {
    pub(crate) out: Vec<u8>,
    /// More bytes than a Lua string of the VM could hold: what grows beyond can only fail.
    limit: usize,
}

impl TextSink {
    pub(crate) fn new(limit: usize) -> Self {
        Self { out: Vec::new(), limit }
    }

    fn write(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        serde_json::to_writer(&mut self.out, value).expect("a Vec takes every byte");
    }
}

impl Sink for TextSink {
    fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    fn boolean(&mut self, value: bool) {
        self.write(&value);
    }

    fn integer(&mut self, value: i64) {
        self.write(&value);
    }

    fn float(&mut self, value: f64) {
        match as_integer(value) {
            Some(integer) => self.integer(integer),
            None => self.write(&value),
        }
    }

    fn text(&mut self, text: &str) {
        self.write(text);
    }

    fn begin_list(&mut self, _items: usize) {
        self.out.push(b'[');
    }

    fn item(&mut self, first: bool) {
        if !first {
            self.out.push(b',');
        }
    }

    fn end_list(&mut self) {
        self.out.push(b']');
    }

    fn begin_object(&mut self) {
        self.out.push(b'{');
    }

    fn key(&mut self, first: bool, key: &str) {
        self.item(first);
        self.write(key);
        self.out.push(b':');
    }

    fn end_object(&mut self) {
        self.out.push(b'}');
    }

    fn check_size(&self) -> Result<(), Stop> {
        if self.out.len() > self.limit {
            return Err(Stop::OutOfMemory);
        }
        Ok(())
    }
}

/// The integer that the float is, if it is one in the 64-bit range.
pub(crate) fn as_integer(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    #[allow(clippy::cast_possible_truncation, reason = "the value is integral and in range")]
    let integer = (value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)).then_some(value as i64);
    integer
}

/// A tree of values.
#[derive(Debug, Default)]
pub(crate) struct TreeSink {
    open: Vec<Open>,
    done: Value,
}

#[derive(Debug)]
enum Open {
    List(Vec<Value>),
    Object { map: Map<String, Value>, key: String },
}

impl TreeSink {
    pub(crate) fn finish(self) -> Value {
        self.done
    }

    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            Some(Open::List(items)) => items.push(value),
            Some(Open::Object { map, key }) => {
                map.insert(std::mem::take(key), value);
            }
            None => self.done = value,
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::List(items)) => self.put(Value::Array(items)),
            Some(Open::Object { map, .. }) => self.put(Value::Object(map)),
            None => {}
        }
    }
}

impl Sink for TreeSink {
    fn null(&mut self) {
        self.put(Value::Null);
    }

    fn boolean(&mut self, value: bool) {
        self.put(Value::Bool(value));
    }

    fn integer(&mut self, value: i64) {
        self.put(value.into());
    }

    fn float(&mut self, value: f64) {
        self.put(Number::from_f64(value).map_or(Value::Null, Value::Number));
    }

    fn text(&mut self, text: &str) {
        self.put(text.into());
    }

    fn begin_list(&mut self, items: usize) {
        self.open.push(Open::List(Vec::with_capacity(items)));
    }

    fn item(&mut self, _first: bool) {}

    fn end_list(&mut self) {
        self.close();
    }

    fn begin_object(&mut self) {
        let (map, key) = (Map::new(), String::new());
        self.open.push(Open::Object { map, key });
    }

    fn key(&mut self, _first: bool, name: &str) {
        if let Some(Open::Object { key, .. }) = self.open.last_mut() {
            name.clone_into(key);
        }
    }

    fn end_object(&mut self) {
        self.close();
    }
}

/// A tape.
#[derive(Debug, Default)]
pub(crate) struct TapeSink {
    pub(crate) tape: Tape,
    /// Where the heads of the open containers lie.
    open: Vec<usize>,
}

impl TapeSink {
    fn begin(&mut self, head: Node) {
        self.open.push(self.tape.nodes.len());
        self.tape.nodes.push(head);
    }
}

impl Sink for TapeSink {
    fn null(&mut self) {
        self.tape.nodes.push(Node::Null);
    }

    fn boolean(&mut self, value: bool) {
        self.tape.nodes.push(Node::Boolean(value));
    }

    fn integer(&mut self, value: i64) {
        self.tape.nodes.push(Node::Integer(value));
    }

    fn float(&mut self, value: f64) {
        self.tape.nodes.push(Node::Float(value));
    }

    fn text(&mut self, text: &str) {
        self.tape.push_text(text);
    }

    fn begin_list(&mut self, items: usize) {
        self.begin(Node::List(items));
    }

    fn item(&mut self, _first: bool) {}

    fn end_list(&mut self) {
        self.open.pop();
    }

    fn begin_object(&mut self) {
        self.begin(Node::Object(0));
    }

    fn key(&mut self, _first: bool, key: &str) {
        if let Some(Node::Object(count)) = self.open.last().and_then(|&head| self.tape.nodes.get_mut(head)) {
            *count += 1;
        }
        self.tape.push_text(key);
    }

    fn end_object(&mut self) {
        self.open.pop();
    }
}
