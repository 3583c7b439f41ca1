//! What a Host sets up once, for all its runs.

use std::sync::Arc;

use runvil_engine::{Limits, ModelInfo, ZeroLimit};
use runvil_model::ModelBackend;
use runvil_pack::{PackRegistry, Plugin, RegistryError, ServiceKey, Services, shipped::SubagentsPlugin};

use crate::{
    Launch, Observer, Preparation, RunReport, drive,
    origin::{Origin, StartInstants, SystemOrigin},
    packs::InstalledPacks,
    prepare,
};

/// The models that a run can reach.
#[derive(Clone, Default)]
pub struct ModelAccess {
    /// Who serves model rounds. `None` when model access is off or not configured: every round then fails as
    /// unavailable.
    pub backend: Option<Arc<dyn ModelBackend>>,
    /// The current model, to which every role is bound. `None` binds no role and checks none.
    pub current: Option<ModelInfo>,
}

impl std::fmt::Debug for ModelAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelAccess")
            .field("backend", &self.backend.is_some())
            .field("current", &self.current)
            .finish()
    }
}

/// An application that starts runs, as far as the Harness needs to know it. Clones share everything.
#[derive(Clone)]
pub struct Host(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) packs: InstalledPacks,
    pub(crate) services: Services,
    pub(crate) models: ModelAccess,
    pub(crate) limits: Limits,
    pub(crate) debug: bool,
    pub(crate) origin: Arc<dyn Origin>,
    pub(crate) starts: StartInstants,
}

impl Host {
    /// Starts to set up a Host.
    #[must_use]
    pub fn builder() -> HostBuilder {
        HostBuilder::new()
    }

    /// Prepares a run and drives it to its end. The observer hears all of it, parse events included.
    pub async fn run(&self, launch: Launch, observer: &mut dyn Observer) -> RunReport {
        match prepare(self, launch).await {
            Preparation::Ready(prepared) => drive(*prepared, observer).await,
            Preparation::Ended(report) => {
                for event in &report.events {
                    observer.event(event);
                }
                *report
            }
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }
}

/// Sets up a [`Host`].
pub struct HostBuilder {
    registry: PackRegistry,
    refused: Option<RegistryError>,
    services: Services,
    models: ModelAccess,
    limits: Limits,
    debug: bool,
    origin: Arc<dyn Origin>,
}

/// Why a Host cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A Plugin added a Pack that the registry refused.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A limit of runs is zero.
    #[error(transparent)]
    Limit(#[from] ZeroLimit),
}

impl HostBuilder {
    fn new() -> Self {
        let builder = Self {
            registry: PackRegistry::new(),
            refused: None,
            services: Services::new(),
            models: ModelAccess::default(),
            limits: Limits::default(),
            debug: false,
            origin: Arc::new(SystemOrigin),
        };
        // Every run holds this Pack.
        builder.plugin(&SubagentsPlugin)
    }

    /// Calls a Plugin, which adds its Packs.
    #[must_use]
    pub fn plugin(mut self, plugin: &dyn Plugin) -> Self {
        if let Err(error) = plugin.add_packs(&mut self.registry) {
            self.refused.get_or_insert(error);
        }
        self
    }

    /// Adds a service that the Host has for all its runs.
    #[must_use]
    pub fn service<T: ?Sized + Send + Sync + 'static>(mut self, key: ServiceKey<T>, service: Arc<T>) -> Self {
        self.services = self.services.with(key, service);
        self
    }

    /// Sets the models of runs that bring none of their own.
    #[must_use]
    pub fn models(mut self, models: ModelAccess) -> Self {
        self.models = models;
        self
    }

    /// Sets the limits of every run.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Turns debug mode on or off: whether runs report raw model traffic.
    #[must_use]
    pub fn debug(mut self, debug: bool) -> Self {
        self.debug = debug;
        self
    }

    /// Sets where seeds and start instants come from, in place of the operating system.
    #[must_use]
    pub fn origin(mut self, origin: Arc<dyn Origin>) -> Self {
        self.origin = origin;
        self
    }

    /// Builds every Pack and sets the Host up. A Pack that cannot be built is no error: runs find it unavailable.
    ///
    /// # Errors
    /// A Plugin added a Pack twice, or a limit is zero.
    pub fn build(self) -> Result<Host, HostError> {
        if let Some(error) = self.refused {
            return Err(error.into());
        }
        self.limits.validate()?;
        Ok(Host(Arc::new(Shared {
            packs: InstalledPacks::build(self.registry, &self.services),
            services: self.services,
            models: self.models,
            limits: self.limits,
            debug: self.debug,
            origin: self.origin,
            starts: StartInstants::new(),
        })))
    }
}
