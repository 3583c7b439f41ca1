//! `pairs` and `next` in the fixed key order (book: Deterministic table iteration).

use std::ffi::c_int;

use mlua::ffi::{self, lua_Integer, lua_KContext, lua_State};

use super::{globals, walk};
use crate::order::SortKey;

/// `pairs(t)`: the order is fixed at the call, the values are read when the walk reaches them.
pub(super) unsafe extern "C-unwind" fn pairs(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::luaL_checkany(state, 1);
        if ffi::luaL_getmetafield(state, 1, c"__pairs".as_ptr()) != ffi::LUA_TNIL {
            return delegate(state);
        }
        check_table(state);
        ffi::lua_settop(state, 1);
        globals::materialize_if_globals(state, 1);
        let length = raw_length(state, 1);
        let border = if has_hole(state, length) { 0 } else { length };
        walk::push(state, length, border);
        ffi::lua_pushcclosure(state, walk::advance, 3);
        ffi::lua_pushvalue(state, 1);
        ffi::lua_pushnil(state);
        3
    }
}

/// Hands the walk to the `__pairs` metamethod on top of the stack, all of whose results are those of `pairs`.
///
/// # Safety
///
/// Called by a function that Lua called with the walked value as its first argument.
unsafe fn delegate(state: *mut lua_State) -> c_int {
    // SAFETY: the frame holds nothing to drop.
    unsafe {
        if ffi::lua_type(state, -1) != ffi::LUA_TFUNCTION {
            let found = ffi::luaL_typename(state, -1);
            return ffi::luaL_error(
                state,
                c"attempt to call a %s value (metamethod '__pairs')".as_ptr(),
                found,
            );
        }
        ffi::lua_pushvalue(state, 1);
        let below = ffi::lua_gettop(state) - 2;
        ffi::lua_callk(state, 1, ffi::LUA_MULTRET, below as lua_KContext, Some(delegated));
        delegated(state, ffi::LUA_OK, below as lua_KContext)
    }
}

unsafe extern "C-unwind" fn delegated(state: *mut lua_State, _status: c_int, below: lua_KContext) -> c_int {
    // SAFETY: called by Lua; the stack holds `below` values under the results.
    unsafe { ffi::lua_gettop(state) - c_int::try_from(below).unwrap_or_default() }
}

/// # Safety
///
/// A live thread; the error, if any, is the running function's.
unsafe fn check_table(state: *mut lua_State) {
    // SAFETY: the frame holds nothing to drop.
    unsafe {
        if ffi::lua_type(state, 1) != ffi::LUA_TTABLE {
            let found = ffi::luaL_typename(state, 1);
            let text = ffi::lua_pushfstring(state, c"table expected, got %s".as_ptr(), found);
            ffi::luaL_argerror(state, 1, text);
        }
    }
}

/// # Safety
///
/// A live thread with a table at `index`.
unsafe fn raw_length(state: *mut lua_State, index: c_int) -> lua_Integer {
    // SAFETY: reads only.
    lua_Integer::try_from(unsafe { ffi::lua_rawlen(state, index) }).unwrap_or(lua_Integer::MAX)
}

/// Whether a slot of 1 to `length` is nil, which Lua allows below a border.
///
/// # Safety
///
/// A live thread with a table at index 1 and one free stack slot.
unsafe fn has_hole(state: *mut lua_State, length: lua_Integer) -> bool {
    // SAFETY: what is pushed is popped.
    unsafe {
        for index in 1..=length {
            let kind = ffi::lua_rawgeti(state, 1, index);
            ffi::lua_pop(state, 1);
            if kind == ffi::LUA_TNIL {
                return true;
            }
        }
        false
    }
}

/// Whether the value at `index` is an integer of 1 to `border`.
///
/// # Safety
///
/// A live thread with a value at `index`.
pub(super) unsafe fn is_in_array(state: *mut lua_State, index: c_int, border: lua_Integer) -> bool {
    // SAFETY: reads only.
    unsafe {
        ffi::lua_isinteger(state, index) != 0
            && (1..=border).contains(&ffi::lua_tointegerx(state, index, std::ptr::null_mut()))
    }
}

/// How the key at `index` sorts. Integers of 1 to `length` belong to the array part and sort before all else.
///
/// # Safety
///
/// A live thread with a value at `index` that stays alive as long as the result is used.
pub(super) unsafe fn sort_key<'t>(
    state: *mut lua_State,
    index: c_int,
    length: lua_Integer,
    position: u32,
) -> SortKey<'t> {
    // SAFETY: reads only; a string's bytes stay in place as long as the string lives.
    unsafe {
        match ffi::lua_type(state, index) {
            ffi::LUA_TBOOLEAN => SortKey::boolean(ffi::lua_toboolean(state, index) != 0, position),
            ffi::LUA_TNUMBER if is_in_array(state, index, length) => {
                SortKey::array(ffi::lua_tointegerx(state, index, std::ptr::null_mut()), position)
            }
            ffi::LUA_TNUMBER if ffi::lua_isinteger(state, index) != 0 => {
                SortKey::integer(ffi::lua_tointegerx(state, index, std::ptr::null_mut()), position)
            }
            ffi::LUA_TNUMBER => SortKey::float(ffi::lua_tonumber(state, index), true, position),
            ffi::LUA_TSTRING => SortKey::text(string_bytes(state, index), true, position),
            _ => SortKey::other(position),
        }
    }
}

