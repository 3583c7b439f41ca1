//! `tostring` and `string.format`: Lua's own, but that what has an address shows a number that repeats.

use std::ffi::{CStr, c_char, c_int};

use mlua::ffi::{self, lua_Integer, lua_State};

use super::stock::stock;
use super::{Key, Shared, string_bytes};

/// Registry slot of the weak table from value to its number, in the order in which values were first shown.
static NUMBERS: Key = Key::new();

pub(super) unsafe extern "C-unwind" fn tostring(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::luaL_checkany(state, 1);
        push_text(state, 1);
        1
    }
}

/// Pushes the text of the value at `index`, as `tostring` gives it.
///
/// # Safety
///
/// Called by a function that Lua called, with five free stack slots; `index` is absolute and valid.
pub(super) unsafe fn push_text(state: *mut lua_State, index: c_int) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        if ffi::luaL_callmeta(state, index, c"__tostring".as_ptr()) != 0 {
            if ffi::lua_isstring(state, -1) == 0 {
                ffi::luaL_error(state, c"'__tostring' must return a string".as_ptr());
            }
        } else if has_address(state, index) {
            push_named_address(state, index);
        } else {
            ffi::luaL_tolstring(state, index, std::ptr::null_mut());
        }
    }
}

/// Whether `tostring` would show an address of the value.
///
/// # Safety
///
/// A live thread with a value at `index`.
unsafe fn has_address(state: *mut lua_State, index: c_int) -> bool {
    // SAFETY: reads only.
    let kind = unsafe { ffi::lua_type(state, index) };
    matches!(
        kind,
        ffi::LUA_TTABLE | ffi::LUA_TFUNCTION | ffi::LUA_TUSERDATA | ffi::LUA_TLIGHTUSERDATA | ffi::LUA_TTHREAD
    )
}

/// Pushes `{type}: {address}`.
///
/// # Safety
///
/// As [`push_text`].
unsafe fn push_named_address(state: *mut lua_State, index: c_int) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        let named = ffi::luaL_getmetafield(state, index, c"__name".as_ptr());
        let kind = if named == ffi::LUA_TSTRING {
            ffi::lua_tolstring(state, -1, std::ptr::null_mut())
        } else {
            ffi::luaL_typename(state, index)
        };
        push_address(state, index);
        let address = ffi::lua_tolstring(state, -1, std::ptr::null_mut());
        ffi::lua_pushfstring(state, c"%s: %s".as_ptr(), kind, address);
        ffi::lua_replace(state, -2 - c_int::from(named != ffi::LUA_TNIL));
        if named != ffi::LUA_TNIL {
            ffi::lua_pop(state, 1);
        }
    }
}

/// Pushes what stands for the address of the value at `index`.
///
/// # Safety
///
/// As [`push_text`].
unsafe fn push_address(state: *mut lua_State, index: c_int) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        let number = number_of(state, index);
        let mut digits = [0_u8; 16];
        let mut rest = number.cast_unsigned();
        let mut start = digits.len();
        while rest > 0 || start > digits.len() - 8 {
            start -= 1;
            digits[start] = b"0123456789abcdef"[(rest & 15) as usize];
            rest >>= 4;
        }
        ffi::lua_pushstring(state, c"0x".as_ptr());
        ffi::lua_pushlstring(state, digits[start..].as_ptr().cast(), digits.len() - start);
        ffi::lua_concat(state, 2);
    }
}

/// # Safety
///
/// As [`push_text`].
unsafe fn number_of(state: *mut lua_State, index: c_int) -> lua_Integer {
    // SAFETY: pushes and pops balance.
    unsafe {
        if ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, NUMBERS.address()) != ffi::LUA_TTABLE {
            ffi::lua_pop(state, 1);
            push_numbers(state);
        }
        ffi::lua_pushvalue(state, index);
        let mut number = 0;
        if ffi::lua_rawget(state, -2) == ffi::LUA_TNUMBER {
            number = ffi::lua_tointegerx(state, -1, std::ptr::null_mut());
        } else {
            number += Shared::at(state).next_address();
            ffi::lua_pushvalue(state, index);
            ffi::lua_pushinteger(state, number);
            ffi::lua_rawset(state, -4);
        }
        ffi::lua_pop(state, 2);
        number
    }
}

/// Creates the table of numbers and pushes it.
///
/// # Safety
///
/// As [`push_text`].
unsafe fn push_numbers(state: *mut lua_State) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        ffi::lua_createtable(state, 0, 4);
        super::weaken_keys(state);
        ffi::lua_pushvalue(state, -1);
        ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, NUMBERS.address());
    }
}

/// `string.format(f, ...)`: arguments whose address would show are replaced before Lua's own function formats.
pub(super) unsafe extern "C-unwind" fn format(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        if ffi::lua_type(state, 1) == ffi::LUA_TSTRING {
            let top = ffi::lua_gettop(state);
            ffi::luaL_checkstack(state, 8, std::ptr::null());
            hide_addresses(state, top);
            ffi::lua_settop(state, top);
        }
        (stock().strings.format)(state)
    }
}

/// # Safety
///
/// As [`format`], with a string at index 1 and the arguments up to `top`.
unsafe fn hide_addresses(state: *mut lua_State, top: c_int) {
    // SAFETY: an argument is replaced by a string in its place; the format stays alive at index 1, and when it is
    // replaced, the old one stays on the stack above the arguments.
    unsafe {
        let format = string_bytes(state, 1);
        ffi::lua_pushvalue(state, 1);
        let mut argument = 1;
        let mut at = 0;
        while let Some(conversion) = Conversion::after(format, at) {
            at = conversion.end;
            if conversion.kind == b'%' {
                continue;
            }
            argument += 1;
            if argument > top {
                return;
            }
            match conversion.kind {
                b's' if has_address(state, argument) => show_as_text(state, argument),
                b'p' if conversion.is_plain => show_as_pointer(state, argument, conversion.end - 1),
                _ => {}
            }
        }
    }
}

