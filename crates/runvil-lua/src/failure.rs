//! Failures on their way into Lua, and error values on their way out.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use mlua::{Lua, Table, Value};

use crate::raw;

/// The error kind of every failure on the Lua side (book: The `lua` kind).
pub const LUA_KIND: &str = "lua";

/// The error kind of a failure in the runtime's own machinery.
const INTERNAL_KIND: &str = "internal";

/// Whatever the driver wants back when the failure leaves its block: usually its own error type.
pub type Origin = Arc<dyn Any + Send + Sync>;

/// A failure that reaches Lua as an error value: a table with `kind`, `message` and the kind's own fields under
/// the metatable that all error values of a VM share (book: Error values).
#[derive(Clone)]
pub struct Failure {
    /// The error kind, lowercase snake_case.
    pub kind: Cow<'static, str>,
    /// The display text, without a position.
    pub message: String,
    /// The fields beside `kind` and `message`.
    pub fields: Vec<(Cow<'static, str>, FieldValue)>,
    /// What the driver gets back with the failure, as long as the error value is the one that it raised and no
    /// other suspending call came between.
    pub origin: Option<Origin>,
}

/// The value of one extra field of an error value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// A string field.
    Str(String),
    /// An integer field.
    Int(i64),
}

impl Failure {
    /// A failure without fields or origin.
    #[must_use]
    pub fn new(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            fields: Vec::new(),
            origin: None,
        }
    }

    /// A failure of kind `lua`.
    #[must_use]
    pub fn lua(message: impl Into<String>) -> Self {
        Self::new(LUA_KIND, message)
    }

    /// Adds a field.
    #[must_use]
    pub fn with_field(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<FieldValue>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Attaches the origin.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// The failure that a Rust function's error becomes (book: Which failures become error values). The message
    /// is that of the root cause and never carries a traceback.
    pub(crate) fn from_native(error: &mlua::Error) -> Self {
        use mlua::Error as E;
        let cause = root_cause(error);
        match cause {
            E::ExternalError(external) => external
                .downcast_ref::<Self>()
                .cloned()
                .unwrap_or_else(|| Self::lua(external.to_string())),
            E::RuntimeError(_)
            | E::SyntaxError { .. }
            | E::MemoryError(_)
            | E::BadArgument { .. }
            | E::FromLuaConversionError { .. } => Self::lua(without_traceback(&cause.to_string())),
            machinery => Self::new(INTERNAL_KIND, machinery.to_string()),
        }
    }

    /// Builds the error value, and remembers the failure behind it until the next suspending call returns.
    ///
    /// # Errors
    ///
    /// A Lua memory error.
    pub fn into_error_value(self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table_with_capacity(0, 2 + self.fields.len())?;
        table.raw_set("kind", &*self.kind)?;
        table.raw_set("message", self.message.as_str())?;
        for (name, value) in &self.fields {
            match value {
                FieldValue::Str(text) => table.raw_set(&**name, text.as_str())?,
                FieldValue::Int(number) => table.raw_set(&**name, *number)?,
            }
        }
        raw::bless_error_value(lua, &table)?;
        if self.is_worth_remembering() {
            raw::remember_origin(lua, &table, &lua.create_any_userdata(Remembered(self))?)?;
        }
        Ok(table)
    }

    /// The failure that stands behind an error value as it was raised, as long as it is remembered.
    pub(crate) fn behind(lua: &Lua, table: &Table) -> mlua::Result<Option<Self>> {
        match raw::origin_of(lua, table)? {
            Value::UserData(remembered) => Ok(Some(remembered.borrow::<Remembered>()?.0.clone())),
            Value::Table(copy) => Self::read(&copy).map(Some),
            _ => Ok(None),
        }
    }

    /// A plain `lua` failure holds nothing that its table does not show.
    fn is_worth_remembering(&self) -> bool {
        self.origin.is_some() || self.kind != LUA_KIND
    }

    /// Reads an error value's table as it stands now. A missing or odd `kind` reads as `lua`, a missing message
    /// as the kind.
    pub(crate) fn read(table: &Table) -> mlua::Result<Self> {
        let mut failure = Self::new(LUA_KIND, "");
        let mut message = None;
        for pair in table.pairs::<Value, Value>() {
            let (Value::String(name), value) = pair? else {
                continue;
            };
            let name = name.to_string_lossy();
            match (name.as_str(), field_value(&value)) {
                ("kind", Some(FieldValue::Str(kind))) => failure.kind = kind.into(),
                ("message", Some(FieldValue::Str(text))) => message = Some(text),
                ("kind" | "message", _) | (_, None) => {}
                (_, Some(value)) => failure.fields.push((name.into(), value)),
            }
        }
        failure.message = message.unwrap_or_else(|| failure.kind.clone().into_owned());
        failure.fields.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(failure)
    }
}

/// A failure on the Lua heap.
struct Remembered(Failure);

fn field_value(value: &Value) -> Option<FieldValue> {
    match value {
        Value::String(text) => Some(FieldValue::Str(text.to_string_lossy())),
        Value::Integer(number) => Some(FieldValue::Int(*number)),
        _ => None,
    }
}

fn root_cause(error: &mlua::Error) -> &mlua::Error {
    let mut cause = error;
    while let mlua::Error::CallbackError { cause: inner, .. } | mlua::Error::WithContext { cause: inner, .. } = cause {
        cause = inner;
    }
    cause
}

fn without_traceback(message: &str) -> &str {
    message.split("\nstack traceback:").next().unwrap_or(message)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .field("fields", &self.fields)
            .field("origin", &self.origin.is_some())
            .finish()
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for mlua::Error {
    fn from(failure: Failure) -> Self {
        Self::external(failure)
    }
}

impl From<String> for FieldValue {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<i64> for FieldValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}
