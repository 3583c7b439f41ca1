//! `_G`: the Engine guard, the author's metatable behind it, and globals that are made at their first use
//! (book: Giving `_G` a metatable).

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table, Value};

use super::stock::stock;
use super::{CFunction, Key, Shared, error_value};
use crate::helper::Helper;

/// Registry slots: the metatable on `_G`, the table whose `metatable` is the author's, and the functions that read
/// and write the names that the guard serves.
static GUARD: Key = Key::new();
static AUTHOR: Key = Key::new();
static GETTERS: Key = Key::new();
static SETTERS: Key = Key::new();

/// Registry slots: the function that makes lazy globals, and the one that assigns one before it is made.
static MATERIALIZE: Key = Key::new();
static REPLACE: Key = Key::new();

/// The handlers of a guard that has an author's metatable behind it.
static HANDLERS: Helper = Helper::new("runvil/guard.lua", include_str!("../lua/guard.lua"));

/// Puts the guard on `_G`.
///
/// # Safety
///
/// Called once, in protected mode, before any author code, with an empty stack.
pub(super) unsafe fn install(state: *mut lua_State) {
    // SAFETY: pushes and pops balance; the caller's protected call takes any memory error.
    unsafe {
        for slot in [&GETTERS, &SETTERS, &AUTHOR] {
            ffi::lua_createtable(state, 0, 4);
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, slot.address());
        }
        push_over(state, &[&GETTERS, &SETTERS], replace);
        ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, REPLACE.address());
        ffi::lua_pushglobaltable(state);
        ffi::lua_createtable(state, 0, 2);
        set_plain_handlers(state);
        ffi::lua_pushvalue(state, -1);
        ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, GUARD.address());
        ffi::lua_setmetatable(state, -2);
        ffi::lua_settop(state, 0);
    }
}

/// Pushes a function over these slots of the registry.
///
/// # Safety
///
/// Protected mode, as many free stack slots as the function has upvalues.
unsafe fn push_over(state: *mut lua_State, slots: &[&'static Key], function: CFunction) {
    // SAFETY: one value more on the stack than before.
    unsafe {
        for slot in slots {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, slot.address());
        }
        ffi::lua_pushcclosure(state, function, slots.len() as c_int);
    }
}

/// Gives the guard on top of the stack the handlers of a `_G` without an author's metatable.
///
/// # Safety
///
/// Protected mode or a function that Lua called, the guard on top, two free stack slots.
unsafe fn set_plain_handlers(state: *mut lua_State) {
    // SAFETY: pushes and pops balance.
    unsafe {
        push_over(state, &[&GETTERS], index);
        ffi::lua_setfield(state, -2, c"__index".as_ptr());
        push_over(state, &[&SETTERS], newindex);
        ffi::lua_setfield(state, -2, c"__newindex".as_ptr());
    }
}

/// Gives the guard on top of the stack the handlers that ask the author's metatable, too.
///
/// # Safety
///
/// As [`set_plain_handlers`], with ten free stack slots.
unsafe fn set_author_handlers(state: *mut lua_State) {
    // SAFETY: pushes and pops balance.
    unsafe {
        let bytecode = HANDLERS.bytecode();
        let (start, name) = (bytecode.as_ptr().cast(), c"=runvil/guard.lua".as_ptr());
        if ffi::luaL_loadbufferx(state, start, bytecode.len(), name, c"b".as_ptr()) != ffi::LUA_OK {
            ffi::lua_error(state);
        }
        ffi::lua_pushglobaltable(state);
        for slot in [&GETTERS, &SETTERS, &AUTHOR] {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, slot.address());
        }
        let base = &stock().base;
        for function in [base.rawget, base.rawset, base.type_] {
            ffi::lua_pushcfunction(state, function);
        }
        ffi::lua_call(state, 7, 2);
        ffi::lua_setfield(state, -3, c"__newindex".as_ptr());
        ffi::lua_setfield(state, -2, c"__index".as_ptr());
    }
}