/// Replaces the argument by its text, unless a metamethod makes that.
///
/// # Safety
///
/// As [`hide_addresses`].
unsafe fn show_as_text(state: *mut lua_State, argument: c_int) {
    // SAFETY: pushes and pops balance.
    unsafe {
        if ffi::luaL_getmetafield(state, argument, c"__tostring".as_ptr()) == ffi::LUA_TNIL {
            push_named_address(state, argument);
            ffi::lua_replace(state, argument);
        } else {
            ffi::lua_pop(state, 1);
        }
    }
}

/// Replaces the argument by its address and the `p` of the format, at byte `at`, by an `s`.
///
/// # Safety
///
/// As [`hide_addresses`].
unsafe fn show_as_pointer(state: *mut lua_State, argument: c_int, at: usize) {
    // SAFETY: the copy has the format's length; pushes and pops balance.
    unsafe {
        if has_address(state, argument) || ffi::lua_type(state, argument) == ffi::LUA_TSTRING {
            push_address(state, argument);
        } else {
            ffi::lua_pushstring(state, c"(null)".as_ptr());
        }
        ffi::lua_replace(state, argument);
        let format = string_bytes(state, 1);
        let copy = ffi::lua_newuserdatauv(state, format.len(), 0).cast::<u8>();
        copy.copy_from_nonoverlapping(format.as_ptr(), format.len());
        *copy.add(at) = b's';
        ffi::lua_pushlstring(state, copy.cast::<c_char>(), format.len());
        ffi::lua_replace(state, 1);
        ffi::lua_pop(state, 1);
    }
}

/// One `%…` of a format.
struct Conversion {
    kind: u8,
    end: usize,
    /// Whether it has nothing but a width of at most two digits and a minus sign: all that `%p` may have.
    is_plain: bool,
}

impl Conversion {
    /// The next conversion at or after byte `at`.
    fn after(format: &[u8], at: usize) -> Option<Self> {
        let start = at + format[at..].iter().position(|&byte| byte == b'%')? + 1;
        let flags = format[start..]
            .iter()
            .take_while(|byte| b"-+ #0123456789.".contains(byte))
            .count();
        let modifiers = &format[start..start + flags];
        let width = modifiers.strip_prefix(b"-").unwrap_or(modifiers);
        Some(Self {
            kind: *format.get(start + flags)?,
            end: start + flags + 1,
            is_plain: width.len() <= 2 && width.iter().all(u8::is_ascii_digit) && width.first() != Some(&b'0'),
        })
    }
}

/// `table.concat(list, sep, i, j)`: also joins what renders through `tostring` (book: The `table` library).
pub(super) unsafe extern "C-unwind" fn concat(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop. The buffer does not
    // move, and what is pushed between two additions is popped before the next.
    unsafe {
        let mut length = 0;
        let separator = ffi::luaL_optlstring(state, 2, c"".as_ptr(), &raw mut length);
        let first = ffi::luaL_optinteger(state, 3, 1);
        let last = if ffi::lua_type(state, 4) <= ffi::LUA_TNIL {
            ffi::luaL_len(state, 1)
        } else {
            ffi::luaL_checkinteger(state, 4)
        };
        ffi::lua_settop(state, 2);
        let mut buffer = std::mem::MaybeUninit::<ffi::luaL_Buffer>::uninit();
        let buffer = buffer.as_mut_ptr();
        ffi::luaL_buffinit(state, buffer);
        for index in first..=last {
            if index > first {
                ffi::luaL_addlstring(buffer, separator, length);
            }
            if index & 0xfff == 0 {
                super::poll(state);
            }
            push_element(state, index);
            ffi::luaL_addvalue(buffer);
        }
        ffi::luaL_pushresult(buffer);
        1
    }
}

/// Pushes the text of the list's element, or raises.
///
/// # Safety
///
/// As [`concat`], with the list at index 1.
unsafe fn push_element(state: *mut lua_State, index: lua_Integer) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        let kind = ffi::lua_geti(state, 1, index);
        match kind {
            ffi::LUA_TSTRING | ffi::LUA_TNUMBER => return,
            ffi::LUA_TUSERDATA | ffi::LUA_TLIGHTUSERDATA => {}
            ffi::LUA_TTABLE if renders(state) => {}
            _ => {
                let found = ffi::luaL_typename(state, -1);
                ffi::luaL_error(
                    state,
                    c"invalid value (%s) at index %I in table for 'concat'".as_ptr(),
                    found,
                    index,
                );
            }
        }
        push_text(state, ffi::lua_gettop(state));
        ffi::lua_remove(state, -2);
    }
}

/// Whether `getmetatable` of the table on top of the stack is a table with a `__tostring` field.
///
/// # Safety
///
/// As [`concat`].
unsafe fn renders(state: *mut lua_State) -> bool {
    const FIELD: &CStr = c"__tostring";
    // SAFETY: pushes and pops balance.
    unsafe {
        let top = ffi::lua_gettop(state);
        ffi::lua_pushcfunction(state, super::globals::getmetatable);
        ffi::lua_pushvalue(state, top);
        ffi::lua_call(state, 1, 1);
        let renders = ffi::lua_type(state, -1) == ffi::LUA_TTABLE
            && ffi::lua_getfield(state, -1, FIELD.as_ptr()) != ffi::LUA_TNIL;
        ffi::lua_settop(state, top);
        renders
    }
}
