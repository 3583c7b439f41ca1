//! `_G`: the guard, the author's metatable behind it, and globals that are made at their first use.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up fails")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{run, run_in, vm};
use mlua::{MultiValue, Value};
use runvil_lua::{Helper, Vm};

#[test]
fn index_gives_defaults_and_is_read_live() {
    let source = "setmetatable(_G, { __index = { tone = 'friendly' } })
        local a = tone
        getmetatable(_G).__index = function(g, key) return g == _G and 'live ' .. key end
        return a, tone, missing";
    assert_eq!(run(source), ["friendly", "live tone", "live missing"]);
}

#[test]
fn an_error_of_level_two_names_the_line_that_read_the_global() {
    let source = "setmetatable(_G, {
        __index = function(_, name) error('undefined global ' .. name, 2) end,
        __newindex = function(_, name) error('new global ' .. name, 2) end })
        local _, a = pcall(function()
          return undefined_here
        end)
        local _, b = pcall(function() fresh = 1 end)
        return a, b";
    assert_eq!(
        run(source),
        [
            "[string \"line 10\"]:5: undefined global undefined_here",
            "[string \"line 10\"]:7: new global fresh"
        ]
    );
}

#[test]
fn newindex_hooks_new_globals_only() {
    let source = "existing = 1 local captured = {}
        setmetatable(_G, { __newindex = function(_, k, v) captured[k] = v end })
        plain = 'y' existing = 2
        local hooked = plain
        local store = {} getmetatable(_G).__newindex = store
        other = 'z'
        return captured.plain, hooked, existing, store.other, other";
    assert_eq!(run(source), ["y", "nil", "2", "z", "nil"]);
}

#[test]
fn other_metamethods_are_copied_at_each_call() {
    let source =
        "local mt = { __call = function(_, n) return 'called ' .. n end, __tostring = function() return 'globals' end }
        local same = setmetatable(_G, mt) == _G
        local a, b = _G('x'), tostring(_G)
        mt.__tostring = function() return 'late' end
        local c = tostring(_G)
        setmetatable(_G, { __len = function() return 7 end })
        local d, e = #_G, pcall(function() return _G('x') end)
        setmetatable(_G, nil)
        return same, a, b, c, d, e, getmetatable(_G), tostring(_G):match('^table: 0x') ~= nil, next(mt) ~= nil";
    assert_eq!(
        run(source),
        [
            "true", "called x", "globals", "globals", "7", "false", "nil", "true", "true"
        ]
    );
}

#[test]
fn protection_weakness_and_finalizers() {
    let source = "local _, weak = pcall(setmetatable, _G, { __mode = 'k' })
        local _, final = pcall(setmetatable, _G, { __gc = 1 })
        local none = getmetatable(_G)
        setmetatable(_G, { __metatable = 'locked', __index = { tone = 't' } })
        local _, again = pcall(function() setmetatable(_G, nil) end)
        return tostring(weak), tostring(final), none, getmetatable(_G), again, tone";
    assert_eq!(
        run(source),
        [
            "setmetatable: weak tables (__mode) are not available for _G",
            "setmetatable: finalizers (__gc) are not available in the sandbox",
            "nil",
            "locked",
            "[string \"line 10\"]:5: cannot change a protected metatable",
            "t"
        ]
    );
}

#[test]
fn a_handler_that_indexes_the_globals_ends_in_an_error() {
    let source = "setmetatable(_G, { __index = _G }) return pcall(function() return nowhere end)";
    assert_eq!(run(source)[0], "false");
}

fn served() -> Vm {
    let vm = vm();
    let get = vm
        .lua()
        .create_function(|_, name: String| Ok(format!("{name}!")))
        .unwrap();
    let set = vm
        .lua()
        .create_function(|_, (name, value): (String, i64)| -> mlua::Result<()> {
            Err(mlua::Error::runtime(format!("{name} = {value} is refused")))
        })
        .unwrap();
    vm.guard_global("prose", &get, &set).unwrap();
    vm.guard_constant("argv", &Value::Integer(5), "argv is frozen").unwrap();
    vm.guard_constant("nothing", &Value::Nil, "nothing is frozen").unwrap();
    vm
}

#[test]
fn the_guard_serves_its_names_before_any_author_metatable() {
    let source = "local seen = {}
        setmetatable(_G, {
          __index = function(_, name) error('undefined global ' .. name, 2) end,
          __newindex = function(_, k, v) seen[k] = v end,
        })
        local _, a = pcall(function() prose = 3 end)
        local _, b = pcall(function() argv = 'x' end)
        local _, c = pcall(function() nothing = 'x' end)
        return prose, argv, nothing, tostring(a), tostring(b), b.kind, tostring(c), next(seen)";
    assert_eq!(
        run_in(&served(), source),
        [
            "prose!",
            "5",
            "nil",
            "runtime error: prose = 3 is refused",
            "runtime error: argv is frozen",
            "lua",
            "runtime error: nothing is frozen",
            "nil"
        ]
    );
    let source = "for name in next, _G do assert(name ~= 'prose' and name ~= 'argv') end return 'hidden'";
    assert_eq!(run_in(&served(), source), ["hidden"]);
}

static PAIR: Helper = Helper::new(
    "runvil/pair.lua",
    "local a, b = ... return a, function() return b, type end",
);

fn lazy() -> (Vm, Arc<AtomicUsize>) {
    let vm = vm();
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    vm.lazy_globals(&["one", "two"], move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(MultiValue::from_iter([Value::Integer(1), Value::Integer(2)]))
    })
    .unwrap();
    let arguments = MultiValue::from_iter([Value::Integer(3), Value::Integer(4)]);
    vm.lazy_helper(&["three", "four"], &PAIR, arguments).unwrap();
    (vm, made)
}

#[test]
fn a_lazy_global_is_made_once_at_its_first_use() {
    let (vm, made) = lazy();
    assert_eq!(run_in(&vm, "return 1"), ["1"]);
    assert_eq!(made.load(Ordering::Relaxed), 0);
    assert_eq!(
        run_in(&vm, "return two, one, two, three, (four())"),
        ["2", "1", "2", "3", "4"]
    );
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn a_lazy_global_cannot_be_told_from_an_ordinary_one() {
    let walk = "local names = {} for name in next, _G do names[#names + 1] = name end
        local n = 0 for name, value in pairs(_G) do n = n + 1 end
        return table.concat(names, ' '):match('four.*one.*three.*two') ~= nil, names[#names], #names == n, one";
    assert_eq!(run_in(&lazy().0, walk), ["true", "xpcall", "true", "1"]);
    let (vm, made) = lazy();
    let assigned = "local captured = {} setmetatable(_G, { __newindex = captured, __index = captured })
        one = 'mine' two = nil
        return one, two, captured.one, three";
    assert_eq!(run_in(&vm, assigned), ["mine", "nil", "nil", "3"]);
    assert_eq!(made.load(Ordering::Relaxed), 0);
    let cleared =
        "one = nil local seen for name in pairs(_G) do seen = seen or name == 'one' end return one, two, seen";
    assert_eq!(run_in(&lazy().0, cleared), ["nil", "2", "false"]);
}

#[test]
fn helpers_do_not_see_what_authors_rebind() {
    let (vm, _) = lazy();
    run_in(&vm, "type = nil string.format = nil table = nil");
    assert_eq!(run_in(&vm, "local _, type = four() return type(1)"), ["number"]);
}
