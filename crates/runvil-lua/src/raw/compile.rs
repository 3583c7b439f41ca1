//! Lua's own compiler, in a state that holds nothing else.

use std::ffi::{CString, c_int, c_void};
use std::ptr::NonNull;
use std::slice;

use mlua::ffi::{self, lua_State};

/// A bare Lua state that compiles and runs nothing: neither libraries nor what the sandbox needs, so it is made in a
/// fraction of the time that a VM takes.
#[derive(Debug)]
pub(crate) struct CompilerState(NonNull<lua_State>);

// SAFETY: the state is this value's alone, and Lua ties none to a thread.
unsafe impl Send for CompilerState {}

/// Why Lua did not compile a text.
#[derive(Debug)]
pub(crate) enum Uncompiled {
    /// It is not Lua: the compiler's message, which names the chunk.
    Syntax(String),
    /// The compiler gave up for another reason, such as nesting, which its message tells without a place.
    Gave(String),
    /// There is no memory.
    Memory,
}

impl CompilerState {
    /// A fresh state, unless there is no memory for one.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: there is nothing to uphold.
        NonNull::new(unsafe { ffi::luaL_newstate() }).map(Self)
    }

    /// Compiles a text to bytecode with its debug information, under a chunk name in Lua's own notation.
    pub(crate) fn compile(&mut self, source: &str, name: &str) -> Result<Vec<u8>, Uncompiled> {
        // To Lua a name ends there anyway.
        let name = name.split('\0').next().unwrap_or_default();
        let name = CString::new(name).expect("the name was cut at its first zero byte");
        let state = self.0.as_ptr();
        let mut bytecode = Vec::<u8>::new();
        // SAFETY: the stack is empty before and after. Loading runs in Lua's protected mode, and dumping allocates nothing
        // of Lua's; the writer gets the vector that it is made for.
        unsafe {
            let (text, length) = (source.as_ptr().cast(), source.len());
            let status = ffi::luaL_loadbufferx(state, text, length, name.as_ptr(), c"t".as_ptr());
            let compiled = if status == ffi::LUA_OK {
                ffi::lua_dump(state, append, (&raw mut bytecode).cast(), 0);
                Ok(bytecode)
            } else {
                Err(Uncompiled::of(status, state))
            };
            ffi::lua_settop(state, 0);
            compiled
        }
    }

    /// How much memory the state holds, in bytes.
    pub(crate) fn memory(&self) -> usize {
        // SAFETY: the call only reads a count.
        let kilobytes = unsafe { ffi::lua_gc(self.0.as_ptr(), ffi::LUA_GCCOUNT) };
        usize::try_from(kilobytes).unwrap_or_default().saturating_mul(1024)
    }
}

impl Drop for CompilerState {
    fn drop(&mut self) {
        // SAFETY: nothing uses the state any more.
        unsafe { ffi::lua_close(self.0.as_ptr()) }
    }
}

impl Uncompiled {
    /// # Safety
    ///
    /// A live thread with the message of the failed load on top.
    unsafe fn of(status: c_int, state: *mut lua_State) -> Self {
        if status == ffi::LUA_ERRMEM {
            return Self::Memory;
        }
        // SAFETY: as for this function; the text is copied while it is on the stack.
        let message = unsafe {
            let mut length = 0;
            let text = ffi::lua_tolstring(state, -1, &raw mut length);
            if text.is_null() {
                &[]
            } else {
                slice::from_raw_parts(text.cast::<u8>(), length)
            }
        };
        let message = String::from_utf8_lossy(message).into_owned();
        if status == ffi::LUA_ERRSYNTAX {
            Self::Syntax(message)
        } else {
            Self::Gave(message)
        }
    }
}

/// Takes a piece of a dump into the vector behind `data`.
unsafe extern "C-unwind" fn append(_: *mut lua_State, piece: *const c_void, length: usize, data: *mut c_void) -> c_int {
    // Lua ends a dump with an empty piece, whose address means nothing.
    if length > 0 {
        // SAFETY: called by `lua_dump` with the vector that it was given, and with so many bytes.
        unsafe { (*data.cast::<Vec<u8>>()).extend_from_slice(slice::from_raw_parts(piece.cast(), length)) };
    }
    0
}
