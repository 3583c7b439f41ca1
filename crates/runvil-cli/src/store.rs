//! The store that the command line asks for.

use std::path::{Path, PathBuf};

use runvil_harness::LaunchStore;
use runvil_vfs::{Backend, MemoryBackend, Mode, Mount, Mounts, Store};
use runvil_vfs_dir::DirBackend;
use serde::{Deserialize, Serialize};

use crate::{
    args::{RunArgs, StoreMode},
    exit::Fault,
};

/// Which store a run asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreSpec {
    pub(crate) directory: Option<PathBuf>,
    pub(crate) mode: Option<StoreMode>,
    pub(crate) read_only: bool,
    /// Each as `PATH=DIR`.
    pub(crate) mounts: Vec<String>,
}

impl From<&RunArgs> for StoreSpec {
    fn from(args: &RunArgs) -> Self {
        Self {
            directory: args.store.clone(),
            mode: args.store_mode,
            read_only: args.read_only,
            mounts: args.mounts.clone(),
        }
    }
}

impl StoreSpec {
    /// The same store, whatever the current directory is.
    pub(crate) fn absolute(&self) -> Self {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self {
            directory: self.directory.as_deref().map(whole),
            mounts: self
                .mounts
                .iter()
                .map(|mount| match mount.split_once('=') {
                    Some((place, directory)) => format!("{place}={}", whole(Path::new(directory)).display()),
                    None => mount.clone(),
                })
                .collect(),
            ..*self
        }
    }

    /// The directories that are mounted beside the store.
    pub(crate) fn mounted(&self) -> impl Iterator<Item = &Path> {
        let mounts = self.mounts.iter();
        mounts.filter_map(|mount| mount.split_once('=').map(|(_, directory)| Path::new(directory)))
    }
}

/// The store of a run.
pub(crate) fn open(spec: &StoreSpec) -> Result<LaunchStore, Fault> {
    if *spec == StoreSpec::default() {
        return Ok(LaunchStore::Fresh);
    }
    let own = match &spec.directory {
        Some(directory) => mount("/", DirBackend::new(checked(directory, "--store")?))?,
        None => mount("/", MemoryBackend::new())?,
    };
    let mut mounts = vec![if spec.read_only { own.read_only() } else { own }];
    for argument in &spec.mounts {
        let (place, directory) = argument.split_once('=').ok_or_else(|| {
            Fault::usage(format_args!("--mount {argument}: there is no `=`"))
                .with_help("give a mount as PATH=DIR, such as --mount /docs=./docs")
        })?;
        let directory = existing(Path::new(directory), argument)?;
        mounts.push(mount(place, DirBackend::new(directory))?);
    }
    let store = Mounts::new(mounts)
        .and_then(|mounts| Store::new(mounts, "/"))
        .map_err(Fault::usage)?;
    if let Some(mode) = spec.mode {
        store.set_mode(match mode {
            StoreMode::Agent => Mode::Agent,
            StoreMode::Ask => Mode::Ask,
            StoreMode::Plan => Mode::Plan,
        });
    }
    Ok(LaunchStore::Supplied(store))
}

fn mount(place: &str, backend: impl Backend + 'static) -> Result<Mount, Fault> {
    Mount::new(place, backend).map_err(|error| Fault::usage(format_args!("--mount: {error}")))
}

/// A directory that need not exist yet; the first write makes it.
fn checked(directory: &Path, option: &str) -> Result<PathBuf, Fault> {
    if directory.exists() && !directory.is_dir() {
        let message = format!("{option} {}: this is not a directory", directory.display());
        return Err(Fault::failure(message).with_help("name a directory; it is made if it is not there yet"));
    }
    Ok(directory.to_owned())
}

fn existing(directory: &Path, argument: &str) -> Result<PathBuf, Fault> {
    if directory.is_dir() {
        return Ok(directory.to_owned());
    }
    let message = format!("--mount {argument}: there is no directory {}", directory.display());
    Err(Fault::failure(message).with_help("mount a directory that exists"))
}
