//! One operation from its checks to its reply: path rules, policy, claims, backend (book: Store policies).

use std::sync::Arc;

use crate::{
    backend::{Backend, BackendFailure},
    claims::{Clash, Region, SessionId},
    failure::StoreFailure,
    glob::Glob,
    identity::Identity,
    lines,
    mounts::{Mounts, within},
    op::{StoreOp, StoreReply, replace_once},
    policy::{Policy, Ruling},
};

/// Where an access's paths are looked up, and how they are spelled to it.
pub(crate) struct View<'a> {
    pub(crate) mounts: &'a Mounts,
    /// The mount that the paths lie in.
    pub(crate) mount: usize,
    /// The directory of the mount that they are relative to; `""` is the mount itself.
    pub(crate) base: &'a str,
    /// What stands before them in the caller's spelling.
    pub(crate) prefix: String,
}

/// Who makes an access.
#[derive(Clone, Copy)]
pub(crate) enum Claimant<'a> {
    /// An identity of a live run: its access leaves a claim.
    Run {
        session: SessionId,
        who: &'a Identity,
    },
    /// The Host, whose changes are held to the runs' claims and leave none.
    Host,
}

impl Claimant<'_> {
    /// The name that the Host has in a conflict.
    const HOST: &'static str = "host";

    fn spell(self) -> String {
        match self {
            Self::Run { who, .. } => who.to_string(),
            Self::Host => Identity::root(Self::HOST).to_string(),
        }
    }
}

impl View<'_> {
    /// Performs an operation whose path is relative to the view's base.
    pub(crate) fn perform(
        &self,
        policy: Option<&dyn Policy>,
        claimant: Claimant<'_>,
        op: StoreOp,
    ) -> Result<StoreReply, StoreFailure> {
        let named = self.spell(op.path());
        op.check_named(&named)?;
        rule(policy, &op, &named)?;
        let path = self.in_mount(op.path());
        let clash = |clash: Clash| StoreFailure::Conflict {
            path: named.clone(),
            claim: op.name().claim(),
            identity: claimant.spell(),
            other_claim: clash.kind,
            other_identity: clash.identity,
        };
        let key = self.claim_key(&op, &path);
        match claimant {
            Claimant::Run { session, who } => {
                self.mounts
                    .claims()
                    .claim(session, &Arc::new(who.clone()), self.mount, key.region(&op))
                    .map_err(clash)?;
                self.apply(op, &path, &named)
            }
            // A Host's look changes nothing that a run depends on, so only its changes are judged. The table stays
            // locked while the change is made, so that no run's access falls between the verdict and the change.
            Claimant::Host if op.name().policy_op().is_change() => {
                let claims = self.mounts.claims();
                claims.admit(self.mount, key.region(&op)).map_err(clash)?;
                self.apply(op, &path, &named)
            }
            Claimant::Host => self.apply(op, &path, &named),
        }
    }

    /// A path that is relative to the base, as the caller spells it.
    pub(crate) fn spell(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    fn in_mount(&self, path: &str) -> String {
        if self.base.is_empty() {
            path.to_owned()
        } else {
            format!("{}/{path}", self.base)
        }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        self.mounts.mount(self.mount).backend()
    }

    fn claim_key(&self, op: &StoreOp, path: &str) -> ClaimKey {
        let glob = parsed(op);
        if self.backend().folds_case() {
            let glob = glob.map(|glob| glob.fold_case());
            ClaimKey {
                base: self.base.to_lowercase(),
                path: path.to_lowercase(),
                glob,
            }
        } else {
            ClaimKey {
                base: self.base.to_owned(),
                path: path.to_owned(),
                glob,
            }
        }
    }

    /// Hands the operation to the backend. `path` is the path within the mount, `named` as the caller spells it.
    fn apply(&self, op: StoreOp, path: &str, named: &str) -> Result<StoreReply, StoreFailure> {
        let backend = self.backend();
        let failed = |failure| self.failure(failure, named);
        if op.name().policy_op().is_change() && self.mounts.mount(self.mount).is_read_only() {
            return Err(failed(BackendFailure::ReadOnly));
        }
        let text = || text(backend.read(path).map_err(failed)?, named);
        let ranged = |problem| StoreFailure::InvalidRange {
            path: named.to_owned(),
            problem,
        };
        match op {
            StoreOp::Write { contents, .. } => {
                backend.write(path, contents.into_bytes()).map_err(failed)?;
                Ok(StoreReply::Done)
            }
            StoreOp::Append { contents, .. } => {
                backend.append(path, contents.as_bytes()).map_err(failed)?;
                Ok(StoreReply::Done)
            }
            StoreOp::Read { lines: bounds, .. } => lines::read(text()?, bounds)
                .map(StoreReply::Text)
                .map_err(ranged),
            StoreOp::ReadNumbered { lines: bounds, .. } => lines::read_numbered(&text()?, bounds)
                .map(StoreReply::Text)
                .map_err(ranged),
            StoreOp::StrReplace { old, new, .. } => {
                let edited = replace_once(&text()?, &old, &new);
                let refused = |count| StoreFailure::Anchor {
                    path: named.to_owned(),
                    anchor: old.clone(),
                    count,
                };
                backend
                    .write(path, edited.map_err(refused)?.into_bytes())
                    .map_err(failed)?;
                Ok(StoreReply::Done)
            }
            StoreOp::Delete { .. } => {
                backend.delete(path).map_err(failed)?;
                Ok(StoreReply::Done)
            }
            StoreOp::Exists { .. } => backend.exists(path).map(StoreReply::Exists).map_err(failed),
            StoreOp::Glob { .. } => {
                let glob = parsed(&op).expect("a glob operation has passed its check");
                let mut found = backend.list(self.base, &glob).map_err(failed)?;
                found
                    .iter_mut()
                    .for_each(|path| path.insert_str(0, &self.prefix));
                found.sort();
                Ok(StoreReply::Paths(found))
            }
        }
    }

    /// A backend's failure in the caller's spelling.
    pub(crate) fn failure(&self, failure: BackendFailure, named: &str) -> StoreFailure {
        let path = named.to_owned();
        let spelled = |in_mount: &str| within(self.base, in_mount).map(|path| self.spell(path));
        match failure {
            BackendFailure::NotFound => StoreFailure::NotFound { path },
            BackendFailure::AlreadyExists => StoreFailure::AlreadyExists { path },
            BackendFailure::NotADirectory { file } => StoreFailure::NotADirectory {
                path: spelled(&file).unwrap_or(path),
            },
            BackendFailure::IsADirectory => StoreFailure::IsADirectory { path },
            BackendFailure::DirectoryNotEmpty => StoreFailure::DirectoryNotEmpty { path },
            BackendFailure::NameNotUtf8 {
                directory,
                valid_up_to,
            } => StoreFailure::NotUtf8 {
                path: spelled(&directory)
                    .filter(|path| !path.is_empty())
                    .unwrap_or_else(|| ".".to_owned()),
                valid_up_to: valid_up_to.try_into().unwrap_or(u64::MAX),
            },
            BackendFailure::ReadOnly => StoreFailure::ReadOnly { path },
            BackendFailure::OutsideRoot { how } => StoreFailure::OutsideRoot {
                detail: format!("{path} {how}"),
                path,
            },
            BackendFailure::CrossMount { detail } => StoreFailure::CrossMount { path, detail },
            BackendFailure::Io { message } => StoreFailure::Io { path, message },
            BackendFailure::Unsupported { detail } => StoreFailure::Unsupported { path, detail },
            BackendFailure::Failed { message } => StoreFailure::Backend { message },
        }
    }
}

