//! Listing the paths that a pattern matches.

use std::{ffi::OsString, io};

use cap_std::fs::{Dir, DirEntry};
use runvil_vfs::{BackendFailure, Glob, GlobState, check_path};

use crate::{
    replace::{is_temporary, sweep},
    root::{Found, Root, io_failure},
};

/// A walk through the directories that a pattern can reach.
///
/// Links to directories are listed and not walked into, so that a link to a directory above ends nothing in a circle.
pub(crate) struct Walk<'a> {
    root: &'a Root,
    glob: &'a Glob,
    /// How much of a path from the root is the base that matches are relative to.
    base: usize,
    /// The directory being visited, from the root, with a trailing `/`; `""` is the root.
    at: String,
    found: Vec<String>,
}

impl<'a> Walk<'a> {
    /// The matches beneath `base`, relative to it.
    pub(crate) fn list(root: &'a Root, base: &str, glob: &'a Glob) -> Result<Vec<String>, BackendFailure> {
        let mut at = base.to_owned();
        if !at.is_empty() {
            at.push('/');
        }
        let base = at.len();
        at.extend(glob.literal_dir().flat_map(|name| [name, "/"]));
        let mut walk = Self {
            root,
            glob,
            base,
            at,
            found: Vec::new(),
        };
        if let Some(directory) = root.open_dir(walk.at.trim_end_matches('/'))? {
            walk.visit(&directory, &glob.start_in_literal_dir())?;
        }
        Ok(walk.found)
    }

    fn visit(&mut self, directory: &Dir, state: &GlobState) -> Result<(), BackendFailure> {
        for entry in directory.entries().map_err(|error| io_failure(&error))? {
            let entry = entry.map_err(|error| io_failure(&error))?;
            let name = entry.file_name();
            if is_temporary(&name) {
                sweep(directory, &name);
                continue;
            }
            self.take(&entry, &self.utf8(name)?, state)?;
        }
        Ok(())
    }

    fn utf8(&self, name: OsString) -> Result<String, BackendFailure> {
        name.into_string().map_err(|name| BackendFailure::NameNotUtf8 {
            directory: self.at.trim_end_matches('/').to_owned(),
            valid_up_to: match std::str::from_utf8(name.as_encoded_bytes()) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            },
        })
    }

    /// Lists an entry if it matches, and visits it if matches may lie beneath. One that no store path can name is passed over.
    fn take(&mut self, entry: &DirEntry, name: &str, state: &GlobState) -> Result<(), BackendFailure> {
        let state = self.glob.step(state, name);
        let (matches, deeper) = (self.glob.matches_at(&state), self.glob.goes_deeper(&state));
        let path = format!("{}{name}", self.at);
        if !(matches || deeper) || check_path(&path[self.base..]).is_err() {
            return Ok(());
        }
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(io_failure(&error)),
        };
        let is_dir = if kind.is_symlink() {
            // A link that cannot be followed names nothing in the store.
            match self.root.find(&path) {
                Ok(Found::Directory) => true,
                Ok(Found::File) => false,
                Ok(Found::Nothing | Found::Special) | Err(BackendFailure::OutsideRoot { .. }) => {
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            }
        } else if kind.is_dir() || kind.is_file() {
            kind.is_dir()
        } else {
            return Ok(());
        };
        if matches && is_dir == self.glob.directories_only() {
            self.found.push(path[self.base..].to_owned());
        }
        if deeper && kind.is_dir() {
            self.descend(entry, path, &state)
        } else {
            Ok(())
        }
    }

    fn descend(&mut self, entry: &DirEntry, mut path: String, state: &GlobState) -> Result<(), BackendFailure> {
        let inner = match entry.open_dir() {
            Ok(inner) => inner,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.root.failure(&path, &error)),
        };
        path.push('/');
        let outer = std::mem::replace(&mut self.at, path);
        self.visit(&inner, state)?;
        self.at = outer;
        Ok(())
    }
}
