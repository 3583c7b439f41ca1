//! Why a value is not JSON data.

use std::fmt;

/// A value that cannot be JSON, and where it sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// The path from the converted value, such as `value.items[2]`.
    pub path: String,
    /// What is wrong there.
    pub problem: Problem,
}

/// What can be wrong with a value (book: When `json.encode` refuses a value).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A value of a type that JSON does not have.
    Type(&'static str),
    /// NaN or an infinity.
    NotFinite,
    /// A string or a key that is not UTF-8.
    NotUtf8,
    /// A table with list items and named keys.
    Mixed,
    /// A list without this item.
    Missing(i64),
    /// A table with a key of a type that objects do not have.
    KeyType(&'static str),
    /// A marked list with a key of this type.
    ListKeyType(&'static str),
    /// A table inside itself.
    Cycle,
    /// A table beyond this many levels.
    TooDeep(usize),
    /// A sealed view whose data cannot be read; its label.
    Unreadable(Option<String>),
}

/// How many tables may be nested in each other where JSON text is made (book: Size and nesting limits).
pub(super) const MAX_TEXT_LEVELS: usize = 127;

/// How many tables data of the run may nest. The book names no limit; this one keeps the walk over them within its stack.
pub(crate) const MAX_DATA_LEVELS: usize = 1_000;

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.problem {
            Problem::Type(found) => write!(f, "{path} must be JSON data, got {found}"),
            Problem::NotFinite => write!(f, "{path} is not a finite number"),
            Problem::NotUtf8 => write!(f, "{path} is not valid UTF-8"),
            Problem::Mixed => write!(f, "{path} mixes list items and named keys"),
            Problem::Missing(item) => write!(f, "{path} is missing list item [{item}]"),
            Problem::KeyType(found) => {
                write!(f, "{path} has a {found} key; object keys must be strings")
            }
            Problem::ListKeyType(found) => {
                write!(f, "{path} is marked as a list but has a {found} key")
            }
            Problem::Cycle => write!(f, "{path} contains itself"),
            Problem::TooDeep(levels) => write!(f, "{path} is nested more than {levels} levels deep"),
            Problem::Unreadable(label) => {
                let label = label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
                write!(
                    f,
                    "{path} cannot be read{label}; copy the fields you need into a plain table"
                )
            }
        }
    }
}

impl std::error::Error for NotJson {}

impl Problem {
    /// What a debug dump writes in place of the value.
    pub(crate) fn placeholder(&self) -> String {
        match self {
            Self::Type("lightuserdata") => "[userdata]".to_owned(),
            Self::Type(found) => format!("[{found}]"),
            Self::Cycle => "[cycle]".to_owned(),
            Self::TooDeep(_) => "[too deep]".to_owned(),
            Self::Unreadable(Some(label)) => format!("[cannot read: {label}]"),
            _ => "[cannot read]".to_owned(),
        }
    }
}
