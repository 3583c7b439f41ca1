//! Reading Lua values without ever raising an error.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use mlua::Lua;
use mlua::ffi::{self, lua_State};

use super::Key;

/// Registry slot of the metatable that marks a table as a list (book: Keeping empty lists with `json.array`).
static LIST_MARKER: Key = Key::new();

/// A slot of the reader's stack, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(c_int);

/// One Lua value, as far as it can be read without looking into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Seen<'a> {
    Nil,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(&'a [u8]),
    Table(Identity),
    Function,
    Thread,
    Userdata,
    Light(*mut c_void),
}

/// Which table a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(*const c_void);

/// What a table's metatable makes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Nature<'a> {
    /// Its own entries are its data.
    Plain,
    /// It carries the list marker.
    List,
    /// It stands for the data in this slot.
    View(Slot),
    /// It stands for data that cannot be read; the text is its protection's, if that is one.
    Sealed(Option<&'a [u8]>),
}

/// A cursor over values on a Lua stack.
///
/// No method runs Lua code, allocates on the Lua heap (but to grow the stack) or collects garbage, so that texts
/// stay in place for the reader's life.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    state: *mut lua_State,
    base: c_int,
    life: PhantomData<&'a ()>,
}

/// The Lua stack cannot grow: too deep, or no memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackFull;

/// What a walk keeps below the values: the names of the two fields that make a view, and the list marker.
const NAMES: [&std::ffi::CStr; 2] = [c"__index", c"__metatable"];
const FIXED: c_int = 3;

/// Lets `read` look at the values. `read` gets the slots of the values in order.
pub(crate) fn read<R>(
    lua: &Lua,
    values: impl mlua::IntoLuaMulti,
    read: impl FnOnce(&Reader<'_>, Slot) -> R,
) -> mlua::Result<R> {
    let (mut result, mut read) = (None, Some(read));
    let (out, read) = (&mut result, &mut read);
    // SAFETY: the closure owns nothing. Its first part can raise; from then on only the reader touches the stack,
    // and it never raises. The values lie above what the reader needs.
    unsafe {
        lua.exec_raw::<()>(values, move |state| {
            for name in NAMES {
                ffi::lua_pushstring(state, name.as_ptr());
            }
            push_list_marker(state);
            ffi::lua_rotate(state, 1, FIXED);
            let base = ffi::lua_gettop(state);
            let reader = Reader {
                state,
                base,
                life: PhantomData,
            };
            *out = read.take().map(|read| read(&reader, Slot(FIXED + 1)));
            ffi::lua_settop(state, 0);
        })?;
    }
    Ok(result.expect("the closure ran to its end"))
}

/// Pushes the metatable that marks lists.
///
/// # Safety
///
/// Protected mode, with three free stack slots.
pub(super) unsafe fn push_list_marker(state: *mut lua_State) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        if ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, LIST_MARKER.address()) != ffi::LUA_TTABLE {
            ffi::lua_pop(state, 1);
            ffi::lua_createtable(state, 0, 1);
            ffi::lua_pushboolean(state, 0);
            ffi::lua_setfield(state, -2, c"__metatable".as_ptr());
            ffi::lua_pushvalue(state, -1);
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, LIST_MARKER.address());
        }
    }
}

impl<'a> Reader<'a> {
    /// The slot after `slot`.
    pub(crate) fn after(&self, slot: Slot) -> Slot {
        Slot(slot.0 + 1)
    }

    /// The mark that drops `slot` and everything above it.
    pub(crate) fn below(&self, slot: Slot) -> Slot {
        Slot(slot.0 - 1)
    }

    /// How far the stack is filled.
    pub(crate) fn mark(&self) -> Slot {
        // SAFETY: reads only.
        Slot(unsafe { ffi::lua_gettop(self.state) })
    }

    /// Drops everything above the mark.
    pub(crate) fn release(&self, mark: Slot) {
        // SAFETY: the mark lies within the stack; the fixed slots and the values stay.
        unsafe {
            let top = mark.0.clamp(self.base, ffi::lua_gettop(self.state));
            ffi::lua_settop(self.state, top);
        }
    }

    /// Makes room for as many values as that.
    pub(crate) fn reserve(&self, values: usize) -> Result<(), StackFull> {
        let values = c_int::try_from(values).map_err(|_| StackFull)?;
        // SAFETY: growing the stack raises nothing; it reports.
        match unsafe { ffi::lua_checkstack(self.state, values) } {
            0 => Err(StackFull),
            _ => Ok(()),
        }
    }

    /// Whether the slot holds a value, so that reading it is sound.
    fn check(&self, slot: Slot) {
        let filled = slot.0 >= 1 && slot.0 <= self.mark().0;
        assert!(filled, "a slot is used only while it is filled");
    }

