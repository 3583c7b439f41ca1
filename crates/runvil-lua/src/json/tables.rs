//! What JSON a table is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::path::Step;
use super::problem::Problem;
use super::sink::{Sink, as_integer};
use super::walk::{Entered, Mode, Stop, Walk, name_of_infinite, type_name};
use crate::order::SortKey;
use crate::raw::{Reader, Seen, Slot};

/// The keys of a table, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) integers: usize,
    texts: usize,
    /// Keys that are neither integers nor strings, and those among them that are numbers or booleans.
    others: usize,
    scalars: usize,
    least: i64,
    greatest: i64,
    /// The least type rank among the keys that are neither integers nor strings.
    other: Option<(u8, &'static str)>,
}

/// What a table's keys make it.
#[derive(Clone, Copy, Debug)]
enum Form {
    List(usize),
    Object,
}

impl Shape {
    pub(super) fn of(reader: &Reader<'_>, table: Slot) -> Result<Self, Stop> {
        let mut shape = Self::default();
        reader.each(table, |key, _| {
            shape.count(&reader.see(key));
            Ok::<_, Stop>(())
        })?;
        Ok(shape)
    }

    fn count(&mut self, key: &Seen<'_>) {
        match key {
            Seen::Integer(index) => {
                if self.integers == 0 {
                    (self.least, self.greatest) = (*index, *index);
                }
                self.least = self.least.min(*index);
                self.greatest = self.greatest.max(*index);
                self.integers += 1;
            }
            Seen::Text(_) => self.texts += 1,
            other => {
                self.others += 1;
                self.scalars += usize::from(matches!(other, Seen::Boolean(_) | Seen::Float(_)));
                let ranked = (type_rank(other), type_name(other));
                self.other = Some(self.other.map_or(ranked, |least| least.min(ranked)));
            }
        }
    }

    fn keys(&self) -> usize {
        self.integers + self.texts + self.others
    }

