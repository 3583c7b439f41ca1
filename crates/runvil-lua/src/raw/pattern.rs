//! `string.find`, `string.match`, `string.gmatch` and `string.gsub`: Lua's own, on the matcher that a cancel reaches.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use mlua::ffi::{self, lua_Integer, lua_State};

use super::{Shared, interrupt, string_bytes, type_error};
use crate::pattern::{Capture, ESCAPE, MAX_CAPTURES, Matcher, PatternError, is_plain};

pub(super) unsafe extern "C-unwind" fn find(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua, as this function.
    unsafe { search(state, true) }
}

pub(super) unsafe extern "C-unwind" fn match_(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua, as this function.
    unsafe { search(state, false) }
}

/// The string argument at `index`, converted from a number if need be.
///
/// # Safety
///
/// Called by a function that Lua called. The argument stays on the stack as long as the bytes are used.
unsafe fn string_argument<'t>(state: *mut lua_State, index: c_int) -> &'t [u8] {
    // SAFETY: the check makes the argument a string in place.
    unsafe {
        ffi::luaL_checklstring(state, index, std::ptr::null_mut());
        string_bytes(state, index)
    }
}

/// The offset that the third argument asks to start at; past `length + 1` for one beyond the end.
///
/// # Safety
///
/// Called by a function that Lua called.
unsafe fn start_argument(state: *mut lua_State, length: usize) -> usize {
    // SAFETY: as for this function.
    let position = unsafe { ffi::luaL_optinteger(state, 3, 1) };
    let length = lua_Integer::try_from(length).unwrap_or(lua_Integer::MAX);
    let from_start = match position {
        0 => 1,
        1.. => position,
        _ if position < -length => 1,
        _ => length + position + 1,
    };
    usize::try_from(from_start - 1).unwrap_or(usize::MAX)
}

/// # Safety
///
/// Called by a function that Lua called, with its arguments.
unsafe fn search(state: *mut lua_State, positions: bool) -> c_int {
    // SAFETY: this frame holds nothing that a raised error would have to drop.
    unsafe {
        let subject = string_argument(state, 1);
        let pattern = string_argument(state, 2);
        let start = start_argument(state, subject.len());
        if start > subject.len() {
            ffi::lua_pushnil(state);
            return 1;
        }
        if positions && (ffi::lua_toboolean(state, 4) != 0 || is_plain(pattern)) {
            return find_plain(state, subject, pattern, start);
        }
        let (pattern, anchored) = anchor(pattern);
        let mut matcher = Matcher::new(subject, pattern, &Shared::at(state).cancel);
        for at in start..=subject.len() {
            if let Some(end) = raise(state, matcher.match_at(at)) {
                if !positions {
                    return push_captures(state, &matcher, at, end, true);
                }
                push_position(state, at + 1);
                push_position(state, end);
                return push_captures(state, &matcher, at, end, false) + 2;
            }
            if anchored {
                break;
            }
        }
        ffi::lua_pushnil(state);
        1
    }
}

/// # Safety
///
/// As [`search`].
unsafe fn find_plain(state: *mut lua_State, subject: &[u8], wanted: &[u8], start: usize) -> c_int {
    // SAFETY: pushes the results.
    unsafe {
        match memchr::memmem::find(&subject[start..], wanted) {
            Some(at) => {
                push_position(state, start + at + 1);
                push_position(state, start + at + wanted.len());
                2
            }
            None => {
                ffi::lua_pushnil(state);
                1
            }
        }
    }
}

/// Takes the anchor off a pattern.
fn anchor(pattern: &[u8]) -> (&[u8], bool) {
    match pattern.strip_prefix(b"^") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    }
}

/// # Safety
///
/// A live thread with one free stack slot.
unsafe fn push_position(state: *mut lua_State, position: usize) {
    // SAFETY: as for this function.
    unsafe {
        ffi::lua_pushinteger(state, lua_Integer::try_from(position).unwrap_or(lua_Integer::MAX));
    };
}

