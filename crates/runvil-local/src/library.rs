//! The models that are installed on this machine.
//!
//! Each model is a folder with the GGUF file and what was found out about it when it was added. A folder appears
//! under its name as a whole, so that nothing is ever half installed; what an interrupted copy left is swept away by
//! the next change.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{LocalName, ModelFacts, ModelFileError};

/// The GGUF file in a model's folder.
const MODEL_FILE: &str = "model.gguf";

/// What is known of the model, beside it.
const FACTS_FILE: &str = "model.json";

/// How the folders of models begin that are being added or removed. No name of a model begins so.
const UNFINISHED: &str = ".unfinished-";

/// Whoever changes the library holds the lock on this file.
const LOCK_FILE: &str = ".lock";

/// How many bytes are copied at a time.
const COPY_BYTES: usize = 1024 * 1024;

/// The folder of the installed models.
#[derive(Debug, Clone)]
pub struct Library {
    folder: PathBuf,
}

/// An installed model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstalledModel {
    /// The name that it is installed under.
    pub name: LocalName,
    /// The SHA-256 digest of the file, in hexadecimal.
    pub sha256: String,
    /// The file's length in bytes.
    pub bytes: u64,
    /// What the file says of the model.
    #[serde(flatten)]
    pub facts: ModelFacts,
}

/// Why the library does not do what it is asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The file to add is no model that runs here.
    #[error("{}: {error}", .path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: ModelFileError,
    },
    /// A model has that name.
    #[error("a model named `{0}` is installed already")]
    Taken(LocalName),
    /// No model has that name.
    #[error("no model named `{0}` is installed")]
    Unknown(LocalName),
    /// Another process is changing the library.
    #[error("another process is adding or removing a model")]
    Busy,
    /// The file changed while it was copied.
    #[error("{}: the file changed while it was copied", .0.display())]
    Changed(PathBuf),
    /// The file of an installed model is not the one that was added.
    #[error("{}: the file of `{name}` was changed since it was added", .path.display())]
    Altered {
        /// The model.
        name: LocalName,
        /// Its file.
        path: PathBuf,
    },
    /// Nobody wants to know any more.
    #[error("the check of the file was interrupted")]
    Interrupted,
    /// What is known of an installed model cannot be read.
    #[error("{}: the description of the model cannot be read: {error}", .path.display())]
    Facts {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
    /// The system refuses.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's own error.
        #[source]
        error: io::Error,
    },
}

/// Tells an error of the system with its path.
fn at(path: &Path) -> impl FnOnce(io::Error) -> LibraryError + '_ {
    |error| LibraryError::Io {
        path: path.to_owned(),
        error,
    }
}

