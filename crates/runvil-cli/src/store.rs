//! The store that the command line asks for.

use std::path::{Path, PathBuf};

use runvil_harness::LaunchStore;
use runvil_vfs::{Backend, MemoryBackend, Mode, Mount, Mounts, Store};
use runvil_vfs_dir::DirBackend;

use crate::{
    args::{RunArgs, StoreMode},
    exit::Fault,
};

/// The store of a run.
pub(crate) fn open(args: &RunArgs) -> Result<LaunchStore, Fault> {
    let asks_for_nothing =
        args.store.is_none() && args.store_mode.is_none() && !args.read_only && args.mounts.is_empty();
    if asks_for_nothing {
        return Ok(LaunchStore::Fresh);
    }
    let own = match &args.store {
        Some(directory) => mount("/", DirBackend::new(checked(directory, "--store")?))?,
        None => mount("/", MemoryBackend::new())?,
    };
    let mut mounts = vec![if args.read_only { own.read_only() } else { own }];
    for argument in &args.mounts {
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
    if let Some(mode) = args.store_mode {
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
