//! What every function of one VM can reach.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::Lua;
use mlua::ffi::{self, lua_State};

use crate::cancel::CancelFlag;
use crate::locate::Labels;

/// The state of one VM that lives outside its Lua heap. Each of its Lua threads points to it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) cancel: CancelFlag,
    /// The memory ceiling.
    pub(crate) memory_bytes: usize,
    /// The blocks of the VM, whose lines map to the prompt file.
    labels: Mutex<Labels>,
    /// Whether a lazy global may be left to make.
    lazy_globals: AtomicBool,
    /// What the next seed of `math.randomseed()` is made from.
    seeds: AtomicU64,
    /// The number that the last value whose address was shown got instead.
    addresses: AtomicI64,
}

impl Shared {
    pub(crate) fn new(cancel: CancelFlag, memory_bytes: usize, seed: &[u8; 32]) -> Arc<Self> {
        Arc::new(Self {
            cancel,
            memory_bytes,
            labels: Mutex::default(),
            lazy_globals: AtomicBool::new(false),
            seeds: AtomicU64::new(fold(seed, 3)),
            addresses: AtomicI64::new(0),
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

    pub(crate) fn labels(&self) -> MutexGuard<'_, Labels> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_lazy_globals(&self, any: bool) {
        self.lazy_globals.store(any, Ordering::Relaxed);
    }

    pub(super) fn has_lazy_globals(&self) -> bool {
        self.lazy_globals.load(Ordering::Relaxed)
    }

    /// The two words of the next seed nobody asked for.
    pub(super) fn next_seed(&self) -> [i64; 2] {
        [(); 2].map(|()| {
            let drawn = mix(self.seeds.load(Ordering::Relaxed));
            self.seeds.store(drawn, Ordering::Relaxed);
            drawn.cast_signed()
        })
    }

    pub(super) fn next_address(&self) -> i64 {
        self.addresses.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A number made from a seed; each `salt` gives another.
pub(super) fn fold(seed: &[u8; 32], salt: u64) -> u64 {
    let (words, _) = seed.as_chunks::<8>();
    words
        .iter()
        .fold(salt, |sum, &word| mix(sum ^ u64::from_le_bytes(word)))
}

/// One step of the SplitMix64 generator.
fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