impl Library {
    /// The library in this folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where the library is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The installed models, by name.
    ///
    /// # Errors
    /// The folder cannot be read. A folder that does not exist holds no models.
    pub fn list(&self) -> Result<Vec<InstalledModel>, LibraryError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(at(&self.folder))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(at(&self.folder))?.file_name();
            names.extend(name.to_str().and_then(|name| name.parse::<LocalName>().ok()));
        }
        names.sort();
        names.iter().map(|name| self.get(name)).collect()
    }

    /// What is known of an installed model.
    ///
    /// # Errors
    /// No model has that name, or its description cannot be read.
    pub fn get(&self, name: &LocalName) -> Result<InstalledModel, LibraryError> {
        let path = self.folder.join(name.as_str()).join(FACTS_FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LibraryError::Unknown(name.clone())),
            text => text.map_err(at(&path))?,
        };
        serde_json::from_slice(&text).map_err(|error| LibraryError::Facts { path, error })
    }

    /// Where the GGUF file of an installed model is.
    #[must_use]
    pub fn model_file(&self, name: &LocalName) -> PathBuf {
        self.folder.join(name.as_str()).join(MODEL_FILE)
    }

    /// Checks that the file of an installed model is the one that was added. `go_on` is asked between its parts.
    ///
    /// # Errors
    /// It is another one, or cannot be read, or `go_on` says no.
    pub fn verify(&self, model: &InstalledModel, go_on: &mut dyn FnMut() -> bool) -> Result<(), LibraryError> {
        let path = self.model_file(&model.name);
        let mut file = File::open(&path).map_err(at(&path))?;
        let len = file.metadata().map_err(at(&path))?.len();
        let mut hash = Sha256::new();
        let mut buffer = vec![0; COPY_BYTES];
        let altered = || LibraryError::Altered {
            name: model.name.clone(),
            path: path.clone(),
        };
        if len != model.bytes {
            return Err(altered());
        }
        loop {
            if !go_on() {
                return Err(LibraryError::Interrupted);
            }
            match file.read(&mut buffer).map_err(at(&path))? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
        if digest(hash) == model.sha256 {
            Ok(())
        } else {
            Err(altered())
        }
    }

    /// Copies a model file into the library.
    ///
    /// # Errors
    /// The file is no model that runs here, the name is taken, or the copy fails. Nothing is installed then.
    pub fn add(&self, name: &LocalName, file: &Path) -> Result<InstalledModel, LibraryError> {
        let facts = ModelFacts::read(file).map_err(|error| LibraryError::Model {
            path: file.to_owned(),
            error,
        })?;
        let _lock = self.lock()?;
        self.sweep()?;
        let place = self.folder.join(name.as_str());
        if place.exists() {
            return Err(LibraryError::Taken(name.clone()));
        }
        let unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.folder)
            .map_err(at(&self.folder))?;
        let (bytes, sha256) = copy(file, &unfinished.path().join(MODEL_FILE))?;
        let model = InstalledModel {
            name: name.clone(),
            sha256,
            bytes,
            facts,
        };
        write_facts(&unfinished.path().join(FACTS_FILE), &model)?;
        fs::rename(unfinished.path(), &place).map_err(at(&place))?;
        // The folder has its name now, so there is nothing left to clean up.
        let _ = unfinished.keep();
        Ok(model)
    }

    /// Removes an installed model.
    ///
    /// # Errors
    /// No model has that name, or its files cannot be removed.
    pub fn remove(&self, name: &LocalName) -> Result<(), LibraryError> {
        let place = self.folder.join(name.as_str());
        if !place.is_dir() {
            return Err(LibraryError::Unknown(name.clone()));
        }
        let _lock = self.lock()?;
        // It is gone under its name at once, whatever becomes of its files.
        let gone = self.folder.join(format!("{UNFINISHED}{name}"));
        fs::rename(&place, &gone).map_err(at(&place))?;
        fs::remove_dir_all(&gone).map_err(at(&gone))
    }

    /// Keeps other processes from changing the library until the file is closed.
    fn lock(&self) -> Result<File, LibraryError> {
        fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        let path = self.folder.join(LOCK_FILE);
        let file = File::create(&path).map_err(at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => Err(LibraryError::Busy),
            Err(fs::TryLockError::Error(error)) => Err(at(&path)(error)),
        }
    }

    /// Removes what an interrupted change left. Only the holder of the lock may.
    fn sweep(&self) -> Result<(), LibraryError> {
        for entry in fs::read_dir(&self.folder).map_err(at(&self.folder))? {
            let entry = entry.map_err(at(&self.folder))?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_dir_all(entry.path()).map_err(at(&entry.path()))?;
            }
        }
        Ok(())
    }
}

/// Copies a file to the disk, and tells its length and digest.
fn copy(from: &Path, to: &Path) -> Result<(u64, String), LibraryError> {
    let mut source = File::open(from).map_err(at(from))?;
    let expected = source.metadata().map_err(at(from))?.len();
    let mut target = File::create_new(to).map_err(at(to))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; COPY_BYTES];
    let mut bytes = 0;
    loop {
        let read = source.read(&mut buffer).map_err(at(from))?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        target.write_all(&buffer[..read]).map_err(at(to))?;
        bytes += read as u64;
    }
    target.sync_all().map_err(at(to))?;
    if bytes != expected {
        return Err(LibraryError::Changed(from.to_owned()));
    }
    Ok((bytes, digest(hash)))
}

/// A digest in hexadecimal.
fn digest(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_facts(path: &Path, model: &InstalledModel) -> Result<(), LibraryError> {
    let text = serde_json::to_vec_pretty(model).expect("a description is made of strings and numbers");
    let mut file = File::create_new(path).map_err(at(path))?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(at(path))
}

#[cfg(test)]
mod tests;
