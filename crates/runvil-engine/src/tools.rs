//! Tools: the catalog, a section's scope, the list that a round advertises, calls (book: Tools).

mod advertise;
mod call;
mod catalog;
mod local;
mod scope;

pub(crate) use advertise::{Advertised, advertise};
pub(crate) use call::{Batch, CatalogCall, PendingCall, ToolRequest};
pub(crate) use catalog::{Catalog, CatalogTool, pack_of};
pub(crate) use local::{Parameter, ParameterFault, parameters};
pub(crate) use scope::{Loading, ToolScope};
