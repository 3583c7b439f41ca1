//! The Pack `runvil/web`: `web/fetch` fetches one page as text, `web/search` searches the web.
//!
//! A model supplies the URL that is fetched, so the fetch policy is a boundary: a URL is admitted before anything is
//! sent, every redirect is admitted again, and a connection opens only to an address that the address policy allows,
//! checked when the name is resolved for that connection. Everything that comes back is bounded: in time, in bytes
//! after decompression, in the nodes and depth of a parsed page, and in characters.
//!
//! The network is a trait, [`HttpTransport`], which performs one hop. [`DirectTransport`] is the real one; a test kit
//! gives a scripted one and gets every rule above it unchanged.

mod policy;

mod admission;
mod shown;
mod text;

mod address;
mod transport;

mod body;
mod charset;
mod content_type;
mod extract;
mod fetch;

mod search;

mod plugin;

#[cfg(test)]
mod testing;

pub use address::AddressPolicy;
pub use bytes::Bytes;
pub use extract::{Extraction, ExtractionLabel, extract};
pub use http::{HeaderMap, StatusCode};
pub use plugin::{TOKIO_RUNTIME, WebPlugin};
pub use search::GatewaySearch;
pub use transport::{
    BodyError, DirectTransport, HopError, HopRequest, HopResponse, HttpBody, HttpTransport, Lookup, SystemLookup,
};
pub use url::Url;
