//! What a run left in files that outlive its process, and whether they are still so.

use std::collections::BTreeMap;

use runvil_engine::{AccessId, Effect, EffectId, EffectKind, FileState, History, Landed, Outcome};
use runvil_vfs::{FileKey, Session, StoreFailure, StoreOp};

use crate::{
    recording::state,
    resume::{ChangedFile, FileIs, ResumeError},
};

/// A file that the Host put in place before the run began.
#[derive(Debug, Clone)]
pub(crate) struct Staged {
    pub(crate) path: String,
    pub(crate) state: FileState,
}

/// The lasting files that a run wrote, changed or deleted.
pub(super) struct Files {
    files: BTreeMap<FileKey, Left>,
    /// What a tool's call that was open may have left, in whichever file.
    anywhere: Vec<Option<FileState>>,
}

/// How a run left one file.
struct Left {
    /// The path, as the last access spelled it.
    path: String,
    /// The states in which the file is as the run left it; no file is one, too.
    states: Vec<Option<FileState>>,
}

impl Files {
    /// The files as the accesses that landed left them, but for those up to the effect `taken`, which another run made.
    pub(super) fn of(
        session: &Session,
        staged: Option<&Staged>,
        landed: &[Landed],
        taken: Option<EffectId>,
        history: &mut dyn History,
    ) -> Result<Self, ResumeError> {
        let mut files = Self {
            files: BTreeMap::new(),
            anywhere: Vec::new(),
        };
        if let Some(Staged { path, state }) = staged {
            files.leave(session, path, Some(Some(state.clone())));
        }
        for Landed { access, op, reply, .. } in landed {
            let is_own = taken.is_none_or(|taken| access.effect > taken);
            if is_own && matches!(reply, Outcome::Ok(_)) && op.name().policy_op().is_change() {
                let left = match op {
                    StoreOp::Write { contents, .. } => Some(Some(state(contents.as_bytes()))),
                    _ => change(history, *access)?,
                };
                files.leave(session, op.path(), left);
            }
        }
        Ok(files)
    }

    /// The file is left so; `None` where that is not known.
    fn leave(&mut self, session: &Session, path: &str, left: Option<Option<FileState>>) {
        let Some(key) = session.lasting_file(path) else { return };
        match left {
            Some(state) => {
                let left = Left {
                    path: path.to_owned(),
                    states: vec![state],
                };
                self.files.insert(key, left);
            }
            None => {
                self.files.remove(&key);
            }
        }
    }

    /// Takes into account that an effect was open, and may have been performed or not.
    pub(super) fn allow_open(
        &mut self,
        session: &Session,
        effect: &Effect,
        landed: &[Landed],
        history: &mut dyn History,
    ) -> Result<(), ResumeError> {
        match &effect.kind {
            EffectKind::Store(call) => self.allow_open_op(session, effect.id, &call.op, history),
            EffectKind::ToolCall(_) => {
                let made = landed.iter().filter(|landed| landed.access.effect == effect.id);
                let next = AccessId {
                    effect: effect.id,
                    nth: made.map(|landed| landed.access.nth).max().unwrap_or_default() + 1,
                };
                self.anywhere.extend(change(history, next)?);
                Ok(())
            }
            EffectKind::ModelRound(_) | EffectKind::Timer { .. } => Ok(()),
        }
    }

    fn allow_open_op(
        &mut self,
        session: &Session,
        effect: EffectId,
        op: &StoreOp,
        history: &mut dyn History,
    ) -> Result<(), ResumeError> {
        let Some(key) = session.lasting_file(op.path()) else {
            return Ok(());
        };
        if let StoreOp::Write { contents, .. } = op {
            if let Some(left) = self.files.get_mut(&key) {
                left.states.push(Some(state(contents.as_bytes())));
            }
        } else if change(history, AccessId { effect, nth: 0 })?.is_some() {
            // Whether it was made is looked at on its own.
            self.files.remove(&key);
        }
        Ok(())
    }

    /// The files that are no longer as the run left them. Reads each.
    pub(super) fn changed(self, session: &Session) -> Result<Vec<ChangedFile>, StoreFailure> {
        let mut changed = Vec::new();
        for Left { path, states } in self.files.into_values() {
            let found = session.contents(&path)?.as_deref().map(state);
            if states.contains(&found) || self.anywhere.contains(&found) {
                continue;
            }
            let now = match (found.is_some(), states.contains(&None)) {
                (false, _) => FileIs::Gone,
                (true, true) => FileIs::Back,
                (true, false) => FileIs::Changed,
            };
            changed.push(ChangedFile { path, now });
        }
        Ok(changed)
    }
}

/// What an access made of its file; `None` where that was not recorded.
fn change(history: &mut dyn History, access: AccessId) -> Result<Option<Option<FileState>>, ResumeError> {
    let change = history.change(access).map_err(ResumeError::Record)?;
    Ok(change.map(|change| change.after))
}
