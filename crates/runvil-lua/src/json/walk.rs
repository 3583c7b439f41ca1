//! Walking a Lua value as JSON data (book: Encoding values with `json.encode`).

use super::budget::Budget;
use super::path::{self, Step};
use super::problem::{MAX_TEXT_LEVELS, NotJson, Problem};
use super::sink::Sink;
use super::tables::{self, Shape};
use crate::raw::{Identity, Nature, Reader, Seen, Slot, StackFull};

/// Why a walk stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    NotJson(NotJson),
    TooLarge,
    OutOfMemory,
    Interrupted,
}

impl From<StackFull> for Stop {
    fn from(StackFull: StackFull) -> Self {
        Self::OutOfMemory
    }
}

/// What to do with a value that is not JSON data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Stop at the first.
    Strict,
    /// Write a text in its place.
    Debug,
}

/// One walk over a value, or over the items of a list.
pub(crate) struct Walk<'a, S> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) sink: S,
    pub(super) mode: Mode,
    pub(super) budget: Budget,
    root: &'a str,
    pub(super) steps: Vec<Step<'a>>,
    /// The tables that the walk is inside of, views too.
    inside: Vec<Identity>,
    level: usize,
    max_levels: usize,
}

/// A table whose views were read through, and what to restore when it is left.
pub(super) struct Entered {
    pub(super) table: Slot,
    pub(super) marked: bool,
    inside: usize,
    mark: Slot,
}

impl<'a, S: Sink> Walk<'a, S> {
    pub(crate) fn new(reader: &'a Reader<'a>, root: &'a str, mode: Mode, budget: Budget, sink: S) -> Self {
        Self {
            reader,
            sink,
            mode,
            budget,
            root,
            steps: Vec::new(),
            inside: Vec::new(),
            level: 0,
            max_levels: MAX_TEXT_LEVELS,
        }
    }

    /// Starts at another level, or allows another number of them.
    pub(crate) fn set_levels(&mut self, level: usize, max_levels: usize) {
        (self.level, self.max_levels) = (level, max_levels);
    }

    pub(crate) fn into_sink(self) -> S {
        self.sink
    }

