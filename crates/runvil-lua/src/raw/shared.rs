//! What every function of one VM can reach.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::Lua;
use mlua::ffi::{self, lua_State};

use crate::cancel::CancelFlag;
use crate::failure::Failure;

/// The state of one VM that lives outside its Lua heap. Each of its Lua threads points to it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) cancel: CancelFlag,
    /// The failures behind the error values that were built since the last suspending call.
    failures: Mutex<Vec<Failure>>,
}

impl Shared {
    pub(crate) fn new(cancel: CancelFlag) -> Arc<Self> {
        Arc::new(Self {
            cancel,
            failures: Mutex::default(),
        })
    }

    /// The shared state of the VM that `lua` belongs to.
    pub(crate) fn of(lua: &Lua) -> Arc<Self> {
        Arc::clone(
            &lua.app_data_ref::<Arc<Self>>()
                .expect("a VM stores its shared state when it is made"),
        )
    }

    /// The shared state of the VM that `state` belongs to.
    ///
    /// # Safety
    ///
    /// `state` is a live Lua thread of a VM whose main thread went through [`Shared::attach`], and the
    /// reference is not kept past the current call from Lua.
    pub(super) unsafe fn at<'a>(state: *mut lua_State) -> &'a Self {
        // SAFETY: `attach` stored the pointer in the main thread's extra space, which each new thread copies,
        // and the VM's app data keeps the value alive as long as the Lua state.
        unsafe { &**ffi::lua_getextraspace(state).cast::<*const Self>() }
    }

    /// Makes the value reachable from every thread of the VM.
    ///
    /// # Safety
    ///
    /// `main` is the main thread of a VM that keeps `self` in its app data, before it made other threads that
    /// will run functions of this module.
    pub(super) unsafe fn attach(self: &Arc<Self>, main: *mut lua_State) {
        // SAFETY: the extra space is one pointer wide and nobody else uses it.
        unsafe { *ffi::lua_getextraspace(main).cast::<*const c_void>() = Arc::as_ptr(self).cast() }
    }

    pub(crate) fn remember(&self, failure: Failure) -> usize {
        let mut failures = self.failures();
        failures.push(failure);
        failures.len() - 1
    }

    pub(crate) fn recall(&self, index: usize) -> Option<Failure> {
        self.failures().get(index).cloned()
    }

    /// Forgets the failures; says whether there were any.
    pub(crate) fn forget(&self) {
        self.failures().clear();
    }

    fn failures(&self) -> MutexGuard<'_, Vec<Failure>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
