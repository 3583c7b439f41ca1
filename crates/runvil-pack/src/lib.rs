//! What a Pack author writes against: names, Packs, Plugins, tools and host services.
//!
//! A *tool* is one operation that a prompt's Lua or a model asks for. A *Pack* is the unit that supplies tools to a
//! run, with a Lua prelude of helpers if it wants one. A *Plugin* adds Packs to a Host. A *service* is what the Host
//! lends: for its lifetime, such as a search provider, or for one run, such as the input broker of its operator.
//!
//! ```
//! use std::sync::Arc;
//!
//! use runvil_pack::{
//!     Arguments, BuildContext, Pack, PackError, PackName, PackRegistry, Plugin, RegistryError, Tool, ToolContext,
//!     ToolDefinition, ToolError, ToolOutput, async_trait,
//! };
//!
//! struct Shout(ToolDefinition);
//!
//! #[async_trait]
//! impl Tool for Shout {
//!     fn definition(&self) -> &ToolDefinition {
//!         &self.0
//!     }
//!
//!     async fn call(&self, arguments: Arguments, _: ToolContext) -> Result<ToolOutput, ToolError> {
//!         let text = arguments
//!             .get("text")
//!             .and_then(|value| value.as_str())
//!             .ok_or_else(|| ToolError::invalid_arguments("shout: missing text argument"))?;
//!         Ok(ToolOutput::trusted(text.to_uppercase()))
//!     }
//! }
//!
//! struct Voice(Vec<Arc<dyn Tool>>);
//!
//! impl Pack for Voice {
//!     fn description(&self) -> &str {
//!         "Says things louder."
//!     }
//!
//!     fn tools(&self) -> Vec<Arc<dyn Tool>> {
//!         self.0.clone()
//!     }
//! }
//!
//! struct VoicePlugin;
//!
//! impl Plugin for VoicePlugin {
//!     fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError> {
//!         let name: PackName = "acme/voice".parse().expect("a fully qualified name");
//!         let shout = name.id().tool("shout").expect("a tool name");
//!         registry.add(name, move |_: &BuildContext| {
//!             let definition = ToolDefinition::new(shout, "Writes text in capitals.");
//!             Ok::<Arc<dyn Pack>, PackError>(Arc::new(Voice(vec![Arc::new(Shout(definition))])))
//!         })
//!     }
//! }
//! ```

mod name;
mod uses;

mod arguments;
mod definition;
mod error;
mod output;
mod tool;

mod cancellation;
mod context;
mod files;
mod input;
mod search;
mod service;

mod configuration;
mod pack;
mod plugin;
pub mod shipped;

pub use async_trait::async_trait;
pub use serde_json;

pub use arguments::Arguments;
pub use cancellation::Cancellation;
pub use configuration::Configuration;
pub use context::ToolContext;
pub use definition::{OutputKind, ToolDefinition};
pub use error::{Cause, ToolError, ToolErrorKind};
pub use files::{FileError, NoFiles, ToolFiles};
pub use input::{INPUT_BROKER, InputBroker, InputError};
pub use name::{NameError, PackId, PackName, RUNVIL_VENDOR, ToolId};
pub use output::{ToolOutput, Trust};
pub use pack::{Pack, PackError};
pub use plugin::{BuildContext, BuiltPack, PackRegistry, Plugin, RegistryError};
pub use search::{
    Freshness, SEARCH_PROVIDER, SafeSearch, SearchError, SearchErrorKind, SearchProvider, SearchRequest, SearchResult,
};
pub use service::{ServiceKey, ServiceName, Services};
pub use tool::Tool;
pub use uses::UsesEntry;