/// The bytes of the string at `index`.
///
/// # Safety
///
/// A live thread with a string at `index` that stays alive as long as the result is used.
pub(super) unsafe fn string_bytes<'t>(state: *mut lua_State, index: c_int) -> &'t [u8] {
    // SAFETY: Lua strings do not move.
    unsafe {
        let mut length = 0;
        let start = ffi::lua_tolstring(state, index, &raw mut length);
        std::slice::from_raw_parts(start.cast(), length)
    }
}

/// `next(t, k)`: the key after `k` in the order of the table as it is now.
pub(super) unsafe extern "C-unwind" fn next(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        ffi::lua_settop(state, 2);
        globals::materialize_if_globals(state, 1);
        let length = raw_length(state, 1);
        let first = ffi::lua_type(state, 2) == ffi::LUA_TNIL;
        if let Some(from) = array_start(state, first, length)
            && let Some(count) = next_in_array(state, from, length)
        {
            return count;
        }
        if next_in_hash(state, length) {
            return 2;
        }
        ffi::lua_pushnil(state);
        if first {
            return 1;
        }
        ffi::lua_pushnil(state);
        2
    }
}

/// Where the walk of the array part goes on, if the key at index 2 lies in it or before it. The key is replaced
/// by nil when the rest of the table is then walked from its start.
///
/// # Safety
///
/// As [`next`], with the two arguments on the stack.
unsafe fn array_start(state: *mut lua_State, first: bool, length: lua_Integer) -> Option<lua_Integer> {
    // SAFETY: pushes and pops balance.
    unsafe {
        if first {
            return Some(1);
        }
        let mut integral = 0;
        if ffi::lua_type(state, 2) != ffi::LUA_TNUMBER {
            return None;
        }
        let key = ffi::lua_tointegerx(state, 2, &raw mut integral);
        if integral == 0 || key < 1 {
            return None;
        }
        if key > length {
            let kind = ffi::lua_rawgeti(state, 1, key);
            ffi::lua_pop(state, 1);
            if kind != ffi::LUA_TNIL {
                return None;
            }
        }
        ffi::lua_pushnil(state);
        ffi::lua_replace(state, 2);
        Some(key.saturating_add(1))
    }
}

/// Pushes the first pair of the array part at or after `from`.
///
/// # Safety
///
/// As [`next`].
unsafe fn next_in_array(state: *mut lua_State, from: lua_Integer, length: lua_Integer) -> Option<c_int> {
    // SAFETY: pushes and pops balance but for the pair.
    unsafe {
        for index in from..=length {
            ffi::lua_pushinteger(state, index);
            if ffi::lua_rawgeti(state, 1, index) != ffi::LUA_TNIL {
                return Some(2);
            }
            ffi::lua_pop(state, 2);
        }
        None
    }
}

/// Pushes the pair that follows the key at index 2 outside the array part, nil for the first; says whether there
/// is one.
///
/// # Safety
///
/// As [`next`], with the two arguments on the stack.
unsafe fn next_in_hash(state: *mut lua_State, length: lua_Integer) -> bool {
    // SAFETY: the keys that are compared live in the table or on the stack.
    unsafe {
        let after = match ffi::lua_type(state, 2) {
            ffi::LUA_TNIL => None,
            _ => Some(sort_key(state, 2, length, 0)),
        };
        if after.is_some_and(|key| key.is_other()) && is_present(state) {
            return next_other(state);
        }
        let mut best: Option<SortKey<'_>> = None;
        ffi::lua_pushnil(state);
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, 1) != 0 {
            ffi::lua_pop(state, 1);
            if is_in_array(state, -1, length) {
                continue;
            }
            let key = sort_key(state, -1, length, 0);
            let later = after.is_none_or(|after| key.is_other() || key.follows(&after));
            if later && best.is_none_or(|best| best.follows(&key)) {
                best = Some(key);
                ffi::lua_copy(state, -1, 3);
            }
        }
        if best.is_some() {
            ffi::lua_pushvalue(state, 3);
            ffi::lua_rawget(state, 1);
        }
        best.is_some()
    }
}

/// # Safety
///
/// As [`next_in_hash`].
unsafe fn is_present(state: *mut lua_State) -> bool {
    // SAFETY: pushes and pops balance.
    unsafe {
        ffi::lua_pushvalue(state, 2);
        let kind = ffi::lua_rawget(state, 1);
        ffi::lua_pop(state, 1);
        kind != ffi::LUA_TNIL
    }
}

/// Pushes the pair of the next key that is no scalar, in the table's own traversal; says whether there is one.
///
/// # Safety
///
/// As [`next_in_hash`], and the key at index 2 is present.
unsafe fn next_other(state: *mut lua_State) -> bool {
    // SAFETY: pushes and pops balance but for the pair.
    unsafe {
        ffi::lua_pushvalue(state, 2);
        while ffi::lua_next(state, 1) != 0 {
            if sort_key(state, -2, 0, 0).is_other() {
                return true;
            }
            ffi::lua_pop(state, 1);
        }
        false
    }
}
