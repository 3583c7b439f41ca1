//! `table.insert`, `table.remove` and `table.move`: Lua's own, but that a cancel reaches their loops.
//!
//! A length that a metamethod makes up, or a range that an author does, can keep each of them busy for ever.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_Integer, lua_State};

use super::poll;
use super::stock::stock;

/// What a value must do to pass for a table.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    Reading,
    Writing,
    ReadingAndWriting,
}

/// Counts loop rounds and looks at the cancel flag now and then.
pub(super) struct Rounds(u32);

impl Rounds {
    /// How many rounds pass between two looks.
    const APART: u32 = 4096;

    pub(super) fn new() -> Self {
        Self(0)
    }

    /// # Safety
    ///
    /// As [`poll`].
    pub(super) unsafe fn count(&mut self, state: *mut lua_State) {
        self.0 += 1;
        if self.0 == Self::APART {
            self.0 = 0;
            // SAFETY: as for this function.
            unsafe { poll(state) };
        }
    }
}

/// Raises Lua's error unless the argument is a table, or has the metamethods of one.
///
/// # Safety
///
/// Called by a function that Lua called, with five free stack slots and nothing in its frame to drop.
pub(super) unsafe fn check_table(state: *mut lua_State, argument: c_int, needs: Needs, length: bool) {
    // SAFETY: pushes and pops balance.
    unsafe {
        if ffi::lua_type(state, argument) == ffi::LUA_TTABLE {
            return;
        }
        let top = ffi::lua_gettop(state);
        let reads = !matches!(needs, Needs::Writing);
        let writes = !matches!(needs, Needs::Reading);
        let is_string = ffi::lua_type(state, argument) == ffi::LUA_TSTRING;
        let passes = ffi::lua_getmetatable(state, argument) != 0
            && (!reads || has_field(state, top + 1, c"__index"))
            && (!writes || has_field(state, top + 1, c"__newindex"))
            && (!length || is_string || has_field(state, top + 1, c"__len"));
        ffi::lua_settop(state, top);
        if !passes {
            ffi::luaL_checktype(state, argument, ffi::LUA_TTABLE);
        }
    }
}

/// # Safety
///
/// As [`check_table`], with a table at `index`.
unsafe fn has_field(state: *mut lua_State, index: c_int, name: &CStr) -> bool {
    // SAFETY: one value more on the stack, which the caller drops.
    unsafe {
        ffi::lua_pushstring(state, name.as_ptr());
        ffi::lua_rawget(state, index) != ffi::LUA_TNIL
    }
}

/// The length of the table at index 1, checked to be readable and writable.
///
/// # Safety
///
/// As [`check_table`].
pub(super) unsafe fn checked_length(state: *mut lua_State) -> lua_Integer {
    // SAFETY: as for this function.
    unsafe {
        check_table(state, 1, Needs::ReadingAndWriting, true);
        ffi::luaL_len(state, 1)
    }
}

pub(super) unsafe extern "C-unwind" fn insert(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        if ffi::lua_gettop(state) != 3 {
            return (stock().tables.insert)(state);
        }
        let end = checked_length(state).wrapping_add(1);
        let place = ffi::luaL_checkinteger(state, 2);
        if place.cast_unsigned().wrapping_sub(1) >= end.cast_unsigned() {
            ffi::luaL_argerror(state, 2, c"position out of bounds".as_ptr());
        }
        let mut rounds = Rounds::new();
        let mut index = end;
        while index > place {
            rounds.count(state);
            ffi::lua_geti(state, 1, index - 1);
            ffi::lua_seti(state, 1, index);
            index -= 1;
        }
        ffi::lua_seti(state, 1, place);
        0
    }
}

pub(super) unsafe extern "C-unwind" fn remove(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        let size = checked_length(state);
        let mut place = ffi::luaL_optinteger(state, 2, size);
        if place != size && place.cast_unsigned().wrapping_sub(1) > size.cast_unsigned() {
            ffi::luaL_argerror(state, 2, c"position out of bounds".as_ptr());
        }
        ffi::lua_geti(state, 1, place);
        let mut rounds = Rounds::new();
        while place < size {
            rounds.count(state);
            ffi::lua_geti(state, 1, place + 1);
            ffi::lua_seti(state, 1, place);
            place += 1;
        }
        ffi::lua_pushnil(state);
        ffi::lua_seti(state, 1, place);
        1
    }
}

pub(super) unsafe extern "C-unwind" fn move_(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        let from = ffi::luaL_checkinteger(state, 2);
        let end = ffi::luaL_checkinteger(state, 3);
        let to = ffi::luaL_checkinteger(state, 4);
        let target = if ffi::lua_type(state, 5) <= ffi::LUA_TNIL { 1 } else { 5 };
        check_table(state, 1, Needs::Reading, false);
        check_table(state, target, Needs::Writing, false);
        if end >= from {
            if from <= 0 && end >= lua_Integer::MAX.wrapping_add(from) {
                ffi::luaL_argerror(state, 3, c"too many elements to move".as_ptr());
            }
            let count = end - from + 1;
            if to > lua_Integer::MAX - count + 1 {
                ffi::luaL_argerror(state, 4, c"destination wrap around".as_ptr());
            }
            let elsewhere = target != 1 && ffi::lua_compare(state, 1, target, ffi::LUA_OPEQ) == 0;
            let ascending = to > end || to <= from || elsewhere;
            let mut rounds = Rounds::new();
            for round in 0..count {
                rounds.count(state);
                let offset = if ascending { round } else { count - 1 - round };
                ffi::lua_geti(state, 1, from + offset);
                ffi::lua_seti(state, target, to + offset);
            }
        }
        ffi::lua_pushvalue(state, target);
        1
    }
}
