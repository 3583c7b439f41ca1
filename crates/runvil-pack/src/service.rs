//! Host services: what a Host lends to Packs under a name (book: Host services).

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A service's id, such as `runvil/input-broker`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceName(Cow<'static, str>);

impl ServiceName {
    /// The service with this id.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A service's id together with the Rust type that serves it. `T` may be a trait object.
///
/// ```
/// use std::sync::Arc;
/// use runvil_pack::{ServiceKey, Services};
///
/// trait Clock: Send + Sync {
///     fn hour(&self) -> u8;
/// }
/// struct Noon;
/// impl Clock for Noon {
///     fn hour(&self) -> u8 {
///         12
///     }
/// }
///
/// const CLOCK: ServiceKey<dyn Clock> = ServiceKey::new("acme/clock");
///
/// let services = Services::new().with(CLOCK, Arc::new(Noon));
/// assert_eq!(services.get(CLOCK).map(|clock| clock.hour()), Some(12));
/// ```
pub struct ServiceKey<T: ?Sized> {
    name: &'static str,
    serves: PhantomData<fn() -> Arc<T>>,
}

impl<T: ?Sized> ServiceKey<T> {
    /// The key of the service `name`, served by a `T`.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            serves: PhantomData,
        }
    }

    /// The service's id.
    pub fn name(self) -> ServiceName {
        ServiceName::new(self.name)
    }
}

impl<T: ?Sized> Clone for ServiceKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for ServiceKey<T> {}

impl<T: ?Sized> fmt::Debug for ServiceKey<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ServiceKey").field(&self.name).finish()
    }
}

/// A set of services, each under its id. Clones share the services.
#[derive(Clone, Default)]
pub struct Services(BTreeMap<ServiceName, Arc<dyn Any + Send + Sync>>);

impl Services {
    /// No services.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a service, in place of one with the same id.
    #[must_use]
    pub fn with<T: ?Sized + Send + Sync + 'static>(mut self, key: ServiceKey<T>, service: Arc<T>) -> Self {
        // The box holds the `Arc` itself, so that a trait object can be taken out again.
        self.0.insert(key.name(), Arc::new(service));
        self
    }

    /// Adds a service of which only its presence matters.
    #[must_use]
    pub fn with_name(mut self, name: ServiceName) -> Self {
        self.0.insert(name, Arc::new(()));
        self
    }

    /// The service, if the set has one of this id that is served by a `T`.
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self, key: ServiceKey<T>) -> Option<Arc<T>> {
        self.0.get(&key.name())?.downcast_ref::<Arc<T>>().cloned()
    }

    /// Whether the set has a service of this id.
    pub fn provides(&self, name: &ServiceName) -> bool {
        self.0.contains_key(name)
    }

    /// The ids, in order.
    pub fn names(&self) -> impl Iterator<Item = &ServiceName> {
        self.0.keys()
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: ServiceKey<str> = ServiceKey::new("acme/text");
    const NUMBER: ServiceKey<u32> = ServiceKey::new("acme/text");

    #[test]
    fn a_service_is_found_by_id_and_type() {
        let services = Services::new().with(TEXT, Arc::from("hi"));
        assert_eq!(services.get(TEXT).as_deref(), Some("hi"));
        assert_eq!(services.get(NUMBER), None);
        assert!(services.provides(&NUMBER.name()));
    }

    #[test]
    fn names_come_in_order() {
        let services = Services::new()
            .with_name(ServiceName::new("b/b"))
            .with_name(ServiceName::new("a/a"));
        let names: Vec<_> = services.names().map(ServiceName::as_str).collect();
        assert_eq!(names, ["a/a", "b/b"]);
    }
}