    /// What the slot holds.
    pub(crate) fn see(&self, slot: Slot) -> Seen<'a> {
        self.check(slot);
        let (state, index) = (self.state, slot.0);
        // SAFETY: the slot is filled; each branch reads the value as the type that it has, and a text stays in
        // place as long as nothing collects garbage.
        unsafe {
            match ffi::lua_type(state, index) {
                ffi::LUA_TBOOLEAN => Seen::Boolean(ffi::lua_toboolean(state, index) != 0),
                ffi::LUA_TNUMBER if ffi::lua_isinteger(state, index) != 0 => {
                    Seen::Integer(ffi::lua_tointegerx(state, index, std::ptr::null_mut()))
                }
                ffi::LUA_TNUMBER => Seen::Float(ffi::lua_tonumber(state, index)),
                ffi::LUA_TSTRING => Seen::Text(super::string_bytes(state, index)),
                ffi::LUA_TTABLE => Seen::Table(Identity(ffi::lua_topointer(state, index))),
                ffi::LUA_TFUNCTION => Seen::Function,
                ffi::LUA_TTHREAD => Seen::Thread,
                ffi::LUA_TUSERDATA => Seen::Userdata,
                ffi::LUA_TLIGHTUSERDATA => Seen::Light(ffi::lua_touserdata(state, index)),
                _ => Seen::Nil,
            }
        }
    }

    fn check_table(&self, slot: Slot) {
        self.check(slot);
        // SAFETY: the slot is filled.
        let kind = unsafe { ffi::lua_type(self.state, slot.0) };
        assert!(kind == ffi::LUA_TTABLE, "only tables are looked into");
    }

    /// What the table's metatable makes of it. The data of a view is put in a slot of its own.
    pub(crate) fn nature(&self, table: Slot) -> Result<Nature<'a>, StackFull> {
        self.check_table(table);
        self.reserve(4)?;
        let state = self.state;
        // SAFETY: four slots are free and the table's slot holds a table; nothing here runs metamethods.
        unsafe {
            if ffi::lua_getmetatable(state, table.0) == 0 {
                return Ok(Nature::Plain);
            }
            let metatable = ffi::lua_gettop(state);
            if ffi::lua_rawequal(state, metatable, FIXED) != 0 {
                ffi::lua_settop(state, metatable - 1);
                return Ok(Nature::List);
            }
            ffi::lua_pushvalue(state, 1);
            let data = ffi::lua_rawget(state, metatable);
            ffi::lua_pushvalue(state, 2);
            let protection = ffi::lua_rawget(state, metatable);
            let nature = if data == ffi::LUA_TNIL || protection == ffi::LUA_TNIL || !self.is_empty(table) {
                Nature::Plain
            } else if data == ffi::LUA_TTABLE {
                ffi::lua_settop(state, metatable + 1);
                ffi::lua_replace(state, metatable);
                return Ok(Nature::View(Slot(metatable)));
            } else if data == ffi::LUA_TFUNCTION {
                let label = Slot(metatable + 2);
                Nature::Sealed(match self.see(label) {
                    Seen::Text(text) => Some(text),
                    _ => None,
                })
            } else {
                Nature::Plain
            };
            ffi::lua_settop(state, metatable - 1);
            Ok(nature)
        }
    }

    /// # Safety
    ///
    /// A table in the slot, and two free slots.
    unsafe fn is_empty(&self, table: Slot) -> bool {
        // SAFETY: a traversal without changes raises nothing; pushes and pops balance.
        unsafe {
            ffi::lua_pushnil(self.state);
            if ffi::lua_next(self.state, table.0) == 0 {
                return true;
            }
            ffi::lua_pop(self.state, 2);
            false
        }
    }

    /// Puts `table[index]`, read raw, in a new slot. There must be room for it.
    pub(crate) fn item(&self, table: Slot, index: i64) -> Result<Slot, StackFull> {
        self.check_table(table);
        self.reserve(1)?;
        // SAFETY: there is room, and a raw read raises nothing.
        unsafe { ffi::lua_rawgeti(self.state, table.0, index) };
        Ok(self.mark())
    }

    /// Calls `visit` with the slots of each key and its value, in the table's own order. Nothing that `visit`
    /// leaves on the stack stays.
    pub(crate) fn each<E: From<StackFull>>(
        &self,
        table: Slot,
        mut visit: impl FnMut(Slot, Slot) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_table(table);
        self.reserve(3)?;
        // SAFETY: there is room, the key that a step starts from came from the table, and the table does not change.
        unsafe {
            ffi::lua_pushnil(self.state);
            while ffi::lua_next(self.state, table.0) != 0 {
                let value = self.mark();
                visit(Slot(value.0 - 1), value)?;
                ffi::lua_settop(self.state, value.0 - 1);
            }
        }
        Ok(())
    }

    /// Puts every key and its value in slots of their own, a pair after another from the returned slot on.
    pub(crate) fn spread(&self, table: Slot, pairs: usize) -> Result<Slot, StackFull> {
        self.check_table(table);
        self.reserve(pairs.saturating_mul(2).saturating_add(4))?;
        let first = self.after(self.mark());
        let mut left = pairs;
        // SAFETY: there is room for that many pairs, the copy of a key and nil; the table does not change.
        unsafe {
            ffi::lua_pushnil(self.state);
            while left > 0 && ffi::lua_next(self.state, table.0) != 0 {
                ffi::lua_pushvalue(self.state, -2);
                left -= 1;
            }
            ffi::lua_settop(self.state, -2);
        }
        Ok(first)
    }

    /// The slots of the pair at `place`, counted from 0, of those that [`spread`](Self::spread) put down.
    pub(crate) fn pair(&self, first: Slot, place: usize) -> (Slot, Slot) {
        let offset = c_int::try_from(place * 2).unwrap_or(c_int::MAX / 2);
        let key = Slot(first.0 + offset);
        (key, self.after(key))
    }
}
