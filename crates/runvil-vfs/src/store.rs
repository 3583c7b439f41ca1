//! The store that a Host declares for a run (book: A store the Host supplies).

use std::sync::{Arc, PoisonError, RwLock};

use crate::{
    backend::Backend,
    failure::StoreFailure,
    memory::MemoryBackend,
    mounts::{Mount, MountError, Mounts, absolute},
    op::{StoreOp, StoreReply},
    perform::{Claimant, View},
    policy::{Mode, Policy},
    session::Session,
};

/// A directory of a tree of mounts, with the policy that the runs on it are under. Clones are the same store.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    mounts: Mounts,
    /// The store's root without its leading `/`.
    root: String,
    policy: RwLock<Option<Arc<dyn Policy>>>,
}

impl Store {
    /// The default store: empty, in memory, without a policy.
    #[must_use]
    pub fn memory() -> Self {
        Self::over(MemoryBackend::new())
    }

    /// A store of its own over one backend.
    #[must_use]
    pub fn over(backend: impl Backend + 'static) -> Self {
        let mount = Mount::new("/", backend).expect("the root is a place");
        let mounts = Mounts::new([mount]).expect("one mount shares its place with none");
        Self::new(mounts, "/").expect("the root is a place")
    }

    /// A store rooted at an absolute place among the mounts, such as `/` or `/my/store`. Its operations reach only the
    /// mount that serves the root. A root that no mount serves is a store without a backend: it refuses to be opened.
    ///
    /// # Errors
    /// The root is malformed.
    pub fn new(mounts: Mounts, root: &str) -> Result<Self, MountError> {
        let root = absolute(root)?.to_owned();
        Ok(Self {
            shared: Arc::new(Shared {
                mounts,
                root,
                policy: RwLock::default(),
            }),
        })
    }

    /// Puts the store under a policy, or under none. It rules from the very next access on, also of a run that goes on.
    pub fn set_policy(&self, policy: Option<Arc<dyn Policy>>) {
        *self.shared.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// Puts the store into a storage mode, in place of any other policy.
    pub fn set_mode(&self, mode: Mode) {
        self.set_policy(Some(Arc::new(mode)));
    }

    pub(crate) fn policy(&self) -> Option<Arc<dyn Policy>> {
        self.shared
            .policy
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn mounts(&self) -> &Mounts {
        &self.shared.mounts
    }

    /// Whether the store's files outlive the process; those of tools on other mounts may do otherwise.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        self.view().is_ok_and(|view| view.backend().is_lasting())
    }

    /// Begins a run on the store. What the run claims counts until the session ends.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::begin(self.clone())
    }

    /// The view of the store's own paths.
    pub(crate) fn view(&self) -> Result<View<'_>, StoreFailure> {
        let root = &self.shared.root;
        let unserved = || StoreFailure::Backend {
            message: format!("nothing is mounted at /{root}"),
        };
        let (mount, base) = self.shared.mounts.locate(root).ok_or_else(unserved)?;
        Ok(View {
            mounts: &self.shared.mounts,
            mount,
            base,
            prefix: String::new(),
        })
    }

    /// Performs an operation for the Host: outside every run and not under the policy. Changes are held to the claims of
    /// the live runs, and neither kind of access leaves a claim.
    ///
    /// # Errors
    /// As the operation fails; a change that a live run's claim forbids is a conflict and leaves the file as it was.
    pub fn perform_for_host(&self, op: StoreOp) -> Result<StoreReply, StoreFailure> {
        self.view()?.perform(None, Claimant::Host, op)
    }

    /// Writes a file for the Host, such as a seed before a run.
    ///
    /// # Errors
    /// As [`Store::perform_for_host`].
    pub fn put(&self, path: impl Into<String>, contents: impl Into<String>) -> Result<(), StoreFailure> {
        let op = StoreOp::Write {
            path: path.into(),
            contents: contents.into(),
        };
        self.perform_for_host(op).map(drop)
    }

    /// Writes a run's declared input file: for the Host, but under the policy, which may refuse it.
    ///
    /// # Errors
    /// As [`Store::put`], and as the policy rules.
    pub fn stage(&self, path: impl Into<String>, contents: impl Into<String>) -> Result<(), StoreFailure> {
        let op = StoreOp::Write {
            path: path.into(),
            contents: contents.into(),
        };
        self.view()?
            .perform(self.policy().as_deref(), Claimant::Host, op)
            .map(drop)
    }

    /// A file's text for the Host, or `None` when there is no such file.
    ///
    /// # Errors
    /// Any failure but that of a missing file.
    pub fn text(&self, path: impl Into<String>) -> Result<Option<String>, StoreFailure> {
        match self.perform_for_host(StoreOp::Read {
            path: path.into(),
            lines: crate::LineBounds::WHOLE,
        }) {
            Ok(StoreReply::Text(text)) => Ok(Some(text)),
            Ok(other) => unreachable!("a read replied {other:?}"),
            Err(StoreFailure::NotFound { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The paths that match a pattern, for the Host, in bytewise order. `**` lists every file.
    ///
    /// # Errors
    /// As [`Store::perform_for_host`].
    pub fn list(&self, pattern: impl Into<String>) -> Result<Vec<String>, StoreFailure> {
        match self.perform_for_host(StoreOp::Glob {
            pattern: pattern.into(),
        })? {
            StoreReply::Paths(paths) => Ok(paths),
            other => unreachable!("a glob replied {other:?}"),
        }
    }
}
