//! The record of each run, kept in an SQLite database as the run goes, and read back.
//!
//! A [`Database`] is one file. [`Database::record`] opens the record of a new run; its [`RunWriter`] is the Engine's
//! [`Recorder`](runvil_engine::Recorder): an effect is on the disk before it is performed, and its answer before the run
//! sees it. What is kept survives the death of the process; with [`Durability::Power`], the loss of power too.
//!
//! What a run tells goes into a journal of its own at once, which costs one write, and a little later into the database.
//! If its process dies, whoever opens the database next brings in what the journal has more.
//!
//! The database has a row for each run, for the list of runs, and what happened in a run as the packed frames of its
//! journal, one row for as many as landed together. Each long text stands in it once, under its hash, and a list that grows
//! shares its beginning with the list that it grew from. So a conversation of many rounds costs as much as its texts, not the square of that.
//!
//! ```no_run
//! # fn main() -> Result<(), runvil_record::RecordError> {
//! use runvil_record::{Database, RunFilter};
//!
//! let database = Database::open("runs.db")?;
//! let mut page = database.runs(&RunFilter::default(), None, 50)?;
//! for run in &page.runs {
//!     println!("{} {} {:?}", run.id, run.name, run.outcome);
//! }
//! // The page after it begins behind its last run.
//! while let Some(after) = page.next {
//!     page = database.runs(&RunFilter::default(), Some(&after), 50)?;
//! }
//! # Ok(())
//! # }
//! ```

mod error;
mod id;

mod change;
mod chunk;
mod clock;
mod course;
mod deep;
mod fold;
mod fold_json;
mod rows;
mod tally;
mod unfold;

mod connect;
mod database;
mod older;
mod schema;

mod apply;
mod journal;
mod landing;
mod recover;
mod writer;

mod delete;
mod history;
mod query;
mod read;

pub use database::{Database, Durability};
pub use delete::Deleted;
pub use error::RecordError;
pub use history::{RecordedRun, RunHistory};
pub use id::RunId;
pub use query::{OutcomeKind, Page, RunFilter, RunSummary, Tokens};
pub use read::{RecordedEffect, RecordedEvent, Rows};
pub use writer::{HostFacts, Parent, RunWriter};
