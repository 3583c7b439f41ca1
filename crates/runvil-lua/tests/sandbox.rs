//! The sandbox: what a block finds, what it does not, and what behaves in Runvil's way.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up fails"
)]

mod common;

use common::{run, run_in, runtime_message, step, vm};
use mlua::{Lua, LuaOptions, StdLib};

#[test]
fn only_the_toolkit_is_there() {
    let names =
        run("local names = {} for name in next, _G do names[#names + 1] = name end return table.concat(names, ' ')");
    assert_eq!(
        names,
        [
            "_G _VERSION assert error getmetatable ipairs json math next pairs pcall select setmetatable string table \
          tonumber tostring type xpcall"
        ]
    );
}

#[test]
fn no_value_leads_to_a_removed_name() {
    let removed = "print warn io os package debug coroutine utf8 load loadstring loadfile dofile rawequal rawget rawset \
                   rawlen getfenv setfenv collectgarbage require";
    for name in removed.split_whitespace() {
        assert_eq!(
            run(&format!("return {name}, _G.{name}, _ENV['{name}']")),
            ["nil", "nil", "nil"],
            "{name}"
        );
    }
}

#[test]
fn nothing_reachable_from_the_globals_holds_a_removed_function() {
    let source = "local seen, found = {}, {}
        local function walk(v, path)
          if seen[v] then return end
          if type(v) == 'table' or type(v) == 'function' then seen[v] = path end
          if type(v) == 'table' then
            for k, x in next, v do walk(x, path .. '.' .. tostring(k)) end
          end
          local mt = getmetatable(v)
          if type(mt) == 'table' then walk(mt, path .. '<mt>') end
        end
        walk(_G, '_G') walk('', 'string') walk(select(2, pcall(error, nil)), 'nil')
        for v, path in next, seen do
          if type(v) == 'function' then found[#found + 1] = path end
        end
        table.sort(found)
        return table.concat(found, ' ')";
    let found = run(source).remove(0);
    for word in ["load", "raw", "dofile", "collect", "yield", "debug", "print", "require"] {
        assert!(!found.contains(word), "{word} in {found}");
    }
}

#[test]
fn concat_joins_what_renders_through_tostring() {
    let source = "local point = setmetatable({ x = 1 }, { __tostring = function(p) return '(' .. p.x .. ')' end })
        return table.concat({ 'at', point, 3, 1.5 }, ' '), table.concat({}), table.concat({ 1, 2, 3 }, '-', 2),
            table.concat({ 1, 2, 3 }, '-', 3, 2), table.concat(setmetatable({}, { __len = function() return 2 end,
            __index = function(_, k) return 'v' .. k end }), ',')";
    assert_eq!(run(source), ["at (1) 3 1.5", "", "2-3", "", "v1,v2"]);
}

#[test]
fn concat_names_the_element_that_cannot_join() {
    let sealed = "setmetatable({}, { __tostring = function() return 'x' end, __metatable = false })";
    for (list, found) in [
        (
            "{ 'a', 'b', true }",
            "invalid value (boolean) at index 3 in table for 'concat'",
        ),
        ("{ type }", "invalid value (function) at index 1 in table for 'concat'"),
        ("{ {} }", "invalid value (table) at index 1 in table for 'concat'"),
        (
            &format!("{{ {sealed} }}"),
            "invalid value (table) at index 1 in table for 'concat'",
        ),
        ("nil", "attempt to get length of a nil value"),
    ] {
        let text = run(&format!("return tostring(select(2, pcall(table.concat, {list})))")).remove(0);
        assert!(text.contains(found), "{list}: {text}");
    }
    let text = run("return select(2, pcall(table.concat, { 1, 2 }, '', 1, 3))").remove(0);
    assert!(text.contains("invalid value (nil) at index 3"), "{text}");
}

#[test]
fn finalizers_are_refused_and_weak_tables_allowed() {
    let source = "local _, e = pcall(setmetatable, {}, { __gc = false })
        return tostring(e), getmetatable(setmetatable({}, { __mode = 'k' })).__mode";
    assert_eq!(
        run(source),
        ["setmetatable: finalizers (__gc) are not available in the sandbox", "k"]
    );
}

#[test]
fn metatable_functions_raise_luas_own_errors_at_the_callers_line() {
    for (call, message) in [
        (
            "setmetatable(1, {})",
            "bad argument #1 to 'setmetatable' (table expected, got number)",
        ),
        (
            "setmetatable({})",
            "bad argument #2 to 'setmetatable' (nil or table expected, got no value)",
        ),
        (
            "setmetatable(_G)",
            "bad argument #2 to 'setmetatable' (nil or table expected, got no value)",
        ),
        (
            "setmetatable(_G, 3)",
            "bad argument #2 to 'setmetatable' (nil or table expected, got number)",
        ),
        ("getmetatable()", "bad argument #1 to 'getmetatable' (value expected)"),
        (
            "setmetatable(setmetatable({}, { __metatable = false }), nil)",
            "cannot change a protected metatable",
        ),
        ("pairs()", "bad argument #1 to 'pairs' (value expected)"),
        ("pairs(nil)", "bad argument #1 to 'pairs' (table expected, got nil)"),
        ("pairs('x')", "bad argument #1 to 'pairs' (table expected, got string)"),
        (
            "pairs(setmetatable({}, { __pairs = {} }))",
            "attempt to call a table value (metamethod '__pairs')",
        ),
        ("next(5)", "bad argument #1 to 'next' (table expected, got number)"),
        ("pcall()", "bad argument #1 to 'pcall' (value expected)"),
        (
            "xpcall(type)",
            "bad argument #2 to 'xpcall' (function expected, got no value)",
        ),
        ("assert()", "bad argument #1 to 'assert' (value expected)"),
        ("tostring()", "bad argument #1 to 'tostring' (value expected)"),
    ] {
        let text = run(&format!("return select(2, pcall(function() {call} end))")).remove(0);
        assert!(text.starts_with("[string \"line 10\"]:1: "), "{call}: {text}");
        let found = text.trim_start_matches("[string \"line 10\"]:1: ");
        assert!(found.starts_with(message), "{call}: {found}");
        if !call.contains("_G") && !call.starts_with("pairs(") {
            assert_eq!(found, stock_error(call), "{call}");
        }
    }
}

/// The text after the position of the error that bare Lua raises.
fn stock_error(call: &str) -> String {
    let text: String = bare()
        .load(format!("return select(2, pcall(function() {call} end))"))
        .set_name("=s")
        .eval()
        .unwrap();
    text.trim_start_matches("s:1: ").to_owned()
}

fn bare() -> Lua {
    Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::new()).unwrap()
}

