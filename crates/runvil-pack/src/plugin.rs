//! How Packs come to a Host: Plugins, the registry, and building (book: What declaring a Pack does).

use std::fmt;
use std::sync::Arc;

use crate::name::{PackId, PackName};
use crate::pack::{Pack, PackError};
use crate::service::{ServiceKey, Services};

/// An entry point that adds zero or more Packs to a Host. The Host calls it once, when it sets up.
pub trait Plugin {
    /// Adds the Plugin's Packs.
    ///
    /// # Errors
    /// The registry refused a Pack.
    fn add_packs(&self, registry: &mut PackRegistry) -> Result<(), RegistryError>;
}

/// Why the registry refused a Pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A Pack of this name is there already; a Host adds each Pack once.
    #[error("Pack {0} was added twice")]
    Duplicate(PackName),
}

type Build = Box<dyn FnOnce(&BuildContext) -> Result<Arc<dyn Pack>, PackError>>;

/// The Packs that the Plugins of a Host added, not yet built, in the order in which they were added.
#[derive(Default)]
pub struct PackRegistry(Vec<(PackName, Build)>);

impl PackRegistry {
    /// No Packs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the Pack `name`, which `build` makes when the Host sets up.
    ///
    /// A `build` that fails is no setup error: it leaves the Pack unavailable, for the failure's reason.
    ///
    /// # Errors
    /// [`RegistryError::Duplicate`] when the name is taken.
    pub fn add(
        &mut self,
        name: PackName,
        build: impl FnOnce(&BuildContext) -> Result<Arc<dyn Pack>, PackError> + 'static,
    ) -> Result<(), RegistryError> {
        if self.0.iter().any(|(taken, _)| *taken == name) {
            return Err(RegistryError::Duplicate(name));
        }
        self.0.push((name, Box::new(build)));
        Ok(())
    }

    /// Builds every Pack, in the order in which they were added, with the Host-wide services at hand.
    pub fn build(self, services: &Services) -> Vec<BuiltPack> {
        let build_one = |(name, build): (PackName, Build)| {
            let context = BuildContext {
                id: name.id(),
                services: services.clone(),
            };
            BuiltPack {
                pack: build(&context),
                name,
            }
        };
        self.0.into_iter().map(build_one).collect()
    }
}

impl fmt::Debug for PackRegistry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// What a Pack is built with.
#[derive(Debug, Clone)]
pub struct BuildContext {
    id: PackId,
    services: Services,
}

impl BuildContext {
    /// The id of the Pack that is built.
    pub fn id(&self) -> &PackId {
        &self.id
    }

    /// The services that the Host has for all its runs.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// A service without which the Pack cannot be built.
    ///
    /// # Errors
    /// [`PackError::MissingService`] when the Host has none of this id and type.
    pub fn require<T: ?Sized + Send + Sync + 'static>(&self, key: ServiceKey<T>) -> Result<Arc<T>, PackError> {
        let missing = || PackError::MissingService {
            pack: self.id.clone(),
            service: key.name(),
        };
        self.services.get(key).ok_or_else(missing)
    }
}

/// A Pack of a Host after it set up.
#[derive(Clone)]
pub struct BuiltPack {
    /// The fully qualified name.
    pub name: PackName,
    /// The Pack, or why every run finds it unavailable.
    pub pack: Result<Arc<dyn Pack>, PackError>,
}

impl fmt::Debug for BuiltPack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.pack.as_ref().map(|_| "built");
        formatter
            .debug_struct("BuiltPack")
            .field("name", &self.name)
            .field("pack", &state)
            .finish()
    }
}
