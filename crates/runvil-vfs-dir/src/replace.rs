//! Replacing a file in one step: its new contents go to a temporary file beside it, which then takes its name.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    fs::TryLockError,
    io::{self, Read, Write},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use cap_std::fs::{Dir, File, OpenOptions, Permissions};
use runvil_vfs::BackendFailure;

use crate::root::{Found, Root, io_failure, not_regular, prefixes};

/// What the name of a temporary file starts with. No path reaches such a name, and no listing shows it.
const TEMPORARY: &str = ".runvil-tmp-";

/// How often a write starts over because a sweep took its temporary file away before it was locked.
const ATTEMPTS: usize = 8;

/// Whether a name is that of a temporary file, in any letter case.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.len() >= TEMPORARY.len() && name[..TEMPORARY.len()].eq_ignore_ascii_case(TEMPORARY.as_bytes())
}

/// Whether a path goes through such a name.
pub(crate) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| is_temporary(OsStr::new(name)))
}

/// Removes a temporary file whose writer is gone. A live writer holds a lock on its own.
pub(crate) fn sweep(dir: &Dir, name: &OsStr) {
    let Ok(file) = dir.open_with(name, OpenOptions::new().read(true).write(true)) else {
        return;
    };
    let file = file.into_std();
    if file.try_lock().is_ok() {
        // Another sweep may have been faster; what stays is swept next time.
        let _ = dir.remove_file(name);
    }
}

/// What the new contents are.
pub(crate) enum Contents<'a> {
    /// This and nothing else.
    Whole(&'a [u8]),
    /// The old contents with this behind them.
    Appended(&'a [u8]),
}

/// A name that a file can be put under, in a directory that is there.
struct Site {
    dir: Dir,
    name: OsString,
    /// The permissions of the file that it replaces.
    old: Option<Permissions>,
}

/// Creates or replaces the file at a path. A call that fails leaves every file as it was, and no directory of its own.
pub(crate) fn replace(root: &Root, path: &str, contents: &Contents<'_>, sync: bool) -> Result<(), BackendFailure> {
    if is_hidden(path) {
        let detail = format!("names that start with {TEMPORARY} are kept for unfinished writes");
        return Err(BackendFailure::Unsupported { detail });
    }
    let made = make_parents(root, path)?;
    let written = site(root, path).and_then(|site| site.put(contents, sync).map_err(|error| io_failure(&error)));
    if written.is_err() {
        unmake(root, &made);
    }
    written
}

/// Removes directories that a failed call made. One that another writer has filled by now stays.
fn unmake(root: &Root, made: &[&str]) {
    for directory in made.iter().rev() {
        let _ = root.dir().remove_dir(directory);
    }
}

/// Makes the directories above a path that are missing, and tells which.
fn make_parents<'p>(root: &Root, path: &'p str) -> Result<Vec<&'p str>, BackendFailure> {
    let Some((parent, _)) = path.rsplit_once('/') else {
        return Ok(Vec::new());
    };
    if root.dir().open_dir(parent).is_ok() {
        return Ok(Vec::new());
    }
    let mut missing = Vec::new();
    for directory in prefixes(parent) {
        match root.find(directory)? {
            Found::Directory => {}
            Found::Nothing => missing.push(directory),
            Found::File | Found::Special => {
                return Err(BackendFailure::NotADirectory {
                    file: directory.to_owned(),
                });
            }
        }
    }
    let mut made = Vec::new();
    for directory in missing {
        match root.dir().create_dir(directory) {
            Ok(()) => made.push(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                unmake(root, &made);
                return Err(root.failure(directory, &error));
            }
        }
    }
    Ok(made)
}

/// Finds the site of a path. A link at its end is followed, so that the write goes where a read would look.
fn site(root: &Root, path: &str) -> Result<Site, BackendFailure> {
    match root.find(path)? {
        Found::Directory => Err(BackendFailure::IsADirectory),
        Found::Special => Err(not_regular()),
        Found::Nothing => {
            let (dir, name) = root.parent(path)?;
            Ok(Site { dir, name, old: None })
        }
        Found::File => {
            // Opening the old file asks the system whether this process may change it, which the replacement would not.
            let old = root.open_file(path, OpenOptions::new().write(true))?;
            let old = old.metadata().map_err(|error| io_failure(&error))?.permissions();
            let (dir, name) = root.parent(&link_target(root, path)?)?;
            Ok(Site {
                dir,
                name,
                old: Some(old),
            })
        }
    }
}

/// The path that a link at the end of a path leads to, or the path itself when there is no link.
fn link_target<'p>(root: &Root, path: &'p str) -> Result<Cow<'p, str>, BackendFailure> {
    if !root
        .dir()
        .symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_symlink())
    {
        return Ok(path.into());
    }
    let target = root
        .dir()
        .canonicalize(path)
        .map_err(|error| root.failure(path, &error))?;
    let names: Option<Vec<&str>> = target.iter().map(OsStr::to_str).collect();
    let not_utf8 = || BackendFailure::Unsupported {
        detail: "it is a link to a name that is not UTF-8".to_owned(),
    };
    Ok(names.ok_or_else(not_utf8)?.join("/").into())
}

impl Site {
    fn put(&self, contents: &Contents<'_>, sync: bool) -> io::Result<()> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (temporary, name) = self.temporary()?;
            match self.fill(temporary, &name, contents, sync) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {}
                Err(error) => {
                    // The first failure is the one to report.
                    let _ = self.dir.remove_file(&name);
                    return Err(error);
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    /// A new temporary file, locked as far as the file system can.
    fn temporary(&self) -> io::Result<(File, OsString)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!("{TEMPORARY}{}-{number}", process::id()));
            match self
                .dir
                .open_with(&name, OpenOptions::new().write(true).create_new(true))
            {
                Ok(file) => {
                    let file = file.into_std();
                    match file.try_lock() {
                        Ok(()) | Err(TryLockError::Error(_)) => {
                            return Ok((File::from_std(file), name));
                        }
                        // A sweep holds it and is about to remove it.
                        Err(TryLockError::WouldBlock) => {}
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes the temporary file whole and gives it the file's name.
    fn fill(&self, mut temporary: File, name: &OsStr, contents: &Contents<'_>, sync: bool) -> io::Result<()> {
        let added = match contents {
            Contents::Whole(bytes) => bytes,
            Contents::Appended(bytes) => {
                if self.old.is_some() {
                    io::copy(&mut self.dir.open(&self.name)?, &mut temporary)?;
                }
                bytes
            }
        };
        temporary.write_all(added)?;
        if let Some(permissions) = &self.old {
            temporary.set_permissions(permissions.clone())?;
        }
        if sync {
            temporary.sync_data()?;
        }
        self.dir.rename(name, &self.dir, &self.name)
    }
}

/// A file's bytes.
pub(crate) fn read(mut file: File) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
