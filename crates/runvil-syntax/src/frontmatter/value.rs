//! A value of the frontmatter together with the way to it, and the messages that a YAML reader gives about values.

use super::document::{Content, Document, NodeId};
use super::scalar::{Kind, Scalar};
use crate::Position;
use crate::lines::{Lines, saturating};

/// Why the frontmatter does not decode: the whole detail of the message, and its place in the YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) detail: String,
    /// Counts the first line of the YAML as line 1.
    pub(super) position: Position,
}

pub(super) type Decoded<T> = Result<T, Rejection>;

/// A node and the path to it, such as `models.writer.keywords[0]`.
#[derive(Debug, Clone)]
pub(super) struct Value<'a> {
    document: &'a Document<'a>,
    id: NodeId,
    path: String,
}

impl<'a> Value<'a> {
    /// The value at the root of a document.
    pub(super) fn root(document: &'a Document<'a>, id: NodeId) -> Self {
        Value {
            document,
            id,
            path: String::new(),
        }
    }

    /// The offset of the value's first byte.
    fn start(&self) -> usize {
        self.document.node(self.id).start
    }

    pub(super) fn content(&self) -> Decoded<&'a Content<'a>> {
        match &self.document.node(self.id).content {
            Content::Broken(broken) => Err(reject(self.document.text, "", &broken.message, broken.at)),
            content => Ok(content),
        }
    }

    /// The rejection of this value, with its path and its place in the text.
    pub(super) fn reject(&self, message: &str) -> Rejection {
        reject(self.document.text, &self.path, message, self.start())
    }

    /// The rejection of this value by a message that names the key by itself, so that the path and the place stay out of the text.
    pub(super) fn reject_plainly(&self, message: String) -> Rejection {
        Rejection {
            detail: message,
            position: position(self.document.text, self.start()),
        }
    }

    /// The rejection of a value of the wrong type.
    pub(super) fn wrong_type(&self, expected: &str) -> Rejection {
        match self.content() {
            Ok(content) => self.reject(&format!("invalid type: {}, expected {expected}", describe(content))),
            Err(broken) => broken,
        }
    }

    /// The entries of a mapping, in source order.
    pub(super) fn entries(&self, expected: &str) -> Decoded<Vec<Entry<'a>>> {
        let Content::Mapping(entries) = self.content()? else {
            return Err(self.wrong_type(expected));
        };
        self.visit(entries.len())?;
        let entry = |&(key, value): &(NodeId, NodeId)| Entry {
            key: self.child(key, ""),
            value: self.child(value, &self.key_path(key)),
        };
        Ok(entries.iter().map(entry).collect())
    }

    /// The items of a sequence, in source order.
    pub(super) fn items(&self, expected: &str) -> Decoded<Vec<Value<'a>>> {
        let Content::Sequence(items) = self.content()? else {
            return Err(self.wrong_type(expected));
        };
        self.visit(items.len())?;
        let item = |(index, &id): (usize, &NodeId)| self.child(id, &format!("[{index}]"));
        Ok(items.iter().enumerate().map(item).collect())
    }

    fn visit(&self, children: usize) -> Decoded<()> {
        match self.document.visit(children) {
            true => Ok(()),
            false => Err(self.reject("repetition limit exceeded")),
        }
    }

    fn child(&self, id: NodeId, step: &str) -> Value<'a> {
        Value {
            document: self.document,
            id,
            path: self.path.clone() + step,
        }
    }

    fn key_path(&self, key: NodeId) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        match &self.document.node(key).content {
            Content::Scalar(scalar) => format!("{dot}{}", scalar.text),
            _ => format!("{dot}?"),
        }
    }

    /// The scalar that it is.
    pub(super) fn scalar(&self, expected: &str) -> Decoded<&'a Scalar<'a>> {
        match self.content()? {
            Content::Scalar(scalar) => Ok(scalar),
            _ => Err(self.wrong_type(expected)),
        }
    }

    /// Whether it is YAML's null.
    pub(super) fn is_null(&self) -> Decoded<bool> {
        Ok(matches!(
            self.content()?,
            Content::Scalar(Scalar { kind: Kind::Null, .. })
        ))
    }

    /// Free text. Plain YAML needs no quotes, so that a number or a word such as `true` is text here, as written.
    pub(super) fn text(&self) -> Decoded<String> {
        let scalar = self.scalar("a string")?;
        match scalar.kind {
            Kind::Null => Err(self.wrong_type("a string")),
            _ => Ok(scalar.text.clone().into_owned()),
        }
    }

    /// Free text, or `None` for null.
    pub(super) fn optional_text(&self) -> Decoded<Option<String>> {
        if self.is_null()? {
            Ok(None)
        } else {
            self.text().map(Some)
        }
    }

    /// Text that is a YAML string and nothing else.
    pub(super) fn string(&self, expected: &str) -> Decoded<&'a str> {
        let scalar = self.scalar(expected)?;
        match scalar.kind {
            Kind::String => Ok(&scalar.text),
            _ => Err(self.wrong_type(expected)),
        }
    }

    /// YAML's `true` or `false`.
    pub(super) fn boolean(&self) -> Decoded<bool> {
        match self.scalar("a boolean")?.kind {
            Kind::Boolean(boolean) => Ok(boolean),
            _ => Err(self.wrong_type("a boolean")),
        }
    }

    /// A whole number: as written, and its value.
    pub(super) fn integer(&self, expected: &str) -> Decoded<(&'a str, i128)> {
        let scalar = self.scalar(expected)?;
        match scalar.kind {
            Kind::Integer(integer) => Ok((&scalar.text, integer)),
            _ => Err(self.wrong_type(expected)),
        }
    }

    /// A whole number from `least` to 4294967295.
    pub(super) fn whole_number(&self, least: u32) -> Decoded<u32> {
        let expected = format!("a whole number from {least} to {}", u32::MAX);
        let (raw, integer) = self.integer(&expected)?;
        match u32::try_from(integer) {
            Ok(number) if number >= least => Ok(number),
            _ => Err(self.reject(&format!("invalid value: integer `{raw}`, expected {expected}"))),
        }
    }

    /// One of the words that `variants` spell.
    pub(super) fn variant<T: Copy>(&self, variants: &[(&str, T)]) -> Decoded<T> {
        let names = one_of(variants.iter().map(|(name, _)| *name));
        let word = &self.scalar(&names)?.text;
        let found = variants.iter().find(|(name, _)| name == word);
        found
            .map(|(_, variant)| *variant)
            .ok_or_else(|| self.reject(&format!("unknown variant `{word}`, expected {names}")))
    }
}