/// Runs the source here and in bare Lua, and compares.
fn same_as_stock(source: &str) {
    let lua = bare();
    let values: mlua::MultiValue = lua.load(source).set_name("line 10").eval().unwrap();
    let expected: Vec<String> = values.iter().map(common::text).collect();
    assert_eq!(run(source), expected, "{source}");
}

#[test]
fn table_functions_agree_with_luas_own() {
    for source in [
        "local t = {1,2,3} table.insert(t, 2, 'x') table.insert(t, 'y') return table.concat(t, ',')",
        "return pcall(table.insert, {1,2,3}, 5, 'x')",
        "return pcall(table.insert, {1,2,3}, 0, 'x')",
        "return pcall(table.insert, {1,2,3}, 'x', 'x')",
        "return pcall(table.insert, nil, 1, 'x')",
        "return pcall(table.insert, {1}, 1, 2, 3)",
        "return pcall(table.insert, {1})",
        "local t = {1,2,3} local a, b = table.remove(t), table.remove(t, 1) return a, b, #t, table.remove({}), table.remove({}, 0)",
        "return pcall(table.remove, {1,2,3}, 7)",
        "return pcall(table.remove, 'abc', 1)",
        "return pcall(table.remove, {1,2,3}, 1.5)",
        "local t = table.move({1,2,3,4}, 2, 4, 1) return table.concat(t, ',')",
        "local t = table.move({1,2,3,4}, 1, 3, 2) return table.concat(t, ',')",
        "local t = table.move({1,2,3,4}, 1, 4, 3, {9,9}) return table.concat(t, ',')",
        "return pcall(table.move, {}, math.mininteger, math.maxinteger, 1)",
        "return pcall(table.move, {}, 1, math.maxinteger, 2)",
        "return pcall(table.move, {}, -1, math.maxinteger, 2)",
        "return pcall(table.move, 1, 1, 1, 1)",
        "return pcall(table.move, {}, 1, 1, 1, 5)",
        "return #table.move({}, 1, 0, 5)",
        "return pcall(table.sort, {1,2,'x'})",
        "return pcall(table.sort, {3,1,2}, function() return true end)",
        "return pcall(table.sort, {3,1,2}, 5)",
        "return pcall(table.sort, setmetatable({}, {__len = function() return 2^31 end}))",
        "local t = setmetatable({}, {__len = function() return 'x' end}) return pcall(table.sort, t)",
    ] {
        same_as_stock(source);
    }
}