/// `__index` of `_G`: a name that the guard serves, else nil.
unsafe extern "C-unwind" fn index(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with the table and the key; the upvalue is the table of getters.
    unsafe {
        ffi::lua_settop(state, 2);
        ffi::lua_pushvalue(state, 2);
        if ffi::lua_rawget(state, ffi::lua_upvalueindex(1)) != ffi::LUA_TNIL {
            ffi::lua_insert(state, 2);
            ffi::lua_call(state, 1, 1);
        }
        1
    }
}

/// `__newindex` of `_G`: a name that the guard serves, else an ordinary global.
unsafe extern "C-unwind" fn newindex(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with the table, the key and the value; the upvalue is the table of setters.
    unsafe {
        ffi::lua_settop(state, 3);
        ffi::lua_pushvalue(state, 2);
        if ffi::lua_rawget(state, ffi::lua_upvalueindex(1)) == ffi::LUA_TNIL {
            ffi::lua_settop(state, 3);
            ffi::lua_rawset(state, 1);
        } else {
            ffi::lua_insert(state, 2);
            ffi::lua_call(state, 2, 0);
        }
        0
    }
}

/// `replace(key, value)`: assigns a lazy global that nobody has read yet.
unsafe extern "C-unwind" fn replace(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; the upvalues are the tables of getters and setters.
    unsafe {
        ffi::lua_settop(state, 2);
        for table in [1, 2].map(ffi::lua_upvalueindex) {
            ffi::lua_pushvalue(state, 1);
            ffi::lua_pushnil(state);
            ffi::lua_rawset(state, table);
        }
        ffi::lua_pushglobaltable(state);
        ffi::lua_insert(state, 1);
        ffi::lua_rawset(state, 1);
        0
    }
}

/// Whether the value at `index` is the global table.
///
/// # Safety
///
/// A live thread with a value at `index`, which is absolute, and one free stack slot.
unsafe fn is_globals(state: *mut lua_State, index: c_int) -> bool {
    // SAFETY: pushes and pops balance.
    unsafe {
        ffi::lua_pushglobaltable(state);
        let same = ffi::lua_rawequal(state, -1, index) != 0;
        ffi::lua_pop(state, 1);
        same
    }
}

/// Makes every lazy global if the value at `index` is the global table, whose raw keys are about to be read.
///
/// # Safety
///
/// Called by a function that Lua called; `index` is absolute and valid.
pub(super) unsafe fn materialize_if_globals(state: *mut lua_State, index: c_int) {
    // SAFETY: the frame holds nothing to drop.
    unsafe {
        if Shared::at(state).has_lazy_globals() && is_globals(state, index) {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, MATERIALIZE.address());
            ffi::lua_call(state, 0, 0);
        }
    }
}

/// `getmetatable(v)`: for `_G` the author's metatable, as if it were the one in place.
pub(super) unsafe extern "C-unwind" fn getmetatable(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        if ffi::lua_type(state, 1) != ffi::LUA_TTABLE || !is_globals(state, 1) {
            return (stock().base.getmetatable)(state);
        }
        if push_author(state) {
            ffi::lua_pushstring(state, c"__metatable".as_ptr());
            if ffi::lua_rawget(state, -2) == ffi::LUA_TNIL {
                ffi::lua_pop(state, 1);
            }
        }
        1
    }
}

