//! The claims of one run on one mount, arranged by path (book: What each store call claims).

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::tree::ClaimTree;
use crate::{
    failure::ClaimKind,
    glob::{Glob, GlobState},
    identity::Identity,
    path::names,
};

/// What an access touches. Paths are relative to the mount, in the spelling that the claims go by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Region<'a> {
    /// One path.
    Path { path: &'a str, kind: ClaimKind },
    /// A pattern as a whole, relative to a base directory, which is `""` for the mount itself.
    Glob { base: &'a str, glob: &'a Glob },
}

/// Whose claims a search meets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Searcher<'a> {
    /// An identity of the run that holds the claims: only those that nothing orders.
    Own(&'a Identity),
    /// Another run or the Host: every claim.
    Stranger,
}

/// A claim that an access meets.
pub(super) type Met<'a> = (ClaimKind, &'a Identity);

/// The claims on one path, and on all beneath it.
#[derive(Debug, Default)]
pub(super) struct PathClaims {
    reads: ClaimTree,
    writes: ClaimTree,
    /// Writes beneath this path, each of which may create it as a directory.
    may_create: ClaimTree,
    /// Globs whose literal directory this is. Such a glob conflicts with every write beneath the directory, so which of
    /// them the rest of its pattern matches makes no difference.
    listings: ClaimTree,
    /// Globs from this directory that have no literal directory: here it is the pattern that decides.
    patterns: Vec<(Glob, ClaimTree)>,
    /// The paths beneath. Boxed, because most directories of a claimed path hold few.
    inner: BTreeMap<Box<str>, Box<PathClaims>>,
}

impl Searcher<'_> {
    fn meets(self, claims: &ClaimTree, kind: ClaimKind) -> Option<Met<'_>> {
        let met = match self {
            Self::Own(who) => claims.unordered(who),
            Self::Stranger => claims.any(),
        };
        met.map(|other| (kind, other))
    }
}

impl PathClaims {
    /// A claim that conflicts with an access of the region.
    pub(super) fn conflict(&self, region: Region<'_>, searcher: Searcher<'_>) -> Option<Met<'_>> {
        match region {
            Region::Path {
                path,
                kind: ClaimKind::Read,
            } => self.read_conflict(path, searcher),
            Region::Path {
                path,
                kind: ClaimKind::Write,
            } => self.write_conflict(path, searcher),
            Region::Glob { base, glob } => self.find(names(base))?.glob_conflict(glob, searcher),
        }
    }

    /// Records a claim on the region.
    pub(super) fn record(&mut self, region: Region<'_>, who: &Arc<Identity>) {
        match region {
            Region::Path {
                path,
                kind: ClaimKind::Read,
            } => self.find_or_insert(names(path)).reads.record(who),
            Region::Path {
                path,
                kind: ClaimKind::Write,
            } => self.record_write(path, who),
            Region::Glob { base, glob } => {
                let base = self.find_or_insert(names(base));
                if glob.literal_dir().next().is_some() {
                    base.find_or_insert(glob.literal_dir()).listings.record(who);
                } else {
                    base.record_pattern(glob, who);
                }
            }
        }
    }

    fn find<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Option<&Self> {
        names.try_fold(self, |node, name| node.inner.get(name).map(|inner| &**inner))
    }

    fn find_or_insert<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> &mut Self {
        names.fold(self, Self::child)
    }

    fn child(&mut self, name: &str) -> &mut Self {
        if self.inner.contains_key(name) {
            self.inner.get_mut(name).expect("the name was just looked up")
        } else {
            self.inner.entry(name.into()).or_default()
        }
    }

    fn read_conflict(&self, path: &str, searcher: Searcher<'_>) -> Option<Met<'_>> {
        let node = self.find(names(path))?;
        searcher
            .meets(&node.writes, ClaimKind::Write)
            .or_else(|| searcher.meets(&node.may_create, ClaimKind::Write))
    }

    /// A write meets claims on its own path, on the ancestors that it may create, and of globs that would see it.
    fn write_conflict(&self, path: &str, searcher: Searcher<'_>) -> Option<Met<'_>> {
        let mut node = self;
        let mut rest = path;
        loop {
            if let Some(met) = searcher.meets(&node.listings, ClaimKind::Read) {
                return Some(met);
            }
            if let Some(met) = node.pattern_conflict(rest, searcher) {
                return Some(met);
            }
            let (name, deeper) = rest.split_once('/').unwrap_or((rest, ""));
            node = node.inner.get(name)?;
            if let Some(met) = searcher
                .meets(&node.writes, ClaimKind::Write)
                .or_else(|| searcher.meets(&node.reads, ClaimKind::Read))
            {
                return Some(met);
            }
            if deeper.is_empty() {
                return searcher.meets(&node.may_create, ClaimKind::Write);
            }
            rest = deeper;
        }
    }

    /// A glob from this directory, without a literal directory, that matches `path` or one of its ancestors.
    fn pattern_conflict(&self, path: &str, searcher: Searcher<'_>) -> Option<Met<'_>> {
        self.patterns
            .iter()
            .filter(|(glob, _)| glob.matches_path_or_ancestor(path))
            .find_map(|(_, claims)| searcher.meets(claims, ClaimKind::Read))
    }

    /// A glob meets the writes beneath its literal directory, or without one those that its pattern would see.
    fn glob_conflict(&self, glob: &Glob, searcher: Searcher<'_>) -> Option<Met<'_>> {
        if glob.literal_dir().next().is_some() {
            let directory = self.find(glob.literal_dir())?;
            return searcher.meets(&directory.may_create, ClaimKind::Write);
        }
        let prefix = glob.first_name_prefix();
        self.inner
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(|(name, _)| name.starts_with(prefix))
            .find_map(|(name, node)| node.seen_by(glob, &glob.step(&glob.start(), name), searcher))
    }

    /// A write at or beneath this path that a glob would see, having matched this path's names up to `state`.
    fn seen_by(&self, glob: &Glob, state: &GlobState, searcher: Searcher<'_>) -> Option<Met<'_>> {
        if glob.matches_at(state) {
            let met = searcher
                .meets(&self.writes, ClaimKind::Write)
                .or_else(|| searcher.meets(&self.may_create, ClaimKind::Write));
            if met.is_some() {
                return met;
            }
        }
        if !glob.goes_deeper(state) {
            return None;
        }
        self.inner
            .iter()
            .find_map(|(name, node)| node.seen_by(glob, &glob.step(state, name), searcher))
    }

    /// Whatever conflicts with a read or a write of the path that comes before this write conflicts with this write too,
    /// unless it comes after both. So the new claim takes the place of those.
    fn record_write(&mut self, path: &str, who: &Arc<Identity>) {
        let mut node = self;
        let mut rest = path;
        while let Some((name, deeper)) = rest.split_once('/') {
            node = node.child(name);
            node.may_create.record(who);
            rest = deeper;
        }
        let node = node.child(rest);
        if node.reads.all_precede(who) {
            node.reads = ClaimTree::Empty;
        }
        if node.writes.all_precede(who) {
            node.writes = ClaimTree::Empty;
        }
        node.writes.record(who);
    }

    fn record_pattern(&mut self, glob: &Glob, who: &Arc<Identity>) {
        match self.patterns.iter_mut().find(|(known, _)| known == glob) {
            Some((_, claims)) => claims.record(who),
            None => self.patterns.push((glob.clone(), ClaimTree::One(who.clone()))),
        }
    }
}