#[test]
fn sort_compares_as_luas_own_does() {
    for count in [1, 2, 3, 4, 10, 99, 100, 101, 500, 3000] {
        for order in ["i * 7919 % 1009", "i", "i % 3", "0"] {
            same_as_stock(&format!(
                "local t, calls = {{}}, 0
                for i = 1, {count} do t[i] = {{ k = {order}, i = i }} end
                table.sort(t, function(a, b) calls = calls * 31 % 1000003 + a.i * 17 + b.i return a.k < b.k end)
                for i = 1, {count} do t[i] = t[i].i end
                return calls, table.concat(t, ','):sub(1, 80)"
            ));
        }
    }
}

#[test]
fn string_and_conversion_functions_agree_with_luas_own() {
    for source in [
        "return string.format('%5d|%-5s|%q|%g|%%|%c', 42, 'ab', 'q\\n', 1.5, 65)",
        "return pcall(string.format, '%d', 'x')",
        "return pcall(string.format, '%s')",
        "return pcall(string.format, '%10.123f', 1)",
        "return pcall(string.format, '%5.3p', 1)",
        "return pcall(string.format, '%y', 1)",
        "return pcall(string.format, '%', 1)",
        "return string.format('%p|%10p|%-8p|', 1, nil, true)",
        "return string.format('%s %s %s', nil, true, 1.0)",
        "return ('%s'):format(setmetatable({}, { __tostring = function() return 'own' end }))",
        "return pcall(string.format, '%s', setmetatable({}, { __tostring = function() return 5 end }))",
        "return pcall(string.format, '%s', setmetatable({}, { __tostring = function() return {} end }))",
        "return pcall(tostring, setmetatable({}, { __tostring = function() return {} end }))",
        "return tostring(1), tostring(1.0), tostring(-0.0), tostring(1e100), tostring('x'), tostring(nil), tostring(true)",
        "return pcall(string.format, {})",
        "return string.format(7)",
    ] {
        same_as_stock(source);
    }
}

#[test]
fn addresses_are_counters_in_the_order_of_their_first_showing() {
    let source = "local a, b = {}, {}
        return tostring(b), tostring(a), tostring(b), string.format('%s %p', a, b), tostring(type),
            tostring(setmetatable({}, { __name = 'thing' })), string.format('%12p|', 'text'), string.format('%p', 'text')";
    let expected = [
        "table: 0x00000001",
        "table: 0x00000002",
        "table: 0x00000001",
        "table: 0x00000002 0x00000001",
        "function: 0x00000003",
        "thing: 0x00000004",
        "  0x00000005|",
        "0x00000005",
    ];
    assert_eq!(run(source), expected);
    assert_eq!(run(source), expected);
}

#[test]
fn random_numbers_repeat_for_a_seed() {
    let source = "local a, b = math.random(1 << 40), math.random()
        local x, y = math.randomseed()
        local c = math.random(1000000)
        math.randomseed()
        return a, b, x, y, c, math.random(1000000), math.randomseed(7), math.random(1000)";
    let first = run(source);
    assert_eq!(run(source), first);
    let mut config = common::config();
    config.seed = [8; 32];
    let other = run_in(&runvil_lua::Vm::new(&config).unwrap(), source);
    assert_ne!(other[0], first[0]);
    assert_ne!(other[2], first[2]);
    same_as_stock("math.randomseed(42, 7) return math.random(1 << 40), math.randomseed(3)");
    same_as_stock("return pcall(math.randomseed, 'x')");
}

#[test]
fn engine_globals_can_be_rebound() {
    assert_eq!(
        run("error = function() end error('x') return type(error)"),
        ["function"]
    );
}

#[test]
fn an_error_in_a_handler_ends_as_lua_says() {
    let message = runtime_message(step(
        &vm(),
        "local t = setmetatable({}, { __index = function() error('deep') end }) return t.x",
    ));
    assert!(message.contains("deep"), "{message}");
}

#[test]
fn a_fresh_vm_is_small() {
    let vm = vm();
    let used = vm.lua().used_memory();
    assert!(used < 96 * 1024, "{used} bytes");
    println!("a fresh VM takes {used} bytes of Lua heap");
}
