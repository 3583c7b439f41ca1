//! The service that the Pack needs.
//!
//! A Pack does not open databases or read credentials of its own. It names a service, and the Host decides what serves
//! it. The key ties the name to the trait, so that a look-up gives the right type or nothing.

use std::collections::BTreeMap;

use async_trait::async_trait;
use runvil_pack::ServiceKey;

/// The Host-wide service `acme/stock`.
pub const STOCK: ServiceKey<dyn Stock> = ServiceKey::new("acme/stock");

/// Knows how much of each item there is.
#[async_trait]
pub trait Stock: Send + Sync {
    /// How many of `item` there are. An error is text that a model may read.
    async fn count(&self, item: &str) -> Result<u64, String>;
}

/// A stock held in memory.
#[derive(Debug, Clone, Default)]
pub struct Shelf(BTreeMap<String, u64>);

impl Shelf {
    /// A shelf with these items.
    pub fn new(items: BTreeMap<String, u64>) -> Self {
        Self(items)
    }
}

#[async_trait]
impl Stock for Shelf {
    async fn count(&self, item: &str) -> Result<u64, String> {
        Ok(self.0.get(item).copied().unwrap_or(0))
    }
}
