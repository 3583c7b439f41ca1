//! `messages`: the section's message list (book: `messages` is the section's conversation).

mod view;

use std::sync::{Arc, OnceLock};

use runvil_lua::{
    Vm,
    mlua::{
        self, AnyUserData, IntoLuaMulti, Lua, MetaMethod, MultiValue, UserData, UserDataMethods, UserDataRef, Value,
    },
};
use serde_json::Map;

pub(crate) use view::RecordView;

use super::{check::type_name, data, whole_number};
use crate::{
    Failure,
    conversation::{At, Record, RecordFault, ReplaceFault},
    section::SectionContext,
    wire::Role,
};

/// What an assignment to the global raises.
const REASSIGNED: &str = "messages is the section's conversation and cannot be reassigned; add records with append(record), or rewrite history with models.compact(compactor, reason)";

/// What an assignment into the list raises.
const ASSIGNED: &str = "messages cannot be assigned to by index; add records with append(record), or rewrite history with models.compact(compactor, reason)";

/// Has the guard serve `messages`. The list's userdata is made at the first read.
pub(super) fn install(vm: &Vm, context: &Arc<SectionContext>) -> mlua::Result<()> {
    let context = Arc::clone(context);
    let list = OnceLock::new();
    let get = vm.lua().create_function(move |lua, _: MultiValue| {
        if let Some(list) = list.get() {
            return Ok(AnyUserData::clone(list));
        }
        let made = lua.create_userdata(MessageList(Arc::clone(&context)))?;
        Ok(list.get_or_init(|| made).clone())
    })?;
    let set = vm
        .lua()
        .create_function(|_, _: MultiValue| Err::<(), _>(mlua::Error::runtime(REASSIGNED)))?;
    vm.guard_global("messages", &get, &set)
}

/// The list, as Lua holds it.
struct MessageList(Arc<SectionContext>);

impl UserData for MessageList {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        for role in Role::ALL {
            methods.add_function(role.as_str(), move |lua, arguments| {
                edit(role.as_str(), arguments, |context, arguments| {
                    Ok(build(lua, context, role, &arguments)?)
                })
            });
        }
        methods.add_function("append", |lua, arguments| {
            edit("append", arguments, |context, arguments| {
                Ok(append(lua, context, arguments.front())?)
            })
        });
        methods.add_function("replace", |lua, arguments| {
            edit("replace", arguments, |context, arguments| {
                Ok(replace(lua, context, arguments)?)
            })
        });
        methods.add_meta_method(MetaMethod::Len, |_, list, ()| Ok(list.0.state().conversation.len()));
        methods.add_meta_method(MetaMethod::Index, |_, list, key: Value| Ok(list.read(&key)));
        methods.add_meta_function(MetaMethod::NewIndex, |_, _: MultiValue| {
            Err::<(), _>(mlua::Error::runtime(ASSIGNED))
        });
        methods.add_meta_function(MetaMethod::Pairs, walk);
    }
}

impl MessageList {
    /// A view of the record at an integral position, nil for any other key.
    fn read(&self, key: &Value) -> Option<RecordView> {
        let record = self.0.state().conversation.get(whole_number(key)?)?;
        Some(RecordView(record))
    }
}

/// Runs one list method and gives the list back.
fn edit(
    name: &str,
    mut arguments: MultiValue,
    method: impl Fn(&SectionContext, MultiValue) -> mlua::Result<()>,
) -> mlua::Result<AnyUserData> {
    let receiver = arguments.pop_front();
    let receiver = receiver.as_ref().and_then(Value::as_userdata);
    let list = receiver.and_then(|receiver| receiver.borrow::<MessageList>().ok());
    match (receiver, list) {
        (Some(receiver), Some(list)) => {
            method(&list.0, arguments)?;
            Ok(receiver.clone())
        }
        _ => Err(Failure::lua(format!("call {name} on messages with a colon: messages:{name}(...)")).into()),
    }
}

/// The arguments of a builder after the content.
fn fields(role: Role) -> &'static [&'static str] {
    match role {
        Role::System | Role::User => &["content", "meta"],
        Role::Assistant => &["content", "tool_calls", "meta"],
        Role::Tool => &["content", "tool_call_id", "meta"],
    }
}

/// A builder: the record of its role, with a field for each argument that is not nil.
fn build(lua: &Lua, context: &SectionContext, role: Role, arguments: &MultiValue) -> Result<(), Failure> {
    let conversation = &mut context.state().conversation;
    let position = conversation.next_position();
    let refuse = |fault| Failure::from(At::new(position, fault));
    let mut table = Map::new();
    table.insert("role".to_owned(), role.as_str().into());
    for (field, value) in fields(role).iter().zip(arguments) {
        if value.is_nil() {
            continue;
        }
        let value =
            data::to_json(lua, value, field).map_err(|reason| refuse(RecordFault::FieldNotJson { field, reason }))?;
        table.insert((*field).to_owned(), value);
    }
    let record = Record::check(table.into()).map_err(refuse)?;
    Ok(conversation.append(record)?)
}

/// `append(record)`.
fn append(lua: &Lua, context: &SectionContext, record: Option<&Value>) -> Result<(), Failure> {
    let conversation = &mut context.state().conversation;
    let record = read_record(lua, conversation.next_position(), record)?;
    Ok(conversation.append(record)?)
}

/// A record argument at the position that it takes.
fn read_record(lua: &Lua, position: usize, value: Option<&Value>) -> Result<Record, Failure> {
    let read = match value {
        None | Some(Value::Nil) => Err(RecordFault::NotATable),
        Some(value) => data::to_json(lua, value, "record").map_err(RecordFault::NotJson),
    };
    read.and_then(Record::check)
        .map_err(|fault| At::new(position, fault).into())
}

/// `replace(first, last, records...)`.
fn replace(lua: &Lua, context: &SectionContext, mut arguments: MultiValue) -> Result<(), Failure> {
    let refuse = |fault: ReplaceFault| Failure::lua(fault.to_string());
    let conversation = &mut context.state().conversation;
    if !conversation.is_compacting() {
        return Err(refuse(ReplaceFault::NoCompactor));
    }
    let first = bound("first", arguments.pop_front()).map_err(refuse)?;
    let last = bound("last", arguments.pop_front()).map_err(refuse)?;
    let range = conversation.replace_range(first, last).map_err(refuse)?;
    let records = arguments
        .iter()
        .enumerate()
        .map(|(offset, record)| read_record(lua, range.start + offset + 1, Some(record)))
        .collect::<Result<_, _>>()?;
    Ok(conversation.replace(range, records)?)
}

/// A bound of `replace`.
fn bound(name: &'static str, value: Option<Value>) -> Result<i64, ReplaceFault> {
    let value = value.unwrap_or(Value::Nil);
    whole_number(&value).ok_or_else(|| ReplaceFault::Bound {
        bound: name,
        actual: match value {
            Value::Number(float) => float.to_string(),
            other => type_name(&other).to_owned(),
        },
    })
}

/// `pairs(messages)`: stops at the count that the list had when the walk began, and reads the live list.
fn walk(lua: &Lua, list: AnyUserData) -> mlua::Result<MultiValue> {
    let count = list.borrow::<MessageList>()?.0.state().conversation.len();
    let next = lua.create_function(move |lua, (list, position): (UserDataRef<MessageList>, usize)| {
        let position = position + 1;
        let record = list.read(&Value::Integer(position as i64));
        match record.filter(|_| position <= count) {
            Some(record) => (position, record).into_lua_multi(lua),
            None => ().into_lua_multi(lua),
        }
    })?;
    (next, list, 0).into_lua_multi(lua)
}