/// `setmetatable(t, metatable)`: refuses finalizers, and keeps a metatable for `_G` behind the guard.
pub(super) unsafe extern "C-unwind" fn setmetatable(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; this frame holds nothing that a raised error would have to drop.
    unsafe {
        if ffi::lua_type(state, 1) != ffi::LUA_TTABLE {
            return (stock().base.setmetatable)(state);
        }
        if has_field(state, c"__gc") {
            return ffi::luaL_error(
                state,
                c"setmetatable: finalizers (__gc) are not available in the sandbox".as_ptr(),
            );
        }
        if !is_globals(state, 1) {
            return (stock().base.setmetatable)(state);
        }
        let kind = ffi::lua_type(state, 2);
        if kind != ffi::LUA_TNIL && kind != ffi::LUA_TTABLE {
            super::type_error(state, 2, c"nil or table");
        }
        ffi::lua_settop(state, 2);
        set_author(state);
        ffi::lua_settop(state, 1);
        1
    }
}

/// Whether the metatable at index 2 is a table with this field.
///
/// # Safety
///
/// A live thread with one free stack slot.
unsafe fn has_field(state: *mut lua_State, name: &std::ffi::CStr) -> bool {
    // SAFETY: pushes and pops balance.
    unsafe {
        if ffi::lua_type(state, 2) != ffi::LUA_TTABLE {
            return false;
        }
        ffi::lua_pushstring(state, name.as_ptr());
        let kind = ffi::lua_rawget(state, 2);
        ffi::lua_pop(state, 1);
        kind != ffi::LUA_TNIL
    }
}

/// Records the metatable at index 2, a table or nil, as the author's.
///
/// # Safety
///
/// As [`setmetatable`], with its two checked arguments on the stack.
unsafe fn set_author(state: *mut lua_State) {
    // SAFETY: the frame holds nothing to drop.
    unsafe {
        if push_author(state) {
            ffi::lua_pushstring(state, c"__metatable".as_ptr());
            if ffi::lua_rawget(state, -2) != ffi::LUA_TNIL {
                ffi::luaL_error(state, c"cannot change a protected metatable".as_ptr());
            }
        }
        if has_field(state, c"__mode") {
            ffi::luaL_error(
                state,
                c"setmetatable: weak tables (__mode) are not available for _G".as_ptr(),
            );
        }
        ffi::lua_settop(state, 2);
        copy_onto_guard(state);
        if ffi::lua_type(state, 2) == ffi::LUA_TTABLE {
            set_author_handlers(state);
        } else {
            set_plain_handlers(state);
        }
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, AUTHOR.address());
        ffi::lua_pushvalue(state, 2);
        ffi::lua_setfield(state, -2, c"metatable".as_ptr());
    }
}

/// Pushes the author's metatable, or nil; says whether there is one.
///
/// # Safety
///
/// A live thread with two free stack slots.
unsafe fn push_author(state: *mut lua_State) -> bool {
    // SAFETY: one value more on the stack than before.
    unsafe {
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, AUTHOR.address());
        let kind = ffi::lua_getfield(state, -1, c"metatable".as_ptr());
        ffi::lua_remove(state, -2);
        kind != ffi::LUA_TNIL
    }
}

/// Pushes the guard, and replaces what it copied from the author's metatable before by the fields of the one at index 2.
/// The two handlers stay the guard's own, and protection and weakness are never copied.
///
/// # Safety
///
/// As [`set_author`].
unsafe fn copy_onto_guard(state: *mut lua_State) {
    // SAFETY: pushes and pops balance; a traversal may set the fields that it visits to nil.
    unsafe {
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, GUARD.address());
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, 3) != 0 {
            ffi::lua_pop(state, 1);
            if !is_guards_own(state) {
                ffi::lua_pushvalue(state, -1);
                ffi::lua_pushnil(state);
                ffi::lua_rawset(state, 3);
            }
        }
        if ffi::lua_type(state, 2) != ffi::LUA_TTABLE {
            return;
        }
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, 2) != 0 {
            ffi::lua_insert(state, -2);
            if is_guards_own(state) {
                ffi::lua_remove(state, -2);
                continue;
            }
            ffi::lua_pushvalue(state, -1);
            ffi::lua_rotate(state, -3, -1);
            ffi::lua_rawset(state, 3);
        }
    }
}

