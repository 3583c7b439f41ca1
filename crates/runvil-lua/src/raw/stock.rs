//! Lua's own library functions, kept for the program where authors cannot reach them.
//!
//! They are plain C functions, the same in every state of the process, so they are looked up once.

use std::ffi::CStr;
use std::sync::OnceLock;

use mlua::ffi::{self, lua_State};

use super::CFunction;

macro_rules! library {
    ($(#[$doc:meta])* $library:ident { $($field:ident: $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $library { $(pub(super) $field: CFunction),* }

        impl $library {
            /// # Safety
            ///
            /// A live thread of a fresh state with the library's table on top and one free stack slot.
            unsafe fn read(state: *mut lua_State) -> Self {
                // SAFETY: as for this function.
                Self { $($field: unsafe { read_field(state, $name) }),* }
            }

            /// Sets each function as a field of the table on top of the stack.
            ///
            /// # Safety
            ///
            /// Protected mode, a table on top, one free stack slot.
            pub(super) unsafe fn set_fields(&self, state: *mut lua_State) {
                // SAFETY: as for this function.
                unsafe {
                    $(
                        ffi::lua_pushcfunction(state, self.$field);
                        ffi::lua_setfield(state, -2, $name.as_ptr());
                    )*
                }
            }
        }
    };
}

library! {
    /// The base functions that the sandbox keeps as they are, hides, or wraps.
    Base {
        getmetatable: c"getmetatable",
        ipairs: c"ipairs",
        rawequal: c"rawequal",
        rawget: c"rawget",
        rawlen: c"rawlen",
        rawset: c"rawset",
        select: c"select",
        setmetatable: c"setmetatable",
        tonumber: c"tonumber",
        type_: c"type",
    }
}

library! {
    /// The `string` functions.
    Strings {
        byte: c"byte",
        char: c"char",
        format: c"format",
        len: c"len",
        lower: c"lower",
        rep: c"rep",
        sub: c"sub",
        upper: c"upper",
    }
}

library! {
    /// The `table` functions.
    Tables {
        insert: c"insert",
        pack: c"pack",
        unpack: c"unpack",
    }
}

library! {
    /// The `math` functions that helpers use.
    Maths {
        floor: c"floor",
        max: c"max",
        min: c"min",
        tointeger: c"tointeger",
        type_: c"type",
    }
}

/// All of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stock {
    pub(super) base: Base,
    pub(super) strings: Strings,
    pub(super) tables: Tables,
    pub(super) maths: Maths,
}

static STOCK: OnceLock<Stock> = OnceLock::new();

/// Lua's own functions.
pub(super) fn stock() -> &'static Stock {
    STOCK
        .get()
        .expect("the first VM's setup reads them before any function of this crate can be called")
}

/// Reads the functions from a state that nothing has changed yet.
///
/// # Safety
///
/// A live thread of a fresh state with the standard libraries open and three free stack slots.
pub(super) unsafe fn learn(state: *mut lua_State) {
    STOCK.get_or_init(|| {
        // SAFETY: the state is fresh, so each field is there; pushes and pops balance.
        unsafe {
            ffi::lua_pushglobaltable(state);
            let stock = Stock {
                base: Base::read(state),
                strings: read_library(state, c"string", Strings::read),
                tables: read_library(state, c"table", Tables::read),
                maths: read_library(state, c"math", Maths::read),
            };
            ffi::lua_pop(state, 1);
            stock
        }
    });
}

/// # Safety
///
/// As [`learn`], with the globals on top.
unsafe fn read_library<T>(state: *mut lua_State, name: &CStr, read: unsafe fn(*mut lua_State) -> T) -> T {
    // SAFETY: as for this function.
    unsafe {
        ffi::lua_getfield(state, -1, name.as_ptr());
        let library = read(state);
        ffi::lua_pop(state, 1);
        library
    }
}

/// # Safety
///
/// As [`learn`], with a library table on top.
unsafe fn read_field(state: *mut lua_State, name: &CStr) -> CFunction {
    // SAFETY: as for this function.
    unsafe {
        ffi::lua_getfield(state, -1, name.as_ptr());
        let function = ffi::lua_tocfunction(state, -1);
        ffi::lua_pop(state, 1);
        function.expect("Lua 5.5 has each of the named functions")
    }
}
