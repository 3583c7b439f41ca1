//! The store of a run, as the Harness gives it (book: Host stores, policies, and modes).

use std::fmt;

use runvil_engine::StoreAccess;
use runvil_vfs::{Identity, Session, Store, StoreFailure};

/// Which store a run gets.
#[derive(Clone, Default)]
pub enum LaunchStore {
    /// A fresh, empty store in memory, made for this run alone.
    #[default]
    Fresh,
    /// A store that the Host supplies, with its mounts, policy and files as they are.
    Supplied(Store),
    /// None: the Host declares no store, and the run fails when it sets its access up.
    Undeclared,
}

impl LaunchStore {
    /// The store that the run is on.
    pub(crate) fn resolve(self) -> Option<Store> {
        match self {
            Self::Fresh => Some(Store::memory()),
            Self::Supplied(store) => Some(store),
            Self::Undeclared => None,
        }
    }
}

impl fmt::Debug for LaunchStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fresh => "Fresh",
            Self::Supplied(_) => "Supplied",
            Self::Undeclared => "Undeclared",
        })
    }
}

/// Answers a run that opens its store access and forks it.
pub(crate) struct SessionAccess(pub(crate) Session);

impl StoreAccess for SessionAccess {
    fn open(&mut self, _root: &Identity) -> Result<(), StoreFailure> {
        self.0.open()
    }

    fn fork(&mut self, child: &Identity) -> Result<(), StoreFailure> {
        self.0.fork(child)
    }
}