/// Raises what a match raises.
///
/// # Safety
///
/// Called by a function that Lua called, with nothing in its frame to drop.
unsafe fn raise<T>(state: *mut lua_State, result: Result<T, PatternError>) -> T {
    // SAFETY: as for this function.
    unsafe {
        match result {
            Ok(value) => return value,
            Err(PatternError::Interrupted) => interrupt(state),
            Err(PatternError::Message(text)) => ffi::luaL_error(state, c"%s".as_ptr(), text.as_ptr()),
            Err(PatternError::CaptureIndex(index)) => {
                ffi::luaL_error(state, c"invalid capture index %%%d".as_ptr(), index)
            }
        };
        ffi::lua_error(state)
    }
}

/// Pushes the captures of a match; without any, the whole of it if `whole`.
///
/// # Safety
///
/// As [`raise`].
unsafe fn push_captures(state: *mut lua_State, matcher: &Matcher<'_>, start: usize, end: usize, whole: bool) -> c_int {
    // SAFETY: there is room for what is pushed.
    unsafe {
        let count = matcher.captures().max(usize::from(whole));
        let room = c_int::try_from(MAX_CAPTURES).unwrap_or(c_int::MAX);
        ffi::luaL_checkstack(state, room, c"too many captures".as_ptr());
        for index in 0..count {
            push_capture(state, matcher, index, start, end);
        }
        c_int::try_from(count).unwrap_or(c_int::MAX)
    }
}

/// # Safety
///
/// As [`raise`], with the subject at index 1 and one free stack slot.
unsafe fn push_capture(state: *mut lua_State, matcher: &Matcher<'_>, index: usize, start: usize, end: usize) {
    // SAFETY: the subject is the first argument, or the first upvalue of `gmatch`'s iterator, so the matcher's slice
    // is alive.
    unsafe {
        match raise(state, matcher.capture(index, start, end)) {
            Capture::Text { start, end } => {
                let text = matcher.text(start, end);
                ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
            }
            Capture::Position(at) | Capture::Open { start: at } => push_position(state, at + 1),
        }
    }
}

/// Where an iteration stands: the next start, and the end of the last match.
struct Progress {
    next: usize,
    last: Option<usize>,
}

pub(super) unsafe extern "C-unwind" fn gmatch(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        let subject = string_argument(state, 1);
        string_argument(state, 2);
        let next = start_argument(state, subject.len()).min(subject.len() + 1);
        ffi::lua_settop(state, 2);
        let progress = ffi::lua_newuserdatauv(state, size_of::<Progress>(), 0).cast::<Progress>();
        progress.write(Progress { next, last: None });
        ffi::lua_pushcclosure(state, gmatch_next, 3);
        1
    }
}

unsafe extern "C-unwind" fn gmatch_next(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with the subject, the pattern and the progress as upvalues.
    unsafe {
        let [subject, pattern] = [1, 2].map(|index| string_bytes(state, ffi::lua_upvalueindex(index)));
        let progress = ffi::lua_touserdata(state, ffi::lua_upvalueindex(3)).cast::<Progress>();
        let mut matcher = Matcher::new(subject, pattern, &Shared::at(state).cancel);
        for at in (*progress).next..=subject.len() {
            let end = raise(state, matcher.match_at(at));
            if end.is_some() && end != (*progress).last {
                let end = end.unwrap_or_default();
                *progress = Progress {
                    next: end,
                    last: Some(end),
                };
                return push_captures(state, &matcher, at, end, true);
            }
        }
        0
    }
}

