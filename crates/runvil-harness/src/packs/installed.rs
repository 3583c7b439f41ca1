//! The Packs of a Host, built once when it sets up.

use std::{collections::BTreeMap, sync::Arc};

use runvil_pack::{Pack, PackError, PackId, PackName, PackRegistry, Services};

/// A Pack as it was built, or why it could not be.
pub(crate) type Built = Result<Arc<dyn Pack>, PackError>;

/// The Host's Packs by fully qualified name.
pub(crate) struct InstalledPacks(BTreeMap<PackName, Built>);

impl InstalledPacks {
    /// Builds every Pack of the registry. One that cannot be built stays, as unavailable.
    pub(crate) fn build(registry: PackRegistry, services: &Services) -> Self {
        let packs = registry.build(services).into_iter().map(|built| {
            if let Err(error) = &built.pack {
                tracing::warn!(pack = %built.name, %error, "Pack construct failed; it is built as unavailable");
            }
            (built.name, built.pack)
        });
        Self(packs.collect())
    }

    pub(crate) fn get(&self, name: &PackName) -> Option<&Built> {
        self.0.get(name)
    }

    /// The Packs of every vendor with this Pack id, in order of their names.
    pub(crate) fn with_id(&self, id: &PackId) -> impl Iterator<Item = &PackName> {
        self.0.keys().filter(move |name| name.id() == *id)
    }

    /// The runvil Packs, in order of their Pack ids.
    pub(crate) fn runvil(&self) -> impl Iterator<Item = (&PackName, &Built)> {
        self.0.iter().filter(|(name, _)| name.is_runvil())
    }
}
