//! The walk that `pairs` hands out: its keys in the fixed order, and its iterator.

use std::ffi::c_int;
use std::ptr::NonNull;
use std::slice;

use mlua::ffi::{self, lua_Integer, lua_State};

use super::iterate::{is_in_array, sort_key};
use super::poll;
use crate::order::{Place, SortKey, common_prefix};

/// How many keys the first buffer holds.
const FIRST_CAPACITY: usize = 16;

/// Where a walk stands. Behind it, in the same userdata, lies the order of its keys: each one's index in the sequence
/// of keys, which has the order in which the table's own traversal met them.
struct Walk {
    /// How many steps were taken.
    steps: lua_Integer,
    /// The length of the array part, which comes first and needs no keys.
    border: lua_Integer,
    /// How many keys follow.
    count: usize,
}

/// Pushes the table at index 1, the sequence of its keys outside of 1 to `border`, and the walk over both. With a border of
/// 0 but a `length`, the keys of the array part are among them, in front.
///
/// # Safety
///
/// Called by a function that Lua called, with only the table on the stack.
pub(super) unsafe fn push(state: *mut lua_State, length: lua_Integer, border: lua_Integer) {
    // SAFETY: the keys stay alive and in place through the table while their texts are compared; nothing that is
    // borrowed outlives the call, and the buffers belong to Lua.
    unsafe {
        ffi::lua_pushvalue(state, 1);
        let keys = collect(state, length, border);
        poll(state);
        let places = places(state, keys);
        places.sort_unstable_by(|a, b| a.compare(b, keys));
        poll(state);
        let bytes = size_of::<Walk>() + size_of_val(places) / size_of::<Place>() * size_of::<u32>();
        let walk = ffi::lua_newuserdatauv(state, bytes, 0).cast::<Walk>();
        walk.write(Walk {
            steps: 0,
            border,
            count: places.len(),
        });
        let order = walk.add(1).cast::<u32>();
        for (at, place) in places.iter().enumerate() {
            order.add(at).write(place.position);
        }
        // The table, the keys, two buffers, the walk: the buffers go.
        ffi::lua_replace(state, 4);
        ffi::lua_settop(state, 4);
    }
}

/// Pushes the sequence of keys and the buffer of how they sort, which is returned.
///
/// # Safety
///
/// As [`push`], with the table on the stack twice.
unsafe fn collect<'t>(state: *mut lua_State, length: lua_Integer, border: lua_Integer) -> &'t [SortKey<'t>] {
    // SAFETY: as for the caller; the buffer holds `capacity` keys, of which `filled` are written.
    unsafe {
        ffi::lua_createtable(state, 0, 0);
        let mut buffer = NonNull::<SortKey<'t>>::dangling().as_ptr();
        let (mut capacity, mut filled) = (0_usize, 0_usize);
        ffi::lua_pushnil(state);
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, 1) != 0 {
            ffi::lua_pop(state, 1);
            if is_in_array(state, -1, border) {
                continue;
            }
            if filled == capacity {
                capacity = (capacity * 2).max(FIRST_CAPACITY);
                let larger = new_buffer::<SortKey<'t>>(state, capacity);
                larger.copy_from_nonoverlapping(buffer, filled);
                ffi::lua_replace(state, 4);
                buffer = larger;
            }
            // A table of more keys than this would not fit into the memory of a VM.
            let position = u32::try_from(filled).unwrap_or(u32::MAX);
            buffer.add(filled).write(sort_key(state, -1, length, position));
            filled += 1;
            ffi::lua_pushvalue(state, -1);
            ffi::lua_rawseti(state, 3, filled as lua_Integer);
        }
        slice::from_raw_parts(buffer, filled)
    }
}

/// Pushes the buffer of the keys' places, which is returned.
///
/// # Safety
///
/// As [`collect`].
unsafe fn places<'b>(state: *mut lua_State, keys: &[SortKey<'_>]) -> &'b mut [Place] {
    // SAFETY: as for the caller; every place is written.
    unsafe {
        let prefix = common_prefix(keys);
        let buffer = new_buffer::<Place>(state, keys.len());
        for (at, key) in keys.iter().enumerate() {
            buffer.add(at).write(key.place(prefix));
        }
        slice::from_raw_parts_mut(buffer, keys.len())
    }
}

/// Pushes memory for `count` values, which Lua owns.
///
/// # Safety
///
/// A live thread with a free stack slot.
unsafe fn new_buffer<T>(state: *mut lua_State, count: usize) -> *mut T {
    // SAFETY: Lua's memory is aligned for every type that it knows, and `T` needs no more.
    unsafe { ffi::lua_newuserdatauv(state, count.saturating_mul(size_of::<T>()), 0).cast() }
}

/// The iterator of `pairs`. Its upvalues are what [`push`] pushed.
pub(super) unsafe extern "C-unwind" fn advance(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with the upvalues that `pairs` gave it. Nothing else reads or writes the walk meanwhile.
    unsafe {
        let [table, keys, walk] = [1, 2, 3].map(ffi::lua_upvalueindex);
        let walk = ffi::lua_touserdata(state, walk).cast::<Walk>();
        let order = walk.add(1).cast::<u32>();
        ffi::lua_settop(state, 0);
        while let Some(step) = next_step(&mut *walk) {
            match step {
                Step::Index(index) => {
                    ffi::lua_pushinteger(state, index);
                    ffi::lua_rawgeti(state, table, index);
                }
                Step::Key(at) => {
                    ffi::lua_rawgeti(state, keys, lua_Integer::from(*order.add(at)) + 1);
                    ffi::lua_pushvalue(state, -1);
                    ffi::lua_rawget(state, table);
                }
            }
            if ffi::lua_type(state, -1) != ffi::LUA_TNIL {
                return 2;
            }
            ffi::lua_settop(state, 0);
        }
        ffi::lua_pushnil(state);
        ffi::lua_pushnil(state);
        2
    }
}

/// What a walk reaches next.
enum Step {
    /// An index of the array part.
    Index(lua_Integer),
    /// A key, by its place in the order.
    Key(usize),
}

/// Takes one step, unless the walk is over.
fn next_step(walk: &mut Walk) -> Option<Step> {
    let step = if walk.steps < walk.border {
        Step::Index(walk.steps + 1)
    } else {
        let at = usize::try_from(walk.steps - walk.border).ok()?;
        if at >= walk.count {
            return None;
        }
        Step::Key(at)
    };
    walk.steps += 1;
    Some(step)
}
