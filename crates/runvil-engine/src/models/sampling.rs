//! Sampling options (book: Sampling options on `models.use`).

use std::fmt;

use runvil_lua::mlua::{Lua, Table, Value};

use crate::globals::{data, type_name};

/// The two settings that a selection can carry. What is unset is not sent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sampling {
    /// From 0.0 to 2.0.
    pub(crate) temperature: Option<f64>,
    /// The most tokens of a reply, at least 1.
    pub(crate) max_tokens: Option<u32>,
}

/// Why an options table is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum OptionFault {
    #[error("models.use options must be a table, got {0}")]
    NotATable(&'static str),
    #[error("models.use option names must be strings, got {0}")]
    Name(&'static str),
    #[error("models.use option {0:?} is unknown: expected temperature or max_tokens")]
    Unknown(String),
    #[error("models.use option temperature must be a number, got {0}")]
    TemperatureType(&'static str),
    #[error("models.use option temperature must be finite, got {0:?}")]
    NotFinite(f64),
    #[error("models.use option temperature {0} is outside the supported range [0.0, 2.0]")]
    TemperatureRange(Written),
    #[error("models.use option max_tokens must be an integer in [1, {max}], got {0}", max = u32::MAX)]
    MaxTokens(Written),
}

/// A number as the author wrote it, or the type of what is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Written {
    Integer(i64),
    Float(f64),
    Other(&'static str),
}

impl From<&Value> for Written {
    fn from(value: &Value) -> Self {
        match value {
            Value::Integer(integer) => Self::Integer(*integer),
            Value::Number(float) => Self::Float(*float),
            other => Self::Other(type_name(other)),
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Float(float) => fmt::Debug::fmt(float, f),
            Self::Other(kind) => f.write_str(kind),
        }
    }
}

impl Sampling {
    /// Reads the options of a `models.use` call; nil is none.
    ///
    /// Names that are not strings are refused first, by type name; then the string names are checked in bytewise
    /// order, so the same call always reports the same problem.
    pub(crate) fn read(lua: &Lua, options: &Value) -> Result<Self, OptionFault> {
        let table = match options {
            Value::Nil => return Ok(Self::default()),
            Value::Table(table) => table,
            other => return Err(OptionFault::NotATable(type_name(other))),
        };
        let mut sampling = Self::default();
        for (name, value) in sorted(&data::unguarded(lua, table))? {
            match &*name {
                b"temperature" => sampling.temperature = Some(temperature(&value)?),
                b"max_tokens" => sampling.max_tokens = Some(max_tokens(&value)?),
                _ => {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    return Err(OptionFault::Unknown(name));
                }
            }
        }
        Ok(sampling)
    }
}

/// The entries by name, or the least type among the names that are not strings.
fn sorted(options: &Table) -> Result<Vec<(Vec<u8>, Value)>, OptionFault> {
    let mut named = Vec::new();
    let mut stray: Option<&'static str> = None;
    for (name, value) in options.pairs::<Value, Value>().flatten() {
        match name {
            Value::String(name) => named.push((name.as_bytes().to_vec(), value)),
            other => {
                let kind = type_name(&other);
                stray = Some(stray.map_or(kind, |least| least.min(kind)));
            }
        }
    }
    if let Some(kind) = stray {
        return Err(OptionFault::Name(kind));
    }
    named.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(named)
}

fn temperature(value: &Value) -> Result<f64, OptionFault> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "an integer large enough to lose precision is out of range anyway"
    )]
    let number = match value {
        Value::Integer(integer) => *integer as f64,
        Value::Number(float) => *float,
        other => return Err(OptionFault::TemperatureType(type_name(other))),
    };
    if !number.is_finite() {
        return Err(OptionFault::NotFinite(number));
    }
    if !(0.0..=2.0).contains(&number) {
        return Err(OptionFault::TemperatureRange(value.into()));
    }
    Ok(number)
}

fn max_tokens(value: &Value) -> Result<u32, OptionFault> {
    crate::globals::whole_number(value)
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number >= 1)
        .ok_or_else(|| OptionFault::MaxTokens(value.into()))
}
