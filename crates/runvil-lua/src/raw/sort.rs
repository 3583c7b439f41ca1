//! `table.sort`: Lua's own quicksort, comparison by comparison, but that a cancel reaches it and that its pivots
//! never depend on the clock.

use std::ffi::c_int;

use mlua::ffi::{self, lua_Integer, lua_State};

use super::tables::{Rounds, checked_length};

/// Intervals at least this long get other pivots once a partition was lopsided.
const LONG: lua_Integer = 100;

/// Where Lua draws a random number for the next pivots, a constant serves as well: its own source says so.
const OTHER_PIVOTS: u32 = !0;

pub(super) unsafe extern "C-unwind" fn sort(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        let length = checked_length(state);
        if length > 1 {
            if length >= lua_Integer::from(c_int::MAX) {
                ffi::luaL_argerror(state, 1, c"array too big".as_ptr());
            }
            if ffi::lua_type(state, 2) > ffi::LUA_TNIL {
                ffi::luaL_checktype(state, 2, ffi::LUA_TFUNCTION);
            }
            ffi::lua_settop(state, 2);
            let mut sort = Sort {
                state,
                rounds: Rounds::new(),
            };
            sort.interval(1, length, 0);
        }
        0
    }
}

/// One sort of the table at index 1 by the function at index 2, or by `<` where that is nil.
struct Sort {
    state: *mut lua_State,
    rounds: Rounds,
}

impl Sort {
    /// Sorts the elements `low` to `high`.
    ///
    /// # Safety
    ///
    /// As [`sort`], with the table and the function on the stack.
    unsafe fn interval(&mut self, mut low: lua_Integer, mut high: lua_Integer, mut pivots: u32) {
        // SAFETY: pushes and pops balance.
        unsafe {
            while low < high {
                self.order_ends(low, high);
                if high - low == 1 {
                    return;
                }
                let middle = self.order_middle(low, high, pivots);
                if high - low == 2 {
                    return;
                }
                self.get(middle);
                ffi::lua_pushvalue(self.state, -1);
                self.get(high - 1);
                self.set_two(middle, high - 1);
                let pivot = self.partition(low, high);
                let smaller = if pivot - low < high - pivot {
                    self.interval(low, pivot - 1, pivots);
                    let count = pivot - low;
                    low = pivot + 1;
                    count
                } else {
                    self.interval(pivot + 1, high, pivots);
                    let count = high - pivot;
                    high = pivot - 1;
                    count
                };
                if (high - low) / 128 > smaller {
                    pivots = OTHER_PIVOTS;
                }
            }
        }
    }

    /// Puts the first and the last element in order.
    ///
    /// # Safety
    ///
    /// As [`Sort::interval`].
    unsafe fn order_ends(&mut self, low: lua_Integer, high: lua_Integer) {
        // SAFETY: pushes and pops balance.
        unsafe {
            self.get(low);
            self.get(high);
            if self.less(-1, -2) {
                self.set_two(low, high);
            } else {
                ffi::lua_pop(self.state, 2);
            }
        }
    }

    /// Chooses an element between the two and puts it in order with them.
    ///
    /// # Safety
    ///
    /// As [`Sort::interval`].
    unsafe fn order_middle(&mut self, low: lua_Integer, high: lua_Integer, pivots: u32) -> lua_Integer {
        // SAFETY: pushes and pops balance.
        unsafe {
            let middle = if high - low < LONG || pivots == 0 {
                low.midpoint(high)
            } else {
                choose(low, high, pivots)
            };
            self.get(middle);
            self.get(low);
            if self.less(-2, -1) {
                self.set_two(middle, low);
                return middle;
            }
            ffi::lua_pop(self.state, 1);
            self.get(high);
            if self.less(-1, -2) {
                self.set_two(middle, high);
            } else {
                ffi::lua_pop(self.state, 2);
            }
            middle
        }
    }

    /// Splits the interval around the pivot, which is on top of the stack and at `high - 1`, and says where the
    /// pivot ends up.
    ///
    /// # Safety
    ///
    /// As [`Sort::interval`].
    unsafe fn partition(&mut self, low: lua_Integer, high: lua_Integer) -> lua_Integer {
        // SAFETY: pushes and pops balance but for the pivot, which is consumed.
        unsafe {
            let (mut up, mut down) = (low, high - 1);
            loop {
                up += 1;
                self.get(up);
                while self.less(-1, -2) {
                    self.check_order(up != high - 1);
                    ffi::lua_pop(self.state, 1);
                    up += 1;
                    self.get(up);
                }
                down -= 1;
                self.get(down);
                while self.less(-3, -1) {
                    self.check_order(down >= up);
                    ffi::lua_pop(self.state, 1);
                    down -= 1;
                    self.get(down);
                }
                if down < up {
                    ffi::lua_pop(self.state, 1);
                    self.set_two(high - 1, up);
                    return up;
                }
                self.set_two(up, down);
            }
        }
    }

    /// # Safety
    ///
    /// As [`Sort::interval`].
    unsafe fn check_order(&self, holds: bool) {
        if !holds {
            // SAFETY: as for this function.
            unsafe { ffi::luaL_error(self.state, c"invalid order function for sorting".as_ptr()) };
        }
    }

    /// # Safety
    ///
    /// As [`Sort::interval`].
    unsafe fn get(&self, index: lua_Integer) {
        // SAFETY: as for this function.
        unsafe { ffi::lua_geti(self.state, 1, index) };
    }

    /// Assigns the two values on top of the stack, the upper one first.
    ///
    /// # Safety
    ///
    /// As [`Sort::interval`].
    unsafe fn set_two(&self, first: lua_Integer, second: lua_Integer) {
        // SAFETY: as for this function.
        unsafe {
            ffi::lua_seti(self.state, 1, first);
            ffi::lua_seti(self.state, 1, second);
        }
    }

    /// Whether the value at the stack index `a` sorts before the one at `b`.
    ///
    /// # Safety
    ///
    /// As [`Sort::interval`].
    unsafe fn less(&mut self, a: c_int, b: c_int) -> bool {
        let state = self.state;
        // SAFETY: pushes and pops balance.
        unsafe {
            self.rounds.count(state);
            if ffi::lua_type(state, 2) == ffi::LUA_TNIL {
                return ffi::lua_compare(state, a, b, ffi::LUA_OPLT) != 0;
            }
            ffi::lua_pushvalue(state, 2);
            ffi::lua_pushvalue(state, a - 1);
            ffi::lua_pushvalue(state, b - 2);
            ffi::lua_call(state, 2, 1);
            let less = ffi::lua_toboolean(state, -1) != 0;
            ffi::lua_pop(state, 1);
            less
        }
    }
}

/// An element of the middle half, away from the middle.
fn choose(low: lua_Integer, high: lua_Integer, pivots: u32) -> lua_Integer {
    let quarter = (high - low) / 4;
    let scattered = lua_Integer::from(pivots) ^ low ^ high;
    scattered % (quarter * 2) + (low + quarter)
}