/// Whether the key on top of the stack names a field that authors cannot set on the guard.
///
/// # Safety
///
/// A live thread with a value on top.
unsafe fn is_guards_own(state: *mut lua_State) -> bool {
    // SAFETY: reads only; the key is a string.
    unsafe {
        ffi::lua_type(state, -1) == ffi::LUA_TSTRING
            && matches!(
                super::string_bytes(state, -1),
                b"__index" | b"__newindex" | b"__metatable" | b"__mode"
            )
    }
}

/// Has the guard serve a global through two functions.
pub(crate) fn serve(lua: &Lua, name: &str, get: &Function, set: &Function) -> mlua::Result<()> {
    slot(lua, &GETTERS)?.raw_set(name, get)?;
    slot(lua, &SETTERS)?.raw_set(name, set)
}

/// Has the guard serve a global that always reads as `value` and refuses each assignment with `refusal`.
pub(crate) fn serve_constant(lua: &Lua, name: &str, value: &Value, refusal: &str) -> mlua::Result<()> {
    // SAFETY: the closures get one upvalue each; the closure leaves two functions.
    let (get, set): (Function, Function) = unsafe {
        lua.exec_raw((value, refusal), |state| {
            ffi::lua_pushcclosure(state, refuse, 1);
            ffi::lua_insert(state, 1);
            ffi::lua_pushcclosure(state, constant, 1);
            ffi::lua_insert(state, 1);
        })?
    };
    serve(lua, name, &get, &set)
}

unsafe extern "C-unwind" fn constant(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with one upvalue.
    unsafe { ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1)) };
    1
}

unsafe extern "C-unwind" fn refuse(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua with a string as upvalue.
    unsafe {
        ffi::lua_settop(state, 0);
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        error_value::raise_refusal(state)
    }
}

/// Has the guard serve these globals by `make` until they are made or assigned.
pub(crate) fn serve_lazily(lua: &Lua, names: &[&str], make: &Function) -> mlua::Result<()> {
    // SAFETY: runs in protected mode, gets the function in slot 1, and leaves nothing; the slots of the registry hold the
    // tables and the function that the guard put there.
    unsafe {
        lua.exec_raw(make, |state| {
            for key in [&GETTERS, &SETTERS, &REPLACE] {
                ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, key.address());
            }
            for name in names {
                for (table, value) in [(2, 1), (3, 4)] {
                    ffi::lua_pushlstring(state, name.as_ptr().cast(), name.len());
                    ffi::lua_pushvalue(state, value);
                    ffi::lua_rawset(state, table);
                }
            }
            ffi::lua_settop(state, 1);
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, MATERIALIZE.address());
        })
    }
}

/// Turns a lazy global into an ordinary one, unless it was assigned before.
pub(crate) fn settle(lua: &Lua, name: &str, value: &Value, make: &Function) -> mlua::Result<()> {
    let getters = slot(lua, &GETTERS)?;
    if getters.raw_get::<Value>(name)? == Value::Function(make.clone()) {
        getters.raw_set(name, Value::Nil)?;
        slot(lua, &SETTERS)?.raw_set(name, Value::Nil)?;
        lua.globals().raw_set(name, value)?;
    }
    Ok(())
}

/// The function that makes lazy globals, once there is one.
pub(crate) fn materializer(lua: &Lua) -> mlua::Result<Option<Function>> {
    Ok(slot_value(lua, &MATERIALIZE)?.as_function().cloned())
}

fn slot(lua: &Lua, key: &'static Key) -> mlua::Result<Table> {
    slot_value(lua, key)?
        .as_table()
        .cloned()
        .ok_or_else(|| mlua::Error::runtime("the guard is not in place"))
}

fn slot_value(lua: &Lua, key: &'static Key) -> mlua::Result<Value> {
    // SAFETY: the closure leaves one value.
    unsafe {
        lua.exec_raw((), |state| {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, key.address());
        })
    }
}
