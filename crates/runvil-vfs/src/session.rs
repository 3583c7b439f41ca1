//! A run's access to its store, and each tool call's (book: Live runs on shared mounts, Tools and the store).

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    backend::BackendFailure,
    claims::SessionId,
    failure::StoreFailure,
    identity::Identity,
    op::{StoreOp, StoreReply},
    perform::{ChangeWatch, Claimant, View},
    store::Store,
};

/// One run's access to a store. Its claims count until [`Session::end`], or until the last clone is gone.
#[derive(Clone)]
pub struct Session {
    live: Arc<Live>,
}

struct Live {
    store: Store,
    id: SessionId,
    ended: AtomicBool,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.store.mounts().claims().end(self.id);
    }
}

impl Session {
    pub(crate) fn begin(store: Store) -> Self {
        let id = store.mounts().claims().begin();
        Self {
            live: Arc::new(Live {
                store,
                id,
                ended: AtomicBool::new(false),
            }),
        }
    }

    /// Opens store access as the run starts.
    ///
    /// # Errors
    /// A failed setup: no mount serves the store, or the backend there refuses the run or fails.
    pub fn open(&self) -> Result<(), StoreFailure> {
        self.set_up(|view| view.backend().open(view.base))
    }

    /// Opens store access for a task or a tool call, whose identity forked off.
    ///
    /// # Errors
    /// A failed setup: the backend refuses the identity.
    pub fn fork(&self, child: &Identity) -> Result<(), StoreFailure> {
        self.set_up(|view| view.backend().fork(child))
    }

    fn set_up(&self, ask: impl FnOnce(&View<'_>) -> Result<(), BackendFailure>) -> Result<(), StoreFailure> {
        let view = self.live.store.view().map_err(StoreFailure::in_setup)?;
        ask(&view).map_err(|failure| view.failure(failure, "/").in_setup())
    }

    /// Performs one of the run's store operations: checks its path, asks the policy, claims the region, calls the backend.
    ///
    /// Blocks as long as the backend does. A run's operations are to be performed in the order in which it issued them,
    /// one that it dropped included, so that what a cancelled task had issued lands before what its owner does next.
    ///
    /// # Errors
    /// As the operation fails; a claims conflict is [`StoreFailure::Conflict`].
    pub fn perform(&self, who: &Identity, op: StoreOp) -> Result<StoreReply, StoreFailure> {
        self.perform_in(&self.store().view()?, who, op, None)
    }

    /// [`Session::perform`], with a watch that hears of each change to a lasting file that must not be made twice.
    ///
    /// # Errors
    /// As [`Session::perform`], and as the watch forbids.
    pub fn perform_watched(
        &self,
        who: &Identity,
        op: StoreOp,
        watch: ChangeWatch<'_>,
    ) -> Result<StoreReply, StoreFailure> {
        self.perform_in(&self.store().view()?, who, op, Some(watch))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.live.store
    }

    pub(crate) fn id(&self) -> SessionId {
        self.live.id
    }

    fn perform_in(
        &self,
        view: &View<'_>,
        who: &Identity,
        op: StoreOp,
        watch: Option<ChangeWatch<'_>>,
    ) -> Result<StoreReply, StoreFailure> {
        if self.live.ended.load(Ordering::Acquire) {
            return Err(StoreFailure::ScopeEnded {
                path: view.spell(op.path()).into_owned(),
            });
        }
        let policy = self.live.store.policy();
        view.perform_watched(
            policy.as_deref(),
            Claimant::Run {
                session: self.live.id,
                who,
            },
            op,
            watch,
        )
    }

    /// The file access of a tool call, under the identity that forked off for it.
    #[must_use]
    pub fn files(&self, who: Identity) -> FileAccess {
        FileAccess {
            session: self.clone(),
            who: Arc::new(who),
            ended: Arc::default(),
        }
    }

    /// Ends the run's access: its claims no longer count, and any later access fails with `scope_ended`.
    pub fn end(&self) {
        self.live.ended.store(true, Ordering::Release);
        self.live.store.mounts().claims().end(self.live.id);
    }
}

/// A tool call's access to the files of its run. Clones are the same access.
#[derive(Clone)]
pub struct FileAccess {
    session: Session,
    who: Arc<Identity>,
    ended: Arc<AtomicBool>,
}

impl FileAccess {
    /// Performs an operation under the call's identity, judged by the same policy and claims as the run's own.
    ///
    /// A path that starts with `/` goes through all the mounts, as in `/shared.txt`; any other is a store path.
    ///
    /// # Errors
    /// As [`Session::perform`]; after [`FileAccess::end`], `scope_ended`. A mount's own root takes no change.
    pub fn perform(&self, op: StoreOp) -> Result<StoreReply, StoreFailure> {
        self.perform_with(op, None)
    }

    /// [`FileAccess::perform`], with a watch as for [`Session::perform_watched`].
    ///
    /// # Errors
    /// As [`FileAccess::perform`], and as the watch forbids.
    pub fn perform_watched(&self, op: StoreOp, watch: ChangeWatch<'_>) -> Result<StoreReply, StoreFailure> {
        self.perform_with(op, Some(watch))
    }

    fn perform_with(&self, op: StoreOp, watch: Option<ChangeWatch<'_>>) -> Result<StoreReply, StoreFailure> {
        if self.ended.load(Ordering::Acquire) {
            return Err(StoreFailure::ScopeEnded {
                path: op.path().to_owned(),
            });
        }
        self.in_view(op, |session, view, who, op| session.perform_in(view, who, op, watch))
    }

    /// Finds where the access goes.
    pub(crate) fn in_view<T>(
        &self,
        mut op: StoreOp,
        access: impl FnOnce(&Session, &View<'_>, &Identity, StoreOp) -> Result<T, StoreFailure>,
    ) -> Result<T, StoreFailure> {
        let Some(path) = op.path().strip_prefix('/') else {
            return access(&self.session, &self.session.store().view()?, &self.who, op);
        };
        let mounts = self.session.live.store.mounts();
        let unserved = || StoreFailure::Backend {
            message: format!("nothing is mounted at /{path}"),
        };
        let (mount, rest) = mounts.locate(path).ok_or_else(unserved)?;
        if rest.is_empty() && op.name().policy_op().is_change() {
            return Err(StoreFailure::RootProtected {
                path: op.path().to_owned(),
            });
        }
        let rest = rest.to_owned();
        let prefix = op.path()[..op.path().len() - rest.len()].to_owned();
        *op.path_mut() = rest;
        let view = View {
            mounts,
            mount,
            base: "",
            prefix,
        };
        access(&self.session, &view, &self.who, op)
    }

    /// Ends the call's access, because the call was answered or given up: any later operation fails with `scope_ended`.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }
}
