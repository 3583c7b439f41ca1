//! The `json` library, and conversion between Lua values and JSON trees (book: Encoding and decoding JSON with
//! `json`).

mod budget;
mod convert;
mod decode;
mod encode;
mod library;
mod path;
mod problem;
mod sink;
mod tables;
mod tape;
mod walk;

pub use self::convert::{Nulls, ToJsonError, from_json, out_of_memory, to_json, type_name};
pub(crate) use self::convert::{to_json_within, to_tape};
pub(crate) use self::library::library;
pub(crate) use self::path::{Step, render as render_path};
pub(crate) use self::problem::MAX_DATA_LEVELS;
pub use self::problem::{NotJson, Problem};
pub(crate) use self::sink::as_integer;
pub(crate) use self::tape::{Node, Tape};