pub(super) unsafe extern "C-unwind" fn gsub(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop. The buffer does not
    // move, and the stack above it is as it was after each addition.
    unsafe {
        let subject = string_argument(state, 1);
        let pattern = string_argument(state, 2);
        let kind = ffi::lua_type(state, 3);
        let limit = lua_Integer::try_from(subject.len()).unwrap_or(lua_Integer::MAX - 1) + 1;
        let limit = ffi::luaL_optinteger(state, 4, limit);
        if !matches!(
            kind,
            ffi::LUA_TNUMBER | ffi::LUA_TSTRING | ffi::LUA_TFUNCTION | ffi::LUA_TTABLE
        ) {
            type_error(state, 3, c"string/function/table");
        }
        let (pattern, anchored) = anchor(pattern);
        let mut matcher = Matcher::new(subject, pattern, &Shared::at(state).cancel);
        let mut buffer = MaybeUninit::<ffi::luaL_Buffer>::uninit();
        let buffer = buffer.as_mut_ptr();
        ffi::luaL_buffinit(state, buffer);
        let (mut at, mut last, mut count, mut changed) = (0, None, 0, false);
        let mut added = 0;
        while count < limit {
            let end = raise(state, matcher.match_at(at));
            if let Some(end) = end
                && Some(end) != last
            {
                count += 1;
                add(buffer, &subject[added..at]);
                changed |= add_replacement(state, buffer, &matcher, kind, at, end);
                (at, added, last) = (end, end, Some(end));
            } else if at < subject.len() {
                at += 1;
            } else {
                break;
            }
            if anchored {
                break;
            }
        }
        if changed {
            add(buffer, &subject[added..]);
            ffi::luaL_pushresult(buffer);
        } else {
            ffi::lua_pushvalue(state, 1);
        }
        ffi::lua_pushinteger(state, count);
        2
    }
}

/// Adds bytes to a buffer.
///
/// # Safety
///
/// As [`gsub`].
unsafe fn add(buffer: *mut ffi::luaL_Buffer, bytes: &[u8]) {
    // SAFETY: as for this function.
    unsafe { ffi::luaL_addlstring(buffer, bytes.as_ptr().cast(), bytes.len()) };
}

/// Adds what replaces a match; says whether it differs from the match.
///
/// # Safety
///
/// As [`gsub`].
unsafe fn add_replacement(
    state: *mut lua_State,
    buffer: *mut ffi::luaL_Buffer,
    matcher: &Matcher<'_>,
    kind: c_int,
    start: usize,
    end: usize,
) -> bool {
    // SAFETY: the stack above the buffer is as it was.
    unsafe {
        match kind {
            ffi::LUA_TFUNCTION => {
                ffi::lua_pushvalue(state, 3);
                let count = push_captures(state, matcher, start, end, true);
                ffi::lua_call(state, count, 1);
            }
            ffi::LUA_TTABLE => {
                push_capture(state, matcher, 0, start, end);
                ffi::lua_gettable(state, 3);
            }
            _ => {
                add_template(state, buffer, matcher, start, end);
                return true;
            }
        }
        if ffi::lua_toboolean(state, -1) == 0 {
            ffi::lua_pop(state, 1);
            add(buffer, matcher.text(start, end));
            return false;
        }
        if ffi::lua_isstring(state, -1) == 0 {
            let found = ffi::luaL_typename(state, -1);
            ffi::luaL_error(state, c"invalid replacement value (a %s)".as_ptr(), found);
        }
        ffi::luaL_addvalue(buffer);
        true
    }
}

/// Adds a replacement string, its `%` sequences filled in.
///
/// # Safety
///
/// As [`gsub`].
unsafe fn add_template(
    state: *mut lua_State,
    buffer: *mut ffi::luaL_Buffer,
    matcher: &Matcher<'_>,
    start: usize,
    end: usize,
) {
    // SAFETY: the template stays at index 3.
    unsafe {
        ffi::lua_tolstring(state, 3, std::ptr::null_mut());
        let mut rest = string_bytes(state, 3);
        while let Some(at) = memchr::memchr(ESCAPE, rest) {
            add(buffer, &rest[..at]);
            match rest.get(at + 1) {
                Some(&ESCAPE) => add(buffer, b"%"),
                Some(b'0') => add(buffer, matcher.text(start, end)),
                Some(&digit @ b'1'..=b'9') => {
                    push_capture(state, matcher, usize::from(digit - b'1'), start, end);
                    ffi::luaL_addvalue(buffer);
                }
                _ => {
                    ffi::luaL_error(
                        state,
                        c"invalid use of '%c' in replacement string".as_ptr(),
                        c_int::from(ESCAPE),
                    );
                }
            }
            rest = &rest[at + 2..];
        }
        add(buffer, rest);
    }
}
