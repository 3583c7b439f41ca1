//! What one tool call is lent.

use std::fmt;
use std::sync::Arc;

use crate::cancellation::Cancellation;
use crate::files::ToolFiles;
use crate::service::Services;

/// What the Harness lends to one tool call.
#[derive(Clone)]
pub struct ToolContext {
    files: Arc<dyn ToolFiles>,
    run_services: Services,
    host_services: Services,
    cancellation: Cancellation,
}

impl ToolContext {
    /// A context with the given files, no services, and a flag that is not raised.
    pub fn new(files: Arc<dyn ToolFiles>) -> Self {
        Self {
            files,
            run_services: Services::new(),
            host_services: Services::new(),
            cancellation: Cancellation::new(),
        }
    }

    /// Lends the services of the run that makes the call.
    #[must_use]
    pub fn with_run_services(mut self, services: Services) -> Self {
        self.run_services = services;
        self
    }

    /// Lends the services that the Host has for all its runs.
    #[must_use]
    pub fn with_host_services(mut self, services: Services) -> Self {
        self.host_services = services;
        self
    }

    /// Ties the call to `cancellation`.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// The run's files, under the call's own identity.
    pub fn files(&self) -> &dyn ToolFiles {
        &*self.files
    }

    /// The services of the run that makes the call, such as its input broker.
    pub fn run_services(&self) -> &Services {
        &self.run_services
    }

    /// The services that the Host has for all its runs, such as its search provider.
    pub fn host_services(&self) -> &Services {
        &self.host_services
    }

    /// The flag that is raised when nobody waits for the call any more.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ToolContext")
            .field("run_services", &self.run_services)
            .field("host_services", &self.host_services)
            .field("cancellation", &self.cancellation)
            .finish_non_exhaustive()
    }
}
