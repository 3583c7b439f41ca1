//! The `tasks` table (book: The `tasks` namespace).

use std::sync::Arc;

use runvil_lua::{
    Helper,
    mlua::{self, Function, Lua, MultiValue, Table, Value},
};

use super::{
    arguments,
    check::{is_data, lua_type, optional_string, plain_type_name},
    control::section_target,
    data, read_var,
};
use crate::{
    ChainId, Failure, InvalidChainId, TaskOrigin,
    request::Request,
    section::SectionContext,
    tasks::{FanoutRequest, NotADuration, Seconds, SpawnRequest, TaskRequest, WaitRequest},
};

/// The Lua half of the table.
pub(super) static TASKS: Helper = Helper::new("runvil/tasks.lua", include_str!("../lua/tasks.lua"));

/// An argument that a `tasks` function refuses. `call` is the function's name, such as `tasks.join`.
#[derive(Debug, thiserror::Error)]
enum TaskArgument {
    #[error("tasks.spawn opts must be a table, got {0}")]
    SpawnOptions(&'static str),
    #[error("item must be JSON data, got {0}")]
    Item(&'static str),
    #[error("item must be a JSON-representable value: {0}")]
    ItemContents(String),
    #[error("index must be a non-negative integer, got {0}")]
    Index(String),
    #[error("{call} expects a set of tasks, got {got}")]
    Set { call: &'static str, got: &'static str },
    #[error("{call} requires at least one task")]
    EmptySet { call: &'static str },
    #[error("{call} expects a Task handle or task id, got {got}")]
    Handle { call: &'static str, got: &'static str },
    #[error("`{}` is not a task id such as `0.1`: {problem}", .problem.text)]
    Id { problem: InvalidChainId },
    #[error("{call} opts must be a table, got {got}")]
    WaitOptions { call: &'static str, got: &'static str },
    #[error("{call} timeout must be a number, got {got}")]
    TimeoutType { call: &'static str, got: &'static str },
    #[error(transparent)]
    Timeout(#[from] NotADuration),
    #[error("tasks.pending filter must be a table, got {0}")]
    Filter(&'static str),
    #[error("pending filter origin must be a string, got {0}")]
    OriginType(&'static str),
    #[error("pending filter origin must be `author` or `model`, got `{0}`")]
    Origin(String),
    #[error("tasks.note text must be a string, got {0}")]
    Note(&'static str),
    #[error("text must be a valid UTF-8 string")]
    NoteText,
    #[error("tasks.concurrency limit must be a positive whole number, got {0}")]
    Limit(&'static str),
    #[error("concurrency limit must be a positive whole number in 64-bit range, got {0}")]
    LimitRange(f64),
    #[error(
        "tasks.fanout's second parameter is a collection; for a list section use prompt.list(heading), which returns nil when no visible section has that heading"
    )]
    Collection,
    #[error("fanout collection member at index {index} is a {got}; members must be data")]
    Member { index: String, got: &'static str },
    #[error("fanout collection key must be a string, number, or boolean, got {0}")]
    Key(&'static str),
    #[error("fanout collection key is not a finite number")]
    InfiniteKey,
    #[error("{0}")]
    KeyText(String),
    #[error("tasks.fanout over an empty collection: no work is likely a bug")]
    EmptyCollection,
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl From<TaskArgument> for Failure {
    fn from(refused: TaskArgument) -> Self {
        match refused {
            TaskArgument::Failed(failure) => failure,
            other => Self::Lua(other.to_string()),
        }
    }
}

impl From<mlua::Error> for TaskArgument {
    fn from(error: mlua::Error) -> Self {
        Self::Failed(Failure::lua(error.to_string()))
    }
}

/// Checks a call's arguments and makes its request.
type Check = fn(MultiValue) -> Result<TaskRequest, TaskArgument>;

/// The natives that make the requests, by function name.
pub(super) fn natives(lua: &Lua, context: &Arc<SectionContext>) -> mlua::Result<Table> {
    let natives = lua.create_table_with_capacity(0, 10)?;
    let own = Arc::clone(context);
    let spawn = native(lua, move |lua, given| spawn(lua, &own, &given))?;
    natives.raw_set("spawn", spawn)?;
    let own = Arc::clone(context);
    let fanout = lua.create_function(move |lua, given: MultiValue| {
        fanout(lua, &own, &given).map_err(|refused| Failure::from(refused).into())
    })?;
    natives.raw_set("fanout", fanout)?;
    let waits: [(&str, Check); 8] = [
        ("join_any", |given| {
            Ok(TaskRequest::JoinAny(wait("tasks.join_any", &given)?))
        }),
        ("join", |given| Ok(TaskRequest::Join(wait("tasks.join", &given)?))),
        ("cancel", |given| {
            Ok(TaskRequest::Cancel(task("tasks.cancel", given.front())?))
        }),
        ("ready", |given| {
            Ok(TaskRequest::Ready(task("tasks.ready", given.front())?))
        }),
        ("status", |given| {
            Ok(TaskRequest::Status(task("tasks.status", given.front())?))
        }),
        ("pending", |given| Ok(TaskRequest::Pending(origin(given.front())?))),
        ("note", |given| Ok(TaskRequest::Note(note(given.front())?))),
        ("concurrency", |given| {
            Ok(TaskRequest::Concurrency(limit(given.front())?))
        }),
    ];
    for (name, make) in waits {
        natives.raw_set(name, native(lua, move |_, given| make(given))?)?;
    }
    Ok(natives)
}

fn native(
    lua: &Lua,
    make: impl Fn(&Lua, MultiValue) -> Result<TaskRequest, TaskArgument> + Send + 'static,
) -> mlua::Result<Function> {
    lua.create_function(move |lua, given| match make(lua, given) {
        Ok(request) => Ok(Request::Task(request)),
        Err(refused) => Err(Failure::from(refused).into()),
    })
}

fn got(value: Option<&Value>) -> &'static str {
    value.map_or("nil", plain_type_name)
}

/// The value of a table's field, nil where there is no table.
fn field(table: Option<&Table>, name: &str) -> Result<Value, TaskArgument> {
    table.map_or(Ok(Value::Nil), |table| Ok(table.get(name)?))
}

fn spawn(lua: &Lua, context: &SectionContext, given: &MultiValue) -> Result<TaskRequest, TaskArgument> {
    let target = section_target(given.front())?;
    let options = match given.get(1) {
        None | Some(Value::Nil) => None,
        Some(Value::Table(options)) => Some(options),
        other => return Err(TaskArgument::SpawnOptions(got(other))),
    };
    let input = optional_string("input", Some(&field(options, "input")?))?;
    let item = match field(options, "item")? {
        Value::Nil => None,
        value => Some(item(lua, &value)?),
    };
    let index = index(&field(options, "index")?)?;
    let args = arguments::of_child(lua, context, input.clone())?;
    let var = Arc::new(read_var(lua, context)?);
    Ok(TaskRequest::Spawn(Box::new(SpawnRequest {
        target,
        input,
        args,
        item,
        index,
        var,
    })))
}

/// An item as plain data.
fn item(lua: &Lua, value: &Value) -> Result<serde_json::Value, TaskArgument> {
    if !is_data(value) {
        return Err(TaskArgument::Item(lua_type(value)));
    }
    data::to_json(lua, value, "item").map_err(TaskArgument::ItemContents)
}

fn index(value: &Value) -> Result<Option<i64>, TaskArgument> {
    match value {
        Value::Nil => Ok(None),
        Value::Integer(index) if *index >= 0 => Ok(Some(*index)),
        Value::Integer(negative) => Err(TaskArgument::Index(negative.to_string())),
        other => Err(TaskArgument::Index(plain_type_name(other).to_owned())),
    }
}

/// A task handle, which is any table with a string `task` field, or an id string.
fn task(call: &'static str, value: Option<&Value>) -> Result<ChainId, TaskArgument> {
    let id = match value {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Table(handle)) => match handle.get("task")? {
            Value::String(id) => id,
            _ => return Err(TaskArgument::Handle { call, got: "table" }),
        },
        other => return Err(TaskArgument::Handle { call, got: got(other) }),
    };
    id.to_string_lossy()
        .parse()
        .map_err(|problem| TaskArgument::Id { problem })
}

/// `(set, opts?)`: the sequence part of the set, and the time limit.
fn wait(call: &'static str, given: &MultiValue) -> Result<WaitRequest, TaskArgument> {
    let Some(Value::Table(members)) = given.front() else {
        return Err(TaskArgument::Set {
            call,
            got: got(given.front()),
        });
    };
    let mut set = Vec::new();
    loop {
        match members.get(set.len() + 1)? {
            Value::Nil => break,
            member => set.push(task(call, Some(&member))?),
        }
    }
    if set.is_empty() {
        return Err(TaskArgument::EmptySet { call });
    }
    let options = match given.get(1) {
        None | Some(Value::Nil) => None,
        Some(Value::Table(options)) => Some(options),
        other => return Err(TaskArgument::WaitOptions { call, got: got(other) }),
    };
    let timeout = match field(options, "timeout")? {
        Value::Nil => None,
        Value::Integer(seconds) => Some(Seconds::whole(seconds)?),
        Value::Number(seconds) => Some(Seconds::new(seconds)?),
        other => {
            return Err(TaskArgument::TimeoutType {
                call,
                got: plain_type_name(&other),
            });
        }
    };
    Ok(WaitRequest { set, timeout })
}

fn origin(filter: Option<&Value>) -> Result<Option<TaskOrigin>, TaskArgument> {
    let filter = match filter {
        None | Some(Value::Nil) => return Ok(None),
        Some(Value::Table(filter)) => filter,
        other => return Err(TaskArgument::Filter(got(other))),
    };
    match filter.get("origin")? {
        Value::Nil => Ok(None),
        Value::String(tag) => {
            let tag = tag.to_string_lossy();
            let known = [TaskOrigin::Author, TaskOrigin::Model]
                .into_iter()
                .find(|origin| origin.as_str() == tag);
            known.map(Some).ok_or(TaskArgument::Origin(tag))
        }
        other => Err(TaskArgument::OriginType(plain_type_name(&other))),
    }
}

fn note(value: Option<&Value>) -> Result<String, TaskArgument> {
    match value {
        Some(Value::String(text)) => text
            .to_str()
            .map(|text| text.to_owned())
            .map_err(|_| TaskArgument::NoteText),
        other => Err(TaskArgument::Note(got(other))),
    }
}

fn limit(value: Option<&Value>) -> Result<Option<u64>, TaskArgument> {
    match value {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Integer(limit)) if *limit > 0 => Ok(Some(limit.unsigned_abs())),
        Some(Value::Number(limit)) if *limit >= 1.0 && limit.fract() == 0.0 => {
            if *limit < 18_446_744_073_709_551_616.0 {
                Ok(Some(*limit as u64))
            } else {
                Err(TaskArgument::LimitRange(*limit))
            }
        }
        other => Err(TaskArgument::Limit(got(other))),
    }
}

/// Checks a fanout's worker and collection, and gives the request with the author's own members beside it.
fn fanout(lua: &Lua, context: &SectionContext, given: &MultiValue) -> Result<(Request, Table), TaskArgument> {
    let Some(Value::Table(collection)) = given.get(1) else {
        return Err(TaskArgument::Collection);
    };
    let items = members(lua, collection)?;
    let target = section_target(given.front())?;
    let mut converted = Vec::with_capacity(items.raw_len());
    let mut refused = None;
    for member in items.sequence_values::<Value>() {
        match item(lua, &member?) {
            Ok(member) => converted.push(member),
            Err(problem) => {
                refused = Some(problem.into());
                break;
            }
        }
    }
    let args = arguments::of_child(lua, context, None)?;
    let var = Arc::new(read_var(lua, context)?);
    let request = FanoutRequest {
        target,
        args,
        members: converted,
        refused,
        var,
    };
    Ok((Request::Task(TaskRequest::Fanout(Box::new(request))), items))
}

/// The members in collection order: the array part, then a pair table for each key in the fixed order of keys.
fn members(lua: &Lua, collection: &Table) -> Result<Table, TaskArgument> {
    let items = lua.create_table()?;
    let border = collection.raw_len() as i64;
    for (key, member) in runvil_lua::ordered_pairs(collection)? {
        let in_array = matches!(key, Value::Integer(place) if (1..=border).contains(&place));
        let index = if in_array { key.to_string()? } else { key_text(&key)? };
        if !is_data(&member) {
            return Err(TaskArgument::Member {
                index,
                got: lua_type(&member),
            });
        }
        if in_array {
            items.raw_push(member)?;
        } else {
            items.raw_push(lua.create_table_from([("key", key), ("value", member)])?)?;
        }
    }
    if items.raw_len() == 0 {
        return Err(TaskArgument::EmptyCollection);
    }
    Ok(items)
}

/// Checks a key outside the array part, and gives its plain text.
fn key_text(key: &Value) -> Result<String, TaskArgument> {
    match key {
        Value::String(text) => match text.to_str() {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(TaskArgument::KeyText(error.to_string())),
        },
        Value::Boolean(_) | Value::Integer(_) => Ok(key.to_string()?),
        Value::Number(number) if number.is_finite() => Ok(number.to_string()),
        Value::Number(_) => Err(TaskArgument::InfiniteKey),
        other => Err(TaskArgument::Key(lua_type(other))),
    }
}