/// One entry of a mapping.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    /// The key, with the path of its mapping.
    pub(super) key: Value<'a>,
    pub(super) value: Value<'a>,
}

impl<'a> Entry<'a> {
    /// The key's text.
    pub(super) fn name(&self) -> Decoded<&'a str> {
        Ok(&self.key.scalar("a string key")?.text)
    }

    /// The rejection of a key outside `fields`.
    pub(super) fn unknown_field(&self, name: &str, fields: &[&str]) -> Rejection {
        let fields = one_of(fields.iter().copied());
        self.key.reject(&format!("unknown field `{name}`, expected {fields}"))
    }

    /// Decodes the value into `slot`, which a key fills once.
    pub(super) fn fill<T>(&self, slot: &mut Option<T>, decode: impl FnOnce(&Value<'a>) -> Decoded<T>) -> Decoded<()> {
        if slot.is_some() {
            let name = self.name()?;
            return Err(self.key.reject(&format!("duplicate field `{name}`")));
        }
        *slot = Some(decode(&self.value)?);
        Ok(())
    }
}

/// The names as a YAML reader lists them.
fn one_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [first, second] => format!("{first} or {second}"),
        _ => format!("one of {}", names.join(", ")),
    }
}

fn describe(content: &Content<'_>) -> String {
    match content {
        Content::Scalar(Scalar { text, kind }) => match kind {
            Kind::Null => "unit value".to_owned(),
            Kind::Boolean(boolean) => format!("boolean `{boolean}`"),
            Kind::Integer(_) => format!("integer `{text}`"),
            Kind::Number(_) => format!("floating point `{text}`"),
            Kind::String => format!("string {text:?}"),
        },
        Content::Sequence(_) => "sequence".to_owned(),
        Content::Mapping(_) => "map".to_owned(),
        Content::Tagged => "tagged value".to_owned(),
        Content::Broken(broken) => broken.message.clone(),
    }
}

/// A rejection in the form `path: message at line 1 column 2`. What stands at the very start of the text gets no place there.
pub(super) fn reject(text: &str, path: &str, message: &str, at: usize) -> Rejection {
    let position = position(text, at);
    let colon = if path.is_empty() { "" } else { ": " };
    let place = match (position.line, position.column) {
        (1, 1) => String::new(),
        (line, column) => format!(" at line {line} column {column}"),
    };
    Rejection {
        detail: format!("{path}{colon}{message}{place}"),
        position,
    }
}

/// The place of a byte of the YAML, its column counted in characters.
fn position(text: &str, at: usize) -> Position {
    let lines = Lines::of(text.as_bytes());
    let at = at.min(text.len());
    let line = lines.at(at);
    let before = &text.as_bytes()[lines.start(line)..at];
    let is_first_byte = |byte: &&u8| **byte & 0xC0 != 0x80;
    Position {
        line: saturating(line + 1),
        column: saturating(before.iter().filter(is_first_byte).count() + 1),
    }
}