/// The spelling that the claims know a region by: in lower case where case names no difference.
struct ClaimKey {
    base: String,
    path: String,
    glob: Option<Glob>,
}

impl ClaimKey {
    fn region(&self, op: &StoreOp) -> Region<'_> {
        match &self.glob {
            Some(glob) => Region::Glob {
                base: &self.base,
                glob,
            },
            None => Region::Path {
                path: &self.path,
                kind: op.name().claim(),
            },
        }
    }
}

fn parsed(op: &StoreOp) -> Option<Glob> {
    match op {
        StoreOp::Glob { pattern } => Glob::parse(pattern).ok(),
        _ => None,
    }
}

/// Asks the policy.
fn rule(policy: Option<&dyn Policy>, op: &StoreOp, named: &str) -> Result<(), StoreFailure> {
    let path = || named.to_owned();
    match policy.map(|policy| policy.rule(op.name().policy_op(), named)) {
        None | Some(Ruling::Allow) => Ok(()),
        Some(Ruling::Deny(why)) => Err(StoreFailure::PermissionDenied { path: path(), why }),
        Some(Ruling::Ask(why)) => Err(StoreFailure::ApprovalRequired { path: path(), why }),
    }
}

/// A file's bytes as the text that the store holds.
fn text(bytes: Vec<u8>, named: &str) -> Result<String, StoreFailure> {
    String::from_utf8(bytes).map_err(|error| StoreFailure::NotUtf8 {
        path: named.to_owned(),
        valid_up_to: error
            .utf8_error()
            .valid_up_to()
            .try_into()
            .unwrap_or(u64::MAX),
    })
}
