//! The table of claims that runs on shared mounts, their tools and the Host are judged by (book: Races, claims, and
//! determinism).
//!
//! A verdict depends only on what the accesses touch and on how their identities forked and joined, never on which of
//! them came first: of two conflicting accesses, the one that reaches the table second is refused.

mod region;
mod tree;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

pub(crate) use self::region::Region;
use self::region::{Met, PathClaims, Searcher};
use crate::{failure::ClaimKind, identity::Identity};

/// One run's place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId(u64);

/// The claims of every live run on a set of mounts.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    begun: u64,
    /// Each live run's claims, by mount.
    sessions: BTreeMap<SessionId, BTreeMap<usize, PathClaims>>,
}

/// The earlier claim that an access conflicts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clash {
    pub(crate) kind: ClaimKind,
    /// Whose it is, as `ExecId(...)`.
    pub(crate) identity: String,
}

impl From<Met<'_>> for Clash {
    fn from((kind, identity): Met<'_>) -> Self {
        Self {
            kind,
            identity: identity.to_string(),
        }
    }
}

impl Claims {
    /// Begins a run, which holds no claims yet.
    pub(crate) fn begin(&mut self) -> SessionId {
        self.begun += 1;
        let session = SessionId(self.begun);
        self.sessions.insert(session, BTreeMap::new());
        session
    }

    /// Ends a run: its claims no longer count. Ending it twice changes nothing.
    pub(crate) fn end(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// Claims a region for an identity of a live run. A refused claim is not recorded.
    pub(crate) fn claim(
        &mut self,
        session: SessionId,
        who: &Arc<Identity>,
        mount: usize,
        region: Region<'_>,
    ) -> Result<(), Clash> {
        for (&other, claims) in &self.sessions {
            let searcher = if other == session {
                Searcher::Own(who)
            } else {
                Searcher::Stranger
            };
            if let Some(met) = claims.get(&mount).and_then(|claims| claims.conflict(region, searcher)) {
                return Err(met.into());
            }
        }
        if let Some(claims) = self.sessions.get_mut(&session) {
            claims.entry(mount).or_default().record(region, who);
        }
        Ok(())
    }

    /// Whether an access from outside every run, which leaves no claim, may go on.
    pub(crate) fn admit(&self, mount: usize, region: Region<'_>) -> Result<(), Clash> {
        let mut met = self
            .sessions
            .values()
            .filter_map(|claims| claims.get(&mount)?.conflict(region, Searcher::Stranger));
        met.next().map_or(Ok(()), |met| Err(met.into()))
    }
}
