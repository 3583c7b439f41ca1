//! The memory backend, which serves a run whose Host supplies no store (book: The default store).

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

use crate::{
    backend::{Backend, BackendFailure},
    glob::{Glob, GlobState},
    path::names,
};

/// Files held in memory: case-sensitive, empty at first, gone with the value.
#[derive(Debug, Default)]
pub struct MemoryBackend {
    root: RwLock<Directory>,
}

type Directory = BTreeMap<String, Entry>;

#[derive(Debug)]
enum Entry {
    File(Vec<u8>),
    Directory(Directory),
}

impl MemoryBackend {
    /// An empty backend.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `look` on the tree. No call leaves the tree half changed, so a panic of another thread does not spoil it.
    fn with<T>(&self, look: impl FnOnce(&Directory) -> T) -> T {
        look(&self.root.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_mut<T>(&self, change: impl FnOnce(&mut Directory) -> T) -> T {
        change(&mut self.root.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The entry at a path, or `None` when nothing is there or a file stands in the way.
fn find<'a>(root: &'a Directory, path: &str) -> Option<&'a Entry> {
    let (parents, name) = split(path);
    find_dir(root, names(parents))?.get(name)
}

fn find_dir<'a, 'n>(root: &'a Directory, mut names: impl Iterator<Item = &'n str>) -> Option<&'a Directory> {
    names.try_fold(root, |directory, name| match directory.get(name) {
        Some(Entry::Directory(inner)) => Some(inner),
        _ => None,
    })
}

/// A path's parent, `""` for the root, and its last name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The file at a path for a change, created with its parents if it is absent. A failed call creates nothing, because only
/// a name that was absent creates one, and beneath an absent name nothing can stand in the way.
fn file_mut<'a>(root: &'a mut Directory, path: &str) -> Result<&'a mut Vec<u8>, BackendFailure> {
    let (parents, name) = split(path);
    let mut directory = root;
    let mut reached = 0;
    for parent in names(parents) {
        reached += parent.len();
        let Entry::Directory(inner) = descend(directory, parent) else {
            return Err(BackendFailure::NotADirectory {
                file: path[..reached].to_owned(),
            });
        };
        directory = inner;
        reached += 1;
    }
    match directory
        .entry(name.to_owned())
        .or_insert_with(|| Entry::File(Vec::new()))
    {
        Entry::File(contents) => Ok(contents),
        Entry::Directory(_) => Err(BackendFailure::IsADirectory),
    }
}

fn descend<'a>(directory: &'a mut Directory, name: &str) -> &'a mut Entry {
    if directory.contains_key(name) {
        directory.get_mut(name).expect("the name was just looked up")
    } else {
        directory
            .entry(name.to_owned())
            .or_insert_with(|| Entry::Directory(Directory::new()))
    }
}

impl Backend for MemoryBackend {
    fn open(&self, _: &str) -> Result<(), BackendFailure> {
        Ok(())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, BackendFailure> {
        self.with(|root| match find(root, path) {
            Some(Entry::File(contents)) => Ok(contents.clone()),
            Some(Entry::Directory(_)) => Err(BackendFailure::IsADirectory),
            None => Err(BackendFailure::NotFound),
        })
    }

    fn write(&self, path: &str, contents: Vec<u8>) -> Result<(), BackendFailure> {
        self.with_mut(|root| file_mut(root, path).map(|file| *file = contents))
    }

    fn append(&self, path: &str, contents: &[u8]) -> Result<(), BackendFailure> {
        self.with_mut(|root| file_mut(root, path).map(|file| file.extend_from_slice(contents)))
    }

    fn delete(&self, path: &str) -> Result<(), BackendFailure> {
        let (parents, name) = split(path);
        self.with_mut(|root| {
            let mut directory = root;
            for parent in names(parents) {
                let Some(Entry::Directory(inner)) = directory.get_mut(parent) else {
                    return Ok(());
                };
                directory = inner;
            }
            if let Some(Entry::Directory(inner)) = directory.get(name)
                && !inner.is_empty()
            {
                return Err(BackendFailure::DirectoryNotEmpty);
            }
            directory.remove(name);
            Ok(())
        })
    }

    fn exists(&self, path: &str) -> Result<bool, BackendFailure> {
        Ok(self.with(|root| find(root, path).is_some()))
    }

    fn list(&self, base: &str, glob: &Glob) -> Result<Vec<String>, BackendFailure> {
        self.with(|root| {
            let mut walk = Walk {
                glob,
                prefix: String::new(),
                found: Vec::new(),
            };
            if let Some(directory) = find_dir(root, names(base).chain(glob.literal_dir())) {
                walk.prefix.extend(glob.literal_dir().flat_map(|name| [name, "/"]));
                walk.visit(directory, &glob.start_in_literal_dir());
            }
            Ok(walk.found)
        })
    }
}

/// A walk through the directories that a pattern can reach.
struct Walk<'a> {
    glob: &'a Glob,
    /// The directory being visited, relative to the base, with a trailing `/`.
    prefix: String,
    found: Vec<String>,
}

impl Walk<'_> {
    fn visit(&mut self, directory: &Directory, state: &GlobState) {
        for (name, entry) in directory {
            let state = self.glob.step(state, name);
            let inner = match entry {
                Entry::File(_) => None,
                Entry::Directory(inner) => Some(inner),
            };
            if self.glob.matches_at(&state) && inner.is_some() == self.glob.directories_only() {
                self.found.push([&self.prefix, name.as_str()].concat());
            }
            if let Some(inner) = inner
                && self.glob.goes_deeper(&state)
            {
                let outer = self.prefix.len();
                self.prefix.extend([name, "/"]);
                self.visit(inner, &state);
                self.prefix.truncate(outer);
            }
        }
    }
}
