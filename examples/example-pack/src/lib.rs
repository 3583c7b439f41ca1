//! A Pack, step by step.
//!
//! This crate is a whole Pack as an author outside Runvil would write it. It gives prompts a pantry: what is in stock,
//! and shopping lists that are kept in the run's files. Read the modules in this order.
//!
//! 1. [`stock`]: the *service* that the Pack needs from its Host, as a trait. A Host that has a warehouse serves it; a
//!    test serves it from a map.
//! 2. `count`: a *structured* tool. It answers with JSON, which a prompt's Lua receives as a table.
//! 3. `list`: a *plain* tool. It answers with text, and writes a file of the run that calls it.
//! 4. `pantry.lua`: the *prelude*. It defines the global `pantry` for every prompt that declares the Pack.
//! 5. [`PantryPlugin`]: the *Plugin*. It adds the Pack to a Host under its fully qualified name, `acme/pantry`.
//!
//! A Host adds the Plugin and serves the stock:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//!
//! use example_pack::{PantryPlugin, STOCK, Shelf, Stock};
//! use runvil_pack::{PackRegistry, Plugin, Services};
//!
//! let shelf: Arc<dyn Stock> = Arc::new(Shelf::new(BTreeMap::from([("flour".to_owned(), 2)])));
//! let services = Services::new().with(STOCK, shelf);
//!
//! let mut registry = PackRegistry::new();
//! PantryPlugin.add_packs(&mut registry)?;
//! let built = registry.build(&services);
//! assert_eq!(built[0].name.as_str(), "acme/pantry");
//! assert!(built[0].pack.is_ok());
//! # Ok::<(), runvil_pack::RegistryError>(())
//! ```
//!
//! A prompt then declares the Pack and calls it, by the helper of its prelude or by tool id:
//!
//! ````markdown
//! ---
//! name: bake
//! description: Finds out what is missing for a cake.
//! runvil: 0
//! uses: [acme/pantry]
//! ---
//!
//! # Bake
//!
//! ## Check
//!
//! ```lua
//! if pantry.has('flour', 3) then return 'ready' end
//! return tools.call('pantry/list', { items = { 'flour' } })
//! ```
//! ````
//!
//! What the file `tests/pantry.rs` shows is worth copying too: a tool is a value with one async method, so it is tested
//! without a Host, a run or a model.

mod count;
mod list;
mod plugin;
pub mod stock;

pub use plugin::PantryPlugin;
pub use stock::{STOCK, Shelf, Stock};