    /// Writes the value in the slot.
    pub(crate) fn value(&mut self, slot: Slot) -> Result<(), Stop> {
        self.budget.spend_value()?;
        match self.reader.see(slot) {
            Seen::Nil => self.sink.null(),
            Seen::Light(pointer) if pointer.is_null() => self.sink.null(),
            Seen::Boolean(value) => self.sink.boolean(value),
            Seen::Integer(value) => self.sink.integer(value),
            Seen::Float(value) => return self.float(value),
            Seen::Text(text) => return self.text(text),
            Seen::Table(_) => return self.table(slot),
            other => return self.refuse(Problem::Type(type_name(&other))),
        }
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Stop> {
        if value.is_finite() {
            self.sink.float(value);
            return Ok(());
        }
        if self.mode == Mode::Strict {
            return Err(self.stop(Problem::NotFinite));
        }
        self.sink.text(name_of_infinite(value));
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Stop> {
        self.budget.spend_bytes(text.len())?;
        match std::str::from_utf8(text) {
            Ok(text) => self.sink.text(text),
            Err(_) if self.mode == Mode::Strict => return Err(self.stop(Problem::NotUtf8)),
            Err(_) => self.sink.text(&String::from_utf8_lossy(text)),
        }
        self.sink.check_size()
    }

    fn table(&mut self, slot: Slot) -> Result<(), Stop> {
        let entered = match self.enter(slot)? {
            Ok(entered) => entered,
            Err(problem) => return self.refuse(problem),
        };
        self.level += 1;
        let written = if self.level > self.max_levels {
            self.refuse(Problem::TooDeep(self.max_levels))
        } else {
            tables::write(self, &entered)
        };
        self.level -= 1;
        written?;
        self.leave(&entered);
        self.sink.check_size()
    }

    /// Puts the table on the path and reads through its views. The inner error is one that a debug dump writes
    /// a text for; the table is then left already.
    pub(super) fn enter(&mut self, slot: Slot) -> Result<Result<Entered, Problem>, Stop> {
        let mut entered = Entered {
            table: slot,
            marked: false,
            inside: self.inside.len(),
            mark: self.reader.mark(),
        };
        let problem = loop {
            let Seen::Table(identity) = self.reader.see(entered.table) else {
                break Problem::Type("nil");
            };
            if self.inside.contains(&identity) {
                break Problem::Cycle;
            }
            self.inside.push(identity);
            match self.reader.nature(entered.table)? {
                Nature::Plain => return Ok(Ok(entered)),
                Nature::List => {
                    entered.marked = true;
                    return Ok(Ok(entered));
                }
                Nature::View(data) => {
                    self.budget.spend_value()?;
                    entered.table = data;
                }
                Nature::Sealed(label) => {
                    break Problem::Unreadable(label.map(|label| String::from_utf8_lossy(label).into_owned()));
                }
            }
        };
        self.leave(&entered);
        Ok(Err(problem))
    }

    pub(super) fn leave(&mut self, entered: &Entered) {
        self.inside.truncate(entered.inside);
        self.reader.release(entered.mark);
    }

    /// Writes a value in a table, one step further down.
    pub(super) fn member(&mut self, step: Step<'a>, value: Slot) -> Result<(), Stop> {
        self.steps.push(step);
        self.value(value)?;
        self.steps.pop();
        Ok(())
    }

    /// Stops, or writes the problem's text.
    pub(super) fn refuse(&mut self, problem: Problem) -> Result<(), Stop> {
        match self.mode {
            Mode::Strict => Err(self.stop(problem)),
            Mode::Debug => {
                self.sink.text(&problem.placeholder());
                Ok(())
            }
        }
    }

    /// The end of a walk at the place where it stands.
    pub(super) fn stop(&self, problem: Problem) -> Stop {
        Stop::NotJson(NotJson {
            path: path::render(self.root, &self.steps),
            problem,
        })
    }
}

/// The name that messages give a value's type: integers are told from floats, and light userdata from full.
pub(crate) fn type_name(value: &Seen<'_>) -> &'static str {
    match value {
        Seen::Nil => "nil",
        Seen::Boolean(_) => "boolean",
        Seen::Integer(_) => "integer",
        Seen::Float(_) => "number",
        Seen::Text(_) => "string",
        Seen::Table(_) => "table",
        Seen::Function => "function",
        Seen::Thread => "thread",
        Seen::Userdata => "userdata",
        Seen::Light(_) => "lightuserdata",
    }
}

/// What a debug dump writes for a number that is not finite.
pub(super) fn name_of_infinite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

impl<S: Sink> Walk<'_, S> {
    /// Writes each item of a list and then calls `finish_item`; the list itself stays on the path. The inner error is
    /// the type of a key that makes the value no list at all.
    pub(crate) fn items(
        &mut self,
        list: Slot,
        mut finish_item: impl FnMut(&mut S),
    ) -> Result<Result<(), &'static str>, Stop> {
        let entered = match self.enter(list)? {
            Ok(entered) => entered,
            Err(problem) => return Err(self.stop(problem)),
        };
        let shape = Shape::of(self.reader, entered.table)?;
        if !entered.marked
            && shape.integers == 0
            && let Some(key) = shape.first_key_type()
        {
            return Ok(Err(key));
        }
        let count = match shape.as_list(self.reader, &entered)? {
            Ok(count) => count,
            Err(problem) => return Err(self.stop(problem)),
        };
        for (index, _) in (1..).zip(0..count) {
            let item = self.reader.item(entered.table, index)?;
            self.member(Step::Index(index), item)?;
            finish_item(&mut self.sink);
            self.reader.release(self.reader.below(item));
        }
        self.leave(&entered);
        Ok(Ok(()))
    }
}
