//! Record views: read-only looks at one record (book: What a record view allows).

use std::sync::Arc;

use runvil_lua::{
    Nulls, from_json,
    mlua::{
        self, AnyUserData, IntoLua, IntoLuaMulti, Lua, MetaMethod, MultiValue, UserData, UserDataMethods, UserDataRef,
        Value,
    },
};

use crate::conversation::{Field, Record};

/// What an assignment to a view raises.
const READ_ONLY: &str =
    "records read from messages are read-only; rewrite history with models.compact(compactor, reason)";

/// A view. It holds its record, so an edit of the list never changes what it shows.
pub(crate) struct RecordView(pub(crate) Arc<Record>);

impl UserData for RecordView {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, view, key: Value| match key {
            Value::String(name) => match Field::named(&name.as_bytes()) {
                Some(field) => view.read(lua, field),
                None => Ok(Value::Nil),
            },
            _ => Ok(Value::Nil),
        });
        methods.add_meta_function(MetaMethod::NewIndex, |_, _: MultiValue| {
            Err::<(), _>(mlua::Error::runtime(READ_ONLY))
        });
        methods.add_meta_function(MetaMethod::Pairs, |lua, view: AnyUserData| {
            (lua.create_function(next)?, view).into_lua_multi(lua)
        });
    }
}

impl RecordView {
    fn read(&self, lua: &Lua, field: Field) -> mlua::Result<Value> {
        match self.0.field(field) {
            Some(value) => from_json(lua, &value, Nulls::Kept),
            None => Ok(Value::Nil),
        }
    }
}

/// One step of `pairs(view)`: the next field that the record has.
fn next(lua: &Lua, (view, last): (UserDataRef<RecordView>, Option<mlua::LuaString>)) -> mlua::Result<MultiValue> {
    let mut fields = Field::ALL.into_iter();
    if let Some(last) = last {
        let last = Field::named(&last.as_bytes());
        fields.by_ref().find(|field| Some(*field) == last);
    }
    for field in fields {
        let value = view.read(lua, field)?;
        if !value.is_nil() {
            return (field.name().into_lua(lua)?, value).into_lua_multi(lua);
        }
    }
    ().into_lua_multi(lua)
}
