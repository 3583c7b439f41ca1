//! The tree of mounts that a Host declares, and which of them serves a path (book: Mounts beside the store).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    backend::Backend,
    claims::Claims,
    path::{PathRule, check_path},
};

/// A backend at a place in the tree.
pub struct Mount {
    /// Where it is mounted, without the leading `/`; `""` is the root.
    at: String,
    backend: Box<dyn Backend>,
    read_only: bool,
}

/// The mounts of one Host, with the one table of claims that everything on them is judged by. Clones share both.
#[derive(Clone)]
pub struct Mounts {
    shared: Arc<Shared>,
}

struct Shared {
    /// Deepest first, so that the first mount that holds a path serves it.
    mounts: Vec<Mount>,
    claims: Mutex<Claims>,
}

/// Why a tree of mounts cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountError {
    /// A place is not `/` followed by a valid store path, or `/` alone.
    #[error("{place:?} is not a place to mount at, such as `/` or `/my/store`: {rule}")]
    Place {
        /// The place as given.
        place: String,
        /// What is wrong with it. A place without a leading `/` is reported as empty.
        rule: PathRule,
    },
    /// Two mounts at one place.
    #[error("two mounts at {place:?}: give each its own place")]
    Twice {
        /// The place.
        place: String,
    },
}

impl Mount {
    /// Mounts a backend at an absolute place, such as `/` or `/my/store`.
    ///
    /// # Errors
    /// The place is malformed.
    pub fn new(place: &str, backend: impl Backend + 'static) -> Result<Self, MountError> {
        Ok(Self {
            at: absolute(place)?.to_owned(),
            backend: Box::new(backend),
            read_only: false,
        })
    }

    /// The same mount, refusing every change.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self {
            read_only: true,
            ..self
        }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }
}

impl Mounts {
    /// Puts the mounts together.
    ///
    /// # Errors
    /// Two of them are at one place.
    pub fn new(mounts: impl IntoIterator<Item = Mount>) -> Result<Self, MountError> {
        let mut mounts: Vec<Mount> = mounts.into_iter().collect();
        mounts.sort_by(|a, b| b.at.cmp(&a.at));
        if let Some(pair) = mounts.windows(2).find(|pair| pair[0].at == pair[1].at) {
            return Err(MountError::Twice {
                place: format!("/{}", pair[0].at),
            });
        }
        Ok(Self {
            shared: Arc::new(Shared {
                mounts,
                claims: Mutex::default(),
            }),
        })
    }

    /// The mount that serves a path without its leading `/`, and the rest of the path within it.
    pub(crate) fn locate<'p>(&self, path: &'p str) -> Option<(usize, &'p str)> {
        self.shared
            .mounts
            .iter()
            .enumerate()
            .find_map(|(index, mount)| Some((index, within(&mount.at, path)?)))
    }

    pub(crate) fn mount(&self, index: usize) -> &Mount {
        &self.shared.mounts[index]
    }

    /// The table of claims. Each change of it is complete before it can panic, so another thread's panic spoils nothing.
    pub(crate) fn claims(&self) -> MutexGuard<'_, Claims> {
        self.shared.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of `path` beneath the directory `base`; `""` is the directory itself. `None` when the path lies elsewhere.
pub(crate) fn within<'p>(base: &str, path: &'p str) -> Option<&'p str> {
    match path.strip_prefix(base)? {
        rest if base.is_empty() => Some(rest),
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

/// An absolute place without its leading `/`.
pub(crate) fn absolute(place: &str) -> Result<&str, MountError> {
    let malformed = |rule| MountError::Place {
        place: place.to_owned(),
        rule,
    };
    let path = place.strip_prefix('/').ok_or_else(|| malformed(PathRule::Empty))?;
    if !path.is_empty() {
        check_path(path).map_err(malformed)?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryBackend;

    fn mounts(places: &[&str]) -> Result<Mounts, MountError> {
        Mounts::new(
            places
                .iter()
                .map(|place| Mount::new(place, MemoryBackend::new()).unwrap()),
        )
    }

    #[test]
    fn the_deepest_mount_serves_a_path() {
        let mounts = mounts(&["/", "/my/store", "/my"]).unwrap();
        let place = |path| {
            let (index, rest) = mounts.locate(path).unwrap();
            (mounts.mount(index).at.as_str(), rest)
        };
        assert_eq!(place("my/store/a.md"), ("my/store", "a.md"));
        assert_eq!(place("my/store"), ("my/store", ""));
        assert_eq!(place("my/stored"), ("my", "stored"));
        assert_eq!(place("a.md"), ("", "a.md"));
    }

    #[test]
    fn a_path_outside_every_mount_is_served_by_none() {
        assert_eq!(mounts(&["/my/store"]).unwrap().locate("my"), None);
    }

    #[test]
    fn a_bad_place_is_refused() {
        let place = |place| {
            Mount::new(place, MemoryBackend::new())
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            place("/a/../b").as_deref(),
            Some(
                "\"/a/../b\" is not a place to mount at, such as `/` or `/my/store`: path contains a traversal segment"
            )
        );
        assert!(place("store").is_some());
        assert!(matches!(mounts(&["/a", "/a"]), Err(MountError::Twice { .. })));
    }
}
