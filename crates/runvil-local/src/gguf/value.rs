//! A value of the header's metadata.

use super::{GgufError, Source};

/// How deep lists may hold lists. Real files hold lists of plain values.
const MAX_DEPTH: usize = 4;

/// The most values of a file, those in lists included. The largest vocabularies have a tenth of that; a value takes more
/// memory than the byte that it may be in a file.
const MAX_VALUES: u64 = 1 << 22;

/// A metadata value. The widths of numbers do not matter here, and a truth value is 0 or 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    pub(super) fn read(source: &mut Source) -> Result<Self, GgufError> {
        let code = source.u32()?;
        Self::read_as(source, code, 0)
    }

    fn read_as(source: &mut Source, code: u32, depth: usize) -> Result<Self, GgufError> {
        source.values += 1;
        if source.values > MAX_VALUES {
            return Err(source.damaged("there are more than four million metadata values"));
        }
        Ok(match code {
            0 => Self::Unsigned(u64::from(source.array::<1>()?[0])),
            1 => Self::Signed(i64::from(i8::from_le_bytes(source.array()?))),
            2 => Self::Unsigned(u64::from(u16::from_le_bytes(source.array()?))),
            3 => Self::Signed(i64::from(i16::from_le_bytes(source.array()?))),
            4 => Self::Unsigned(u64::from(source.u32()?)),
            5 => Self::Signed(i64::from(i32::from_le_bytes(source.array()?))),
            6 => Self::Float(f64::from(f32::from_le_bytes(source.array()?))),
            7 => Self::Unsigned(u64::from(source.array::<1>()?[0] != 0)),
            8 => Self::Text(source.text()?),
            9 if depth < MAX_DEPTH => {
                let (kind, len) = (source.u32()?, source.u64()?);
                let mut list = Vec::new();
                for _ in 0..len {
                    list.push(Self::read_as(source, kind, depth + 1)?);
                }
                Self::List(list)
            }
            9 => return Err(source.damaged("lists are nested too deeply")),
            10 => Self::Unsigned(source.u64()?),
            11 => Self::Signed(i64::from_le_bytes(source.array()?)),
            12 => Self::Float(f64::from_le_bytes(source.array()?)),
            _ => return Err(source.damaged("a metadata value has an unknown type")),
        })
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_count(&self) -> Option<u64> {
        match self {
            Self::Unsigned(count) => Some(*count),
            Self::Signed(count) => u64::try_from(*count).ok(),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(*number),
            Self::Unsigned(count) => Some(*count as f64),
            Self::Signed(count) => Some(*count as f64),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }
}
