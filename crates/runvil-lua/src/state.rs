//! State that holds JSON data and nothing else (book: Keeping state in `var`).

use mlua::{Lua, Table, Value};

use crate::failure::Failure;
use crate::json::{self, MAX_DATA_LEVELS, NotJson, Problem, Step, Tape, ToJsonError};
use crate::raw;

/// A global table that checks each write, stores a copy of what is assigned, and reads back as JSON.
///
/// The values lie in hidden tables; the global and every table in it are empty guards in front of them.
#[derive(Clone, Debug)]
pub struct State {
    name: &'static str,
    root: Table,
}

/// Why a state cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The global holds something else.
    #[error("the `{name}` global was reassigned; write `{name}.<field>` instead")]
    Reassigned {
        /// The global's name.
        name: &'static str,
    },
    /// What it holds is not JSON data, such as a table with list items and named keys.
    #[error(transparent)]
    Data(#[from] ToJsonError),
}

impl State {
    /// Makes the global `name` hold a state that starts as `value`, an object or a list.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn install(lua: &Lua, name: &'static str, value: &serde_json::Value) -> mlua::Result<Self> {
        raw::set_state_store(lua, &lua.create_function(store)?)?;
        let mut tape = Tape::default();
        tape.push_value(value);
        let protection = Value::String(lua.create_string(format!("{name} is guarded"))?);
        let key = Value::String(lua.create_string(name)?);
        let root = raw::build_state(lua, &tape, &protection, None, &key)?;
        lua.globals().raw_set(name, &root)?;
        Ok(Self {
            name,
            root: lua.unpack(root)?,
        })
    }

    /// The table that the global held at first.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.root
    }

    /// Reads the state as JSON.
    ///
    /// # Errors
    ///
    /// [`StateError`], whose text is the run's message.
    pub fn read_back(&self, lua: &Lua) -> Result<serde_json::Value, StateError> {
        let held: Value = lua.globals().raw_get(self.name).map_err(ToJsonError::Lua)?;
        if held != Value::Table(self.root.clone()) {
            return Err(StateError::Reassigned { name: self.name });
        }
        Ok(json::to_json_within(lua, &held, self.name, MAX_DATA_LEVELS + 1)?)
    }

    /// A view of the state that reads its values as they are at the moment and refuses writes at every depth (book:
    /// `var` inside a prelude).
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn read_only_view(&self, lua: &Lua) -> mlua::Result<Table> {
        raw::set_state_refusal(lua, &lua.create_function(refuse_view)?)?;
        raw::state_view(lua, &self.root, &format!("{} is read-only", self.name))
    }
}

/// Stores a value that is no plain scalar, or that has an odd key, in the table whose guard has that metatable.
fn store(lua: &Lua, (metatable, key, value): (Table, Value, Value)) -> mlua::Result<()> {
    let mut place = Place::of(&metatable)?;
    let key = place.enter(key)?;
    let copy = copy(lua, &metatable, &key, &value, &place)?;
    let data: Table = metatable.raw_get("__index")?;
    data.raw_set(key, copy)
}

/// The guarded copy of a value.
fn copy(lua: &Lua, metatable: &Table, key: &Value, value: &Value, place: &Place) -> mlua::Result<Value> {
    if value.is_nil() {
        return Ok(Value::Nil);
    }
    let path = place.path();
    let level = place.steps.len() - 1;
    let tape = json::to_tape(lua, value, &path, level).map_err(|error| match error {
        ToJsonError::NotJson(problem) => Failure::lua(problem.to_string()).into(),
        ToJsonError::TooLarge => Failure::lua(format!("{path} is too large to store")).into(),
        ToJsonError::Lua(error) => error,
    })?;
    let protection: Value = metatable.raw_get("__metatable")?;
    raw::build_state(lua, &tape, &protection, Some(metatable), key)
}

/// Raises the refusal of a write to a view.
fn refuse_view(_: &Lua, (metatable, key): (Table, Value)) -> mlua::Result<()> {
    let path = Place::of(&metatable)?.path();
    let key = match &key {
        Value::String(name) => name.to_string_lossy(),
        Value::Integer(index) => index.to_string(),
        other => other.type_name().to_owned(),
    };
    let refusal = format!("{path} is read-only inside a Pack prelude; cannot set '{key}'");
    Err(Failure::lua(refusal).into())
}

/// Where a table of a state lies.
struct Place {
    root: String,
    steps: Vec<OwnedStep>,
}

enum OwnedStep {
    Name(Vec<u8>),
    Index(i64),
}

impl Place {
    /// The place that a guard's metatable keeps.
    fn of(metatable: &Table) -> mlua::Result<Self> {
        let mut place = Self {
            root: String::new(),
            steps: Vec::new(),
        };
        let mut metatable = metatable.clone();
        loop {
            let key: Value = metatable.raw_get(raw::STATE_KEY)?;
            let Some(parent) = metatable.raw_get::<Option<Table>>(raw::STATE_PARENT)? else {
                place.root = key.to_string()?;
                place.steps.reverse();
                return Ok(place);
            };
            place.steps.push(match key {
                Value::Integer(index) => OwnedStep::Index(index),
                other => OwnedStep::Name(other.to_string()?.into_bytes()),
            });
            metatable = parent;
        }
    }

    /// Goes one step further, to a key that a write gave; returns the key as tables hold it.
    fn enter(&mut self, key: Value) -> mlua::Result<Value> {
        let key = match key {
            Value::Number(number) => json::as_integer(number).map_or(key, Value::Integer),
            other => other,
        };
        match &key {
            Value::Integer(index) => self.steps.push(OwnedStep::Index(*index)),
            Value::String(name) => {
                self.steps.push(OwnedStep::Name(name.as_bytes().to_vec()));
                if name.to_str().is_err() {
                    return Err(self.refuse(Problem::NotUtf8));
                }
            }
            other => return Err(self.refuse(Problem::KeyType(json::type_name(other)))),
        }
        Ok(key)
    }

    fn refuse(&self, problem: Problem) -> mlua::Error {
        let path = self.path();
        Failure::lua(NotJson { path, problem }.to_string()).into()
    }

    fn path(&self) -> String {
        let steps: Vec<_> = self
            .steps
            .iter()
            .map(|step| match step {
                OwnedStep::Name(name) => Step::Name(name),
                OwnedStep::Index(index) => Step::Index(*index),
            })
            .collect();
        json::render_path(&self.root, &steps)
    }
}