    /// The type of the first key in visiting order that is no integer.
    pub(super) fn first_key_type(&self) -> Option<&'static str> {
        let text = (self.texts > 0).then_some((TEXT_RANK, "string"));
        let first = match (self.other, text) {
            (Some(other), Some(text)) => Some(other.min(text)),
            (other, text) => other.or(text),
        };
        first.map(|(_, name)| name)
    }

    /// How many items the table has as a list, or what keeps it from being one.
    pub(super) fn as_list(&self, reader: &Reader<'_>, entered: &Entered) -> Result<Result<usize, Problem>, Stop> {
        let problem = if entered.marked {
            self.first_key_type().map(Problem::ListKeyType)
        } else if let Some((_, name)) = self.other {
            Some(Problem::KeyType(name))
        } else {
            (self.texts > 0).then_some(Problem::Mixed)
        };
        Ok(match problem {
            Some(problem) => Err(problem),
            None => match self.missing(reader, entered.table)? {
                Some(item) => Err(Problem::Missing(item)),
                None => Ok(self.integers),
            },
        })
    }

    /// The first of 1 to n that is absent, where n counts the integer keys.
    fn missing(&self, reader: &Reader<'_>, table: Slot) -> Result<Option<i64>, Stop> {
        let count = i64::try_from(self.integers).unwrap_or(i64::MAX);
        if self.integers == 0 || (self.least == 1 && self.greatest == count) {
            return Ok(None);
        }
        for index in 1..=count {
            let item = reader.item(table, index)?;
            let absent = reader.see(item) == Seen::Nil;
            reader.release(reader.below(item));
            if absent {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn form(&self, reader: &Reader<'_>, entered: &Entered) -> Result<Result<Form, Problem>, Stop> {
        if !entered.marked && self.integers == 0 {
            return Ok(match self.other {
                Some((_, name)) => Err(Problem::KeyType(name)),
                None => Ok(Form::Object),
            });
        }
        Ok(self.as_list(reader, entered)?.map(Form::List))
    }
}

const TEXT_RANK: u8 = 2;

/// Where keys of a type come in visiting order.
fn type_rank(key: &Seen<'_>) -> u8 {
    match key {
        Seen::Boolean(_) => 0,
        Seen::Integer(_) | Seen::Float(_) => 1,
        Seen::Text(_) => TEXT_RANK,
        Seen::Function => 3,
        Seen::Light(_) => 4,
        Seen::Table(_) => 5,
        Seen::Thread => 6,
        Seen::Userdata | Seen::Nil => 7,
    }
}

/// Writes a table that was entered.
pub(super) fn write<'a, S: Sink>(walk: &mut Walk<'a, S>, entered: &Entered) -> Result<(), Stop> {
    let shape = Shape::of(walk.reader, entered.table)?;
    match shape.form(walk.reader, entered)? {
        Ok(Form::List(count)) => write_list(walk, entered.table, count),
        Ok(Form::Object) => write_object(walk, entered.table, &shape),
        Err(problem) if walk.mode == Mode::Strict => Err(walk.stop(problem)),
        Err(_) => write_dump(walk, entered.table, &shape),
    }
}

fn write_list<S: Sink>(walk: &mut Walk<'_, S>, table: Slot, count: usize) -> Result<(), Stop> {
    walk.sink.begin_list(count);
    for (index, _) in (1..).zip(0..count) {
        walk.sink.item(index == 1);
        let item = walk.reader.item(table, index)?;
        walk.member(Step::Index(index), item)?;
        walk.reader.release(walk.reader.below(item));
    }
    walk.sink.end_list();
    Ok(())
}

fn write_object<'a, S: Sink>(walk: &mut Walk<'a, S>, table: Slot, shape: &Shape) -> Result<(), Stop> {
    walk.budget.take_keys(shape.texts)?;
    let first = walk.reader.spread(table, shape.texts)?;
    let mut keys: Vec<(&'a [u8], usize)> = Vec::with_capacity(shape.texts);
    for place in 0..shape.texts {
        if let Seen::Text(key) = walk.reader.see(walk.reader.pair(first, place).0) {
            walk.budget.spend_bytes(key.len())?;
            keys.push((key, place));
        }
    }
    keys.sort_unstable();
    if keys.iter().any(|(key, _)| std::str::from_utf8(key).is_err()) {
        return write_broken_object(walk, table, shape, &keys);
    }
    walk.sink.begin_object();
    for (nth, &(key, place)) in keys.iter().enumerate() {
        walk.sink.key(nth == 0, &String::from_utf8_lossy(key));
        walk.member(Step::Name(key), walk.reader.pair(first, place).1)?;
    }
    walk.sink.end_object();
    walk.budget.give_back_keys(shape.texts);
    Ok(())
}

/// Deals with an object that has a key which is not UTF-8.
fn write_broken_object<'a, S: Sink>(
    walk: &mut Walk<'a, S>,
    table: Slot,
    shape: &Shape,
    keys: &[(&'a [u8], usize)],
) -> Result<(), Stop> {
    walk.budget.give_back_keys(shape.texts);
    if walk.mode == Mode::Debug {
        return write_dump(walk, table, shape);
    }
    let broken = keys.iter().find(|(key, _)| std::str::from_utf8(key).is_err());
    walk.steps.extend(broken.map(|&(key, _)| Step::Name(key)));
    Err(walk.stop(Problem::NotUtf8))
}

/// Writes a table that breaks the rules as an object, each key that is a scalar by its text.
fn write_dump<'a, S: Sink>(walk: &mut Walk<'a, S>, table: Slot, shape: &Shape) -> Result<(), Stop> {
    let counted = shape.texts + shape.others - shape.scalars;
    walk.budget.take_keys(counted)?;
    let first = walk.reader.spread(table, shape.keys())?;
    let mut keys = Vec::with_capacity(shape.keys());
    for place in 0..shape.keys() {
        let key = walk.reader.see(walk.reader.pair(first, place).0);
        if let Some(sort_key) = sort_key(&key) {
            keys.push((sort_key, key, place));
        }
    }
    keys.sort_by(|a, b| a.0.cmp(&b.0));
    let mut members = BTreeMap::new();
    for (_, key, place) in keys {
        if let Seen::Text(text) = key {
            walk.budget.spend_bytes(text.len())?;
        }
        members.insert(key_text(&key), (step(&key), place));
    }
    walk.sink.begin_object();
    for (nth, (text, (step, place))) in members.into_iter().enumerate() {
        walk.sink.key(nth == 0, &text);
        walk.member(step, walk.reader.pair(first, place).1)?;
    }
    walk.sink.end_object();
    walk.budget.give_back_keys(counted);
    Ok(())
}

fn sort_key<'a>(key: &Seen<'a>) -> Option<SortKey<'a>> {
    match *key {
        Seen::Boolean(value) => Some(SortKey::boolean(value, 0)),
        Seen::Integer(value) => Some(SortKey::integer(value, 0)),
        Seen::Float(value) => Some(SortKey::float(value, false, 0)),
        Seen::Text(text) => Some(SortKey::text(text, false, 0)),
        _ => None,
    }
}

fn step<'a>(key: &Seen<'a>) -> Step<'a> {
    match *key {
        Seen::Boolean(value) => Step::Boolean(value),
        Seen::Integer(value) => Step::Index(value),
        Seen::Float(value) => Step::Number(value),
        Seen::Text(text) => Step::Name(text),
        _ => Step::Name(b""),
    }
}

/// The text that a scalar key has in a dump: a number as it would encode.
fn key_text<'a>(key: &Seen<'a>) -> Cow<'a, str> {
    match *key {
        Seen::Boolean(value) => Cow::Owned(value.to_string()),
        Seen::Integer(value) => Cow::Owned(value.to_string()),
        Seen::Float(value) if !value.is_finite() => Cow::Borrowed(name_of_infinite(value)),
        Seen::Float(value) => Cow::Owned(match as_integer(value) {
            Some(integer) => integer.to_string(),
            None => serde_json::Value::from(value).to_string(),
        }),
        Seen::Text(text) => String::from_utf8_lossy(text),
        _ => Cow::Borrowed(""),
    }
}
