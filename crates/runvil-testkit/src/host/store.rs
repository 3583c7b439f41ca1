//! The store that a case's Host supplies.

use std::{collections::BTreeMap, sync::Arc};

use runvil_harness::LaunchStore;
use runvil_vfs::{Backend, BackendFailure, Glob, MemoryBackend, Mode, Mount, Mounts, Policy, PolicyOp, Ruling, Store};
use runvil_vfs_dir::DirBackend;
use tempfile::TempDir;

use crate::case::{HostSpec, StoreKind, StoreMode, Verdict};

/// The store of one case.
pub(crate) struct ScriptedStore {
    store: Option<Store>,
    /// The directory that serves it, removed with this value.
    _directory: Option<TempDir>,
}

impl ScriptedStore {
    /// # Errors
    /// The store cannot be set up or seeded.
    pub(crate) fn new(host: &HostSpec) -> Result<Self, String> {
        let mut directory = None;
        let store = match host.store_kind {
            StoreKind::None => None,
            StoreKind::Refusing => Some(Store::over(RefusingBackend)),
            StoreKind::Memory => Some(seeded(MemoryBackend::new(), host)?),
            StoreKind::Directory => {
                let made = TempDir::new().map_err(|error| format!("no directory for the store: {error}"))?;
                // A test's directory is gone after it, so nothing has to wait for the disk.
                let backend = DirBackend::new(made.path()).without_sync();
                directory = Some(made);
                Some(seeded(backend, host)?)
            }
        };
        if let Some(store) = &store {
            store.set_policy(policy(host));
        }
        Ok(Self {
            store,
            _directory: directory,
        })
    }

    /// The store as the launch takes it.
    pub(crate) fn launch(&self) -> LaunchStore {
        self.store
            .clone()
            .map_or(LaunchStore::Undeclared, LaunchStore::Supplied)
    }

    /// Every file with its text. A file whose text cannot be read shows why.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let Some(store) = &self.store else {
            return BTreeMap::new();
        };
        let paths = store.list("**").unwrap_or_default();
        let text = |path: &String| match store.text(path.as_str()) {
            Ok(text) => text.unwrap_or_default(),
            Err(failure) => format!("<{failure}>"),
        };
        paths.into_iter().map(|path| (path.clone(), text(&path))).collect()
    }
}

fn seeded(backend: impl Backend + 'static, host: &HostSpec) -> Result<Store, String> {
    for (path, bytes) in host.files()? {
        backend
            .write(&path, bytes)
            .map_err(|failure| format!("the store file {path} cannot be seeded: {failure:?}"))?;
    }
    let mount = Mount::new("/", backend).map_err(|error| error.to_string())?;
    let mount = if host.store_read_only { mount.read_only() } else { mount };
    let mounts = Mounts::new([mount]).map_err(|error| error.to_string())?;
    Store::new(mounts, "/").map_err(|error| error.to_string())
}

fn policy(host: &HostSpec) -> Option<Arc<dyn Policy>> {
    let mode = host.store_mode.map(|mode| match mode {
        StoreMode::Agent => Mode::Agent,
        StoreMode::Ask => Mode::Ask,
        StoreMode::Plan => Mode::Plan,
    });
    if mode.is_none() && host.store_policy.is_empty() {
        return None;
    }
    let rules = host
        .store_policy
        .iter()
        .map(|rule| (rule.path.clone(), rule.verdict.clone()));
    Some(Arc::new(ScriptedPolicy {
        mode,
        rules: rules.collect(),
    }))
}

/// The case's rules, and beneath them its storage mode.
struct ScriptedPolicy {
    mode: Option<Mode>,
    rules: BTreeMap<String, Verdict>,
}

impl Policy for ScriptedPolicy {
    fn rule(&self, op: PolicyOp, path: &str) -> Ruling {
        match self.rules.get(path) {
            Some(Verdict::Deny(reason)) => Ruling::Deny(reason.clone()),
            Some(Verdict::Ask(reason)) => Ruling::Ask(reason.clone()),
            None => self.mode.map_or(Ruling::Allow, |mode| mode.rule(op, path)),
        }
    }
}

/// A backend that admits no run.
struct RefusingBackend;

fn refusal<T>() -> Result<T, BackendFailure> {
    Err(BackendFailure::Failed {
        message: "the store backend refuses every session".to_owned(),
    })
}

impl Backend for RefusingBackend {
    fn open(&self, _: &str) -> Result<(), BackendFailure> {
        refusal()
    }

    fn read(&self, _: &str) -> Result<Vec<u8>, BackendFailure> {
        refusal()
    }

    fn write(&self, _: &str, _: Vec<u8>) -> Result<(), BackendFailure> {
        refusal()
    }

    fn append(&self, _: &str, _: &[u8]) -> Result<(), BackendFailure> {
        refusal()
    }

    fn delete(&self, _: &str) -> Result<(), BackendFailure> {
        refusal()
    }

    fn exists(&self, _: &str) -> Result<bool, BackendFailure> {
        refusal()
    }

    fn list(&self, _: &str, _: &Glob) -> Result<Vec<String>, BackendFailure> {
        refusal()
    }
}
