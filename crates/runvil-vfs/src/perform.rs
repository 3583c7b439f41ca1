//! One operation from its checks to its reply: path rules, policy, claims, backend (book: Store policies).

use std::{
    borrow::Cow,
    mem,
    sync::{Arc, MutexGuard},
};

use crate::{
    backend::{Backend, BackendFailure},
    claims::{Claims, Clash, Region, SessionId},
    failure::StoreFailure,
    glob::Glob,
    identity::Identity,
    lines,
    mounts::{Mounts, within},
    op::{OpName, StoreOp, StoreReply, replace_once},
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

/// A change that is about to be made to a file that outlives the process, and that must not be made twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// The file's bytes before the change; `None` where there is no file.
    pub before: Option<&'a [u8]>,
    /// The file's bytes after it.
    pub after: Option<&'a [u8]>,
}

/// Hears of each such change before it is made, and may forbid it, for the reason that it gives.
///
/// An append, an edit and a delete are told. A write is not: making it twice is the same as making it once.
pub type ChangeWatch<'a> = &'a mut dyn FnMut(Change<'_>) -> Result<(), String>;

/// Who makes an access.
#[derive(Clone, Copy)]
pub(crate) enum Claimant<'a> {
    /// An identity of a live run: its access leaves a claim.
    Run { session: SessionId, who: &'a Identity },
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
        self.perform_watched(policy, claimant, op, None)
    }

    /// [`View::perform`] for an access whose changes of lasting files are told before they are made.
    pub(crate) fn perform_watched(
        &self,
        policy: Option<&dyn Policy>,
        claimant: Claimant<'_>,
        mut op: StoreOp,
        watch: Option<ChangeWatch<'_>>,
    ) -> Result<StoreReply, StoreFailure> {
        let path = mem::take(op.path_mut());
        let named = self.spell(&path);
        let glob = op.check_as(&path, &named)?;
        rule(policy, op.name(), &named)?;
        let place = Place {
            path: self.in_mount(&path),
            named: &named,
            glob,
        };
        let key = self.claim_key(&place);
        let clash = |clash: Clash| StoreFailure::Conflict {
            path: named.to_string(),
            claim: op.name().claim(),
            identity: claimant.spell(),
            other_claim: clash.kind,
            other_identity: clash.identity,
        };
        let locked = self.judge(claimant, op.name(), key.region(op.name())).map_err(clash)?;
        let reply = self.apply(op, &place, watch.filter(|_| self.backend().is_lasting()));
        drop(locked);
        reply
    }

    /// Holds an access to the claims. A Host's look changes nothing that a run depends on, so only its changes are judged;
    /// for those, the table stays locked until the change is made, so that no run's access falls between the two.
    fn judge(
        &self,
        claimant: Claimant<'_>,
        op: OpName,
        region: Region<'_>,
    ) -> Result<Option<MutexGuard<'_, Claims>>, Clash> {
        match claimant {
            Claimant::Run { session, who } => {
                let who = Arc::new(who.clone());
                self.mounts.claims().claim(session, &who, self.mount, region)?;
                Ok(None)
            }
            Claimant::Host if op.policy_op().is_change() => {
                let claims = self.mounts.claims();
                claims.admit(self.mount, region)?;
                Ok(Some(claims))
            }
            Claimant::Host => Ok(None),
        }
    }

    /// A path that is relative to the base, as the caller spells it.
    pub(crate) fn spell<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if self.prefix.is_empty() {
            path.into()
        } else {
            format!("{}{path}", self.prefix).into()
        }
    }

    pub(crate) fn in_mount<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if self.base.is_empty() {
            path.into()
        } else {
            format!("{}/{path}", self.base).into()
        }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        self.mounts.mount(self.mount).backend()
    }

    /// The claim that an operation leaves, without holding it to the others.
    pub(crate) fn claim_again(&self, session: SessionId, who: &Identity, op: &StoreOp) {
        let path = op.path();
        let named = self.spell(path);
        // An operation that fails these checks leaves no claim.
        let Ok(glob) = op.check_as(path, &named) else { return };
        let place = Place {
            path: self.in_mount(path),
            named: &named,
            glob,
        };
        let key = self.claim_key(&place);
        let who = Arc::new(who.clone());
        // A claim that was admitted once is admitted again.
        let _ = self
            .mounts
            .claims()
            .claim(session, &who, self.mount, key.region(op.name()));
    }

    /// Makes a change again on a backend that forgot it.
    pub(crate) fn change_again(&self, mut op: StoreOp) -> Result<(), StoreFailure> {
        let path = mem::take(op.path_mut());
        let named = self.spell(&path).into_owned();
        let place = Place {
            path: self.in_mount(&path),
            named: &named,
            glob: None,
        };
        self.apply(op, &place, None).map(drop)
    }

    /// A file's bytes, whatever the policy and the claims say.
    pub(crate) fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        match self.backend().read(&self.in_mount(path)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(BackendFailure::NotFound | BackendFailure::IsADirectory) => Ok(None),
            Err(failure) => Err(self.failure(failure, &self.spell(path))),
        }
    }

    fn claim_key<'p>(&'p self, place: &'p Place<'_>) -> ClaimKey<'p> {
        let (path, glob) = (&*place.path, place.glob.as_ref());
        if self.backend().folds_case() {
            let glob = glob.map(|glob| Cow::Owned(glob.fold_case()));
            ClaimKey {
                base: self.base.to_lowercase().into(),
                path: path.to_lowercase().into(),
                glob,
            }
        } else {
            ClaimKey {
                base: self.base.into(),
                path: path.into(),
                glob: glob.map(Cow::Borrowed),
            }
        }
    }

    /// Hands the operation to the backend.
    fn apply(
        &self,
        op: StoreOp,
        place: &Place<'_>,
        watch: Option<ChangeWatch<'_>>,
    ) -> Result<StoreReply, StoreFailure> {
        let Place { path, named, .. } = place;
        let backend = self.backend();
        let failed = |failure| self.failure(failure, named);
        if op.name().policy_op().is_change() && self.mounts.mount(self.mount).is_read_only() {
            return Err(failed(BackendFailure::ReadOnly));
        }
        if let Some(watch) = watch {
            self.tell(&op, place, watch)?;
        }
        let done = |outcome: Result<(), BackendFailure>| outcome.map(|()| StoreReply::Done).map_err(failed);
        let text = || text(backend.read(path).map_err(failed)?, named);
        let ranged = |problem| StoreFailure::InvalidRange {
            path: named.to_string(),
            problem,
        };
        match op {
            StoreOp::Write { contents, .. } => done(backend.write(path, contents.into_bytes())),
            StoreOp::Append { contents, .. } => done(backend.append(path, contents.as_bytes())),
            StoreOp::Read { lines: bounds, .. } => lines::read(text()?, bounds).map(StoreReply::Text).map_err(ranged),
            StoreOp::ReadNumbered { lines: bounds, .. } => lines::read_numbered(&text()?, bounds)
                .map(StoreReply::Text)
                .map_err(ranged),
            StoreOp::StrReplace { old, new, .. } => {
                let edited = replace_once(&text()?, &old, &new);
                let refused = |count| StoreFailure::Anchor {
                    path: named.to_string(),
                    anchor: old,
                    count,
                };
                done(backend.write(path, edited.map_err(refused)?.into_bytes()))
            }
            StoreOp::Delete { .. } => done(backend.delete(path)),
            StoreOp::Exists { .. } => backend.exists(path).map(StoreReply::Exists).map_err(failed),
            StoreOp::Glob { .. } => self.list(place).map(StoreReply::Paths).map_err(failed),
        }
    }

    /// Tells of a change that must not be made twice.
    fn tell(&self, op: &StoreOp, place: &Place<'_>, watch: ChangeWatch<'_>) -> Result<(), StoreFailure> {
        if !matches!(
            op,
            StoreOp::Append { .. } | StoreOp::StrReplace { .. } | StoreOp::Delete { .. }
        ) {
            return Ok(());
        }
        // The change itself finds out what stands in its way.
        let before = self.backend().read(&place.path).ok();
        let after = match op {
            StoreOp::Append { contents, .. } => {
                Some([before.as_deref().unwrap_or_default(), contents.as_bytes()].concat())
            }
            StoreOp::StrReplace { old, new, .. } => before
                .as_deref()
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .and_then(|text| replace_once(text, old, new).ok())
                .map(String::into_bytes),
            _ => None,
        };
        let told = watch(Change {
            before: before.as_deref(),
            after: after.as_deref(),
        });
        told.map_err(|message| StoreFailure::Backend { message })
    }

    fn list(&self, place: &Place<'_>) -> Result<Vec<String>, BackendFailure> {
        let glob = place
            .glob
            .as_ref()
            .expect("the check of a glob operation has parsed its pattern");
        let mut found = self.backend().list(self.base, glob)?;
        if !self.prefix.is_empty() {
            found.iter_mut().for_each(|path| path.insert_str(0, &self.prefix));
        }
        found.sort();
        Ok(found)
    }

    /// A backend's failure in the caller's spelling.
    pub(crate) fn failure(&self, failure: BackendFailure, named: &str) -> StoreFailure {
        let path = named.to_owned();
        let spelled = |in_mount: &str| within(self.base, in_mount).map(|path| self.spell(path).into_owned());
        match failure {
            BackendFailure::NotFound => StoreFailure::NotFound { path },
            BackendFailure::AlreadyExists => StoreFailure::AlreadyExists { path },
            BackendFailure::NotADirectory { file } => StoreFailure::NotADirectory {
                path: spelled(&file).unwrap_or(path),
            },
            BackendFailure::IsADirectory => StoreFailure::IsADirectory { path },
            BackendFailure::DirectoryNotEmpty => StoreFailure::DirectoryNotEmpty { path },
            BackendFailure::NameNotUtf8 { directory, valid_up_to } => StoreFailure::NotUtf8 {
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

/// An operation's path, found in the mount.
struct Place<'a> {
    path: Cow<'a, str>,
    /// The path as the caller spells it.
    named: &'a str,
    /// The pattern of a glob, relative to the base.
    glob: Option<Glob>,
}

/// The spelling that the claims know a region by: in lower case where case names no difference.
struct ClaimKey<'a> {
    base: Cow<'a, str>,
    path: Cow<'a, str>,
    glob: Option<Cow<'a, Glob>>,
}

impl ClaimKey<'_> {
    fn region(&self, op: OpName) -> Region<'_> {
        match &self.glob {
            Some(glob) => Region::Glob { base: &self.base, glob },
            None => Region::Path {
                path: &self.path,
                kind: op.claim(),
            },
        }
    }
}

/// Asks the policy.
fn rule(policy: Option<&dyn Policy>, op: OpName, named: &str) -> Result<(), StoreFailure> {
    let path = || named.to_owned();
    match policy.map(|policy| policy.rule(op.policy_op(), named)) {
        None | Some(Ruling::Allow) => Ok(()),
        Some(Ruling::Deny(why)) => Err(StoreFailure::PermissionDenied { path: path(), why }),
        Some(Ruling::Ask(why)) => Err(StoreFailure::ApprovalRequired { path: path(), why }),
    }
}

/// A file's bytes as the text that the store holds.
fn text(bytes: Vec<u8>, named: &str) -> Result<String, StoreFailure> {
    String::from_utf8(bytes).map_err(|error| StoreFailure::NotUtf8 {
        path: named.to_owned(),
        valid_up_to: error.utf8_error().valid_up_to().try_into().unwrap_or(u64::MAX),
    })
}
