//! Bringing a session to where another one was, whose process is gone.

use crate::{
    failure::StoreFailure,
    identity::Identity,
    op::{StoreOp, StoreReply},
    perform::View,
    session::{FileAccess, Session},
};

impl Session {
    /// Takes in an operation that landed in the session that this one goes on for: it leaves its claim, and where the
    /// backend forgot the change, makes it again.
    ///
    /// The operations are to come in the order in which they landed.
    ///
    /// # Errors
    /// The backend fails to make the change again.
    pub fn restore(
        &self,
        who: &Identity,
        op: StoreOp,
        reply: Result<&StoreReply, &StoreFailure>,
    ) -> Result<(), StoreFailure> {
        self.restore_in(&self.store().view()?, who, op, reply)
    }

    fn restore_in(
        &self,
        view: &View<'_>,
        who: &Identity,
        op: StoreOp,
        reply: Result<&StoreReply, &StoreFailure>,
    ) -> Result<(), StoreFailure> {
        if reply.err().is_none_or(leaves_claim) {
            view.claim_again(self.id(), who, &op);
        }
        let changes = reply.is_ok() && op.name().policy_op().is_change();
        if changes && !view.backend().is_lasting() {
            view.change_again(op)?;
        }
        Ok(())
    }

    /// The bytes of a file of the store, whatever the policy and the claims say; `None` where there is none. A path that
    /// starts with `/` goes through all the mounts, as a tool call's does.
    ///
    /// # Errors
    /// The backend fails.
    pub fn contents(&self, path: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        let Some(absolute) = path.strip_prefix('/') else {
            return self.store().view()?.bytes(path);
        };
        let mounts = self.store().mounts();
        match mounts.locate(absolute) {
            Some((mount, rest)) => View {
                mounts,
                mount,
                base: "",
                prefix: path[..path.len() - rest.len()].to_owned(),
            }
            .bytes(rest),
            None => Ok(None),
        }
    }

    /// Which file a path means, if it lies on a backend that outlives the process. The path is spelled as in
    /// [`Session::contents`].
    #[must_use]
    pub fn lasting_file(&self, path: &str) -> Option<FileKey> {
        let mounts = self.store().mounts();
        let (mount, path) = match path.strip_prefix('/') {
            Some(absolute) => {
                let (mount, rest) = mounts.locate(absolute)?;
                (mount, rest.to_owned())
            }
            None => {
                let view = self.store().view().ok()?;
                (view.mount, view.in_mount(path).into_owned())
            }
        };
        let backend = mounts.mount(mount).backend();
        let path = if backend.folds_case() {
            path.to_lowercase()
        } else {
            path
        };
        backend.is_lasting().then_some(FileKey { mount, path })
    }
}

/// A file among the mounts, however the accesses to it spell its path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey {
    mount: usize,
    path: String,
}

impl FileAccess {
    /// [`Session::restore`] for an access that a tool call made.
    ///
    /// # Errors
    /// As [`Session::restore`].
    pub fn restore(&self, op: StoreOp, reply: Result<&StoreReply, &StoreFailure>) -> Result<(), StoreFailure> {
        self.in_view(op, |session, view, who, op| session.restore_in(view, who, op, reply))
    }
}

/// Whether an operation that failed so had its claim before it did.
fn leaves_claim(failure: &StoreFailure) -> bool {
    !matches!(
        failure,
        StoreFailure::PermissionDenied { .. }
            | StoreFailure::ApprovalRequired { .. }
            | StoreFailure::Conflict { .. }
            | StoreFailure::ScopeEnded { .. }
            | StoreFailure::RootProtected { .. }
    )
}
