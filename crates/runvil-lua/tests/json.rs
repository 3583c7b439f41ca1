//! The `json` library and the driver's conversions.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up fails")]

mod common;

use common::{config, run, run_in, vm};
use runvil_lua::mlua::Value;
use runvil_lua::{NotJson, Nulls, Problem, ToJsonError, Vm, from_json, to_json};
use serde_json::json;

/// What one expression gives.
fn eval(expression: &str) -> String {
    run(&format!("return {expression}")).remove(0)
}

/// The message of the error that a call raises, which is an error value of kind `lua`.
fn error(call: &str) -> String {
    let values = run(&format!(
        "local ok, e = pcall(function() return {call} end) return ok, e.kind, tostring(e)"
    ));
    assert_eq!(values[..2], ["false", "lua"], "{call}");
    values[2].clone()
}

#[test]
fn decoded_values_have_the_matching_types() {
    let source = r#"local v = json.decode('{"n":2,"x":1.5,"big":9223372036854775808,"min":-9223372036854775808,"one":1.0,"list":[1,null,3],"s":"\\u00e9","t":true}')
        return math.type(v.n), math.type(v.x), math.type(v.big), math.type(v.min), math.type(v.one), #v.list, v.list[2] == json.null, v.s, v.t, getmetatable(v), getmetatable(v.list)"#;
    assert_eq!(
        run(source),
        [
            "integer", "float", "float", "integer", "float", "3", "true", "é", "true", "nil", "false"
        ]
    );
    assert_eq!(eval("json.decode('{\"a\":1,\"a\":2}').a"), "2");
}

#[test]
fn decode_refuses_with_the_parsers_text() {
    for (call, message) in [
        ("json.decode('x')", "json.decode: expected value at line 1 column 1"),
        (
            "json.decode('1 2')",
            "json.decode: trailing characters at line 1 column 3",
        ),
        (
            "json.decode('')",
            "json.decode: EOF while parsing a value at line 1 column 0",
        ),
        (
            "json.decode(string.rep('[', 128))",
            "json.decode: recursion limit exceeded at line 1 column 128",
        ),
        ("json.decode(5)", "json.decode expects a string, got integer"),
        ("json.decode(1.5)", "json.decode expects a string, got number"),
        ("json.decode()", "json.decode expects a string, got nil"),
        (
            "json.decode(json.null)",
            "json.decode expects a string, got lightuserdata",
        ),
        (
            "json.decode(string.rep(' ', 8388609))",
            "json.decode: input exceeds the 8388608-byte limit",
        ),
        (
            "json.decode_lines('1\\n2\\n{\"a\":}')",
            "json.decode_lines: expected value at line 3 column 6",
        ),
        ("json.decode_lines({})", "json.decode_lines expects a string, got table"),
    ] {
        assert_eq!(error(call), message, "{call}");
    }
    assert_eq!(
        eval("#json.encode(json.decode(string.rep('[', 127) .. string.rep(']', 127)))"),
        "254"
    );
}

#[test]
fn lines_decode_to_a_marked_list() {
    let source = "local l = json.decode_lines('1 2\\r\\n\\n{\"a\":\\n[3]}\"x\"null') return #l, l[3].a[1], l[4], l[5] == json.null,
        getmetatable(l), json.encode(json.decode_lines(' \\n'))";
    assert_eq!(run(source), ["5", "3", "x", "true", "false", "[]"]);
}

#[test]
fn scalars_encode() {
    for (value, text) in [
        ("", "null"),
        ("nil", "null"),
        ("json.null", "null"),
        ("true", "true"),
        ("7", "7"),
        ("2.0", "2"),
        ("-0.0", "0"),
        ("-2^63", "-9223372036854775808"),
        ("2^63", "9.223372036854776e+18"),
        ("1.5", "1.5"),
        ("1e300", "1e+300"),
        ("math.maxinteger", "9223372036854775807"),
        ("'a\\n\"\\\\\\1é'", "\"a\\n\\\"\\\\\\u0001é\""),
    ] {
        assert_eq!(eval(&format!("json.encode({value})")), text, "{value}");
    }
}

#[test]
fn tables_encode() {
    for (value, text) in [
        ("{}", "{}"),
        ("json.array()", "[]"),
        ("json.array({ 1 })", "[1]"),
        ("{ 1, 2, { 'x' } }", "[1,2,[\"x\"]]"),
        ("{ b = 1, a = { c = 2 }, Z = 3 }", "{\"Z\":3,\"a\":{\"c\":2},\"b\":1}"),
        ("{ json.null, 1 }", "[null,1]"),
        (
            "setmetatable({ 1 }, { __pairs = error, __len = error, __tostring = error })",
            "[1]",
        ),
        ("setmetatable({}, { __index = { 1 } })", "{}"),
        ("setmetatable({}, { __index = { 1 }, __metatable = 'sealed' })", "[1]"),
        (
            "setmetatable({ 2 }, { __index = { 1 }, __metatable = 'sealed' })",
            "[2]",
        ),
        (
            "setmetatable({}, { __index = json.array(), __metatable = false })",
            "[]",
        ),
        (
            "(function() local s = { 1 } return { a = s, b = { s } } end)()",
            "{\"a\":[1],\"b\":[[1]]}",
        ),
        (
            "(function() local l = json.decode('[1]') table.remove(l) return l end)()",
            "[]",
        ),
    ] {
        assert_eq!(eval(&format!("json.encode({value})")), text, "{value}");
    }
}

#[test]
fn encode_names_the_first_value_that_is_not_json_data() {
    for (value, message) in [
        ("type", "value must be JSON data, got function"),
        (
            "{ items = { 'a', type } }",
            "value.items[2] must be JSON data, got function",
        ),
        ("{ 0 / 0 }", "value[1] is not a finite number"),
        ("{ a = math.huge }", "value.a is not a finite number"),
        ("'\\255'", "value is not valid UTF-8"),
        ("{ ['a\\255'] = type, b = 1 }", "value.a\u{fffd} is not valid UTF-8"),
        ("{ [1] = type, a = 1 }", "value mixes list items and named keys"),
        ("{ [1] = 'a', [3] = 'c' }", "value is missing list item [2]"),
        ("{ [0] = 'a' }", "value is missing list item [1]"),
        ("{ [-1] = 'a', [1] = 'b' }", "value is missing list item [2]"),
        ("{ [5] = 1 }", "value is missing list item [1]"),
        (
            "{ [true] = 1, a = 1, [1] = 2, [4] = 1 }",
            "value has a boolean key; object keys must be strings",
        ),
        (
            "{ [1.5] = 1, x = 2 }",
            "value has a number key; object keys must be strings",
        ),
        (
            "{ [{}] = 1, [type] = 1 }",
            "value has a function key; object keys must be strings",
        ),
        (
            "{ [json.null] = 1, [{}] = 1 }",
            "value has a lightuserdata key; object keys must be strings",
        ),
        (
            "json.array({ a = 1, 2 })",
            "value is marked as a list but has a string key",
        ),
        (
            "json.array({ a = 1, [true] = 2 })",
            "value is marked as a list but has a boolean key",
        ),
        (
            "json.array({ [1.5] = 2 })",
            "value is marked as a list but has a number key",
        ),
        ("json.array({ [2] = 2 })", "value is missing list item [1]"),
        (
            "(function() local t = {} t.me = { t } return t end)()",
            "value.me[1] contains itself",
        ),
        (
            "setmetatable({}, { __index = type, __metatable = 'sys is sealed' })",
            "value cannot be read (sys is sealed); copy the fields you need into a plain table",
        ),
        (
            "{ a = setmetatable({}, { __index = type, __metatable = false }) }",
            "value.a cannot be read; copy the fields you need into a plain table",
        ),
    ] {
        assert_eq!(
            error(&format!("json.encode({value})")),
            format!("json.encode: {message}"),
            "{value}"
        );
    }
}

#[test]
fn views_that_stand_for_each_other_contain_themselves() {
    let source = "local a, b = {}, {}
        setmetatable(a, { __index = b, __metatable = 1 }) setmetatable(b, { __index = a, __metatable = 1 })
        return select(2, pcall(json.encode, a)).message";
    assert_eq!(run(source), ["json.encode: value contains itself"]);
}

#[test]
fn options_are_checked_before_the_value() {
    for (options, message) in [
        ("5", "options must be a table, got integer"),
        ("{ pretty = true }", "unknown option pretty"),
        ("{ pretty = true, [3] = 1 }", "unknown option 3"),
        ("{ [true] = 1, x = 1 }", "unknown option boolean"),
        ("{ [1.5] = 1 }", "unknown option number"),
        ("{ debug = 1 }", "option debug must be a boolean, got integer"),
    ] {
        for function in ["encode", "encode_lines"] {
            assert_eq!(
                error(&format!("json.{function}(type, {options})")),
                format!("json.{function}: {message}")
            );
        }
    }
    assert_eq!(eval("json.encode({}, { debug = false })"), "{}");
}

#[test]
fn a_dump_writes_a_text_for_each_failure() {
    let source = "local state = { step = 2, retry = type, ratio = 0 / 0, big = math.huge, small = -math.huge, u = json.null }
        state.self = state
        state.view = setmetatable({}, { __index = type, __metatable = 'sys is sealed' })
        state.bare = setmetatable({}, { __index = type, __metatable = 7 })
        state.gap = { [1] = 'a', [3] = 'c' }
        state.odd = { [1] = 'number', ['1'] = 'string', [true] = 1, [2.5] = 2, [1e300] = 3, [math.huge] = 4, [{}] = 5, x = 6 }
        state.bytes = { 'a\\255', ['k\\255'] = 1 }
        state.marked = json.array({ a = 1 })
        state.raw = { ['k\\255'] = 1 }
        return json.encode(state, { debug = true })";
    assert_eq!(
        run(source),
        [
            "{\"bare\":\"[cannot read]\",\"big\":\"Infinity\",\"bytes\":{\"1\":\"a\u{fffd}\",\"k\u{fffd}\":1},\"gap\":{\"1\":\"a\",\"3\":\"c\"},\"marked\":{\"a\":1},\"odd\":{\"1\":\"string\",\"1e+300\":3,\"2.5\":2,\"Infinity\":4,\"true\":1,\"x\":6},\"ratio\":\"NaN\",\"raw\":{\"k\u{fffd}\":1},\"retry\":\"[function]\",\"self\":\"[cycle]\",\"small\":\"-Infinity\",\"step\":2,\"u\":null,\"view\":\"[cannot read: sys is sealed]\"}"
        ]
    );
}

#[test]
fn nesting_is_limited() {
    let nest = "local function nest(n) local t = {} for i = 2, n do t = { t } end return t end ";
    let run = |rest: &str| run(&format!("{nest}{rest}"));
    assert_eq!(run("return #json.encode(nest(127))"), ["254"]);
    let path = format!("value{}", "[1]".repeat(127));
    assert_eq!(
        run("return select(2, pcall(json.encode, nest(128))).message"),
        [format!("json.encode: {path} is nested more than 127 levels deep")]
    );
    assert_eq!(
        run("return json.encode(nest(128), { debug = true }) == ('['):rep(127) .. '\"[too deep]\"' .. (']'):rep(127)"),
        ["true"]
    );
}

/// A VM whose budgets are an eighth of the usual.
fn small() -> Vm {
    let config = runvil_lua::VmConfig {
        memory_bytes: 8_388_608,
        ..config()
    };
    Vm::new(&config).unwrap()
}

#[test]
fn a_walk_has_a_budget() {
    let small = small();
    let refusal = |source: &str, call: &str| {
        run_in(&small, &format!("{source} return select(2, pcall({call})).message")).remove(0)
    };
    let shared = "local t = {} for i = 1, 40 do t = { t, t } end";
    for (call, function) in [
        ("json.encode, t", "json.encode"),
        ("json.encode, t, { debug = true }", "json.encode"),
        ("json.encode_lines, { 1, t }", "json.encode_lines"),
    ] {
        assert_eq!(
            refusal(shared, call),
            format!("{function}: value is too large to encode")
        );
    }
    let rows = "local row, t = {}, {} for i = 1, 1025 do row[i] = 1 end for i = 1, 1025 do t[i] = row end";
    assert_eq!(
        refusal(rows, "json.encode, t"),
        "json.encode: value is too large to encode"
    );
    let bytes = "local s, t = ('x'):rep(1048576), {} for i = 1, 9 do t[i] = s end";
    assert_eq!(
        refusal(bytes, "json.encode, t"),
        "json.encode: value is too large to encode"
    );
}

#[test]
fn the_keys_of_one_path_are_bounded() {
    let keys = "local inner, t = {}, {} for i = 1, 50000 do inner['k' .. i] = 1 t['k' .. i] = 1 end t.k1 = inner ";
    assert_eq!(run(&format!("{keys} return #json.encode(t)")), ["1077789"]);
    assert_eq!(
        run(&format!(
            "{keys} t.extra = 1 return select(2, pcall(json.encode, t)).message"
        )),
        ["json.encode: value is too large to encode"]
    );
}

#[test]
fn lines_encode_each_item_with_a_newline() {
    for (list, text) in [
        ("{}", ""),
        ("json.array()", ""),
        ("{ { n = 1 }, json.null, 'a\\nb' }", "{\"n\":1}\nnull\n\"a\\nb\"\n"),
        ("setmetatable({}, { __index = { 1, 2 }, __metatable = 1 })", "1\n2\n"),
    ] {
        assert_eq!(eval(&format!("json.encode_lines({list})")), text, "{list}");
    }
    for (list, message) in [
        ("nil", " expects a list, got nil"),
        ("5", " expects a list, got integer"),
        ("{ a = 1 }", " expects a list, got a table with a string key"),
        (
            "{ [true] = 1, a = 1 }",
            " expects a list, got a table with a boolean key",
        ),
        ("{ 1, a = 2 }", ": value mixes list items and named keys"),
        ("{ [1] = 1, [3] = 1 }", ": value is missing list item [2]"),
        (
            "{ 1, { name = type } }",
            ": value[2].name must be JSON data, got function",
        ),
        (
            "setmetatable({}, { __index = type, __metatable = 'sys is sealed' })",
            ": value cannot be read (sys is sealed); copy the fields you need into a plain table",
        ),
        (
            "(function() local t = {} t[1] = t return t end)()",
            ": value[1] contains itself",
        ),
        (
            "json.array({ a = 1 })",
            ": value is marked as a list but has a string key",
        ),
    ] {
        for options in ["", ", { debug = true }"] {
            if options.is_empty() || !message.contains("value[") {
                assert_eq!(
                    error(&format!("json.encode_lines({list}{options})")),
                    format!("json.encode_lines{message}"),
                    "{list}"
                );
            }
        }
    }
}

#[test]
fn arrays_are_marked_in_place() {
    let source =
        "local t = {} return json.array(t) == t, json.array(t) == t, getmetatable(t), pcall(setmetatable, t, nil)";
    let values = run(source);
    assert_eq!(values[..4], ["true", "true", "false", "false"]);
    assert!(values[4].contains("cannot change a protected metatable"), "{values:?}");
    assert_eq!(
        error("json.array(5)"),
        "json.array expects a table or no argument, got integer"
    );
    assert_eq!(
        error("json.array(json.null)"),
        "json.array expects a table or no argument, got lightuserdata"
    );
    for table in ["setmetatable({}, {})", "_G"] {
        assert_eq!(
            error(&format!("json.array({table})")),
            "json.array: the table already has a metatable"
        );
    }
}

#[test]
fn rebinding_fields_changes_nothing() {
    assert_eq!(
        run(
            "local null = json.null json.null = nil json.array = nil return json.encode({ null, json.decode('[null]') })"
        ),
        ["[null,[null]]"]
    );
}

#[test]
fn the_driver_reads_and_builds_trees() {
    let vm = vm();
    let lua = vm.lua();
    let tree = json!({ "a": [1, null, "x", []], "b": { "c": 2.5, "d": {} }, "e": null, "f": 2.0 });
    let kept = from_json(lua, &tree, Nulls::Kept).unwrap();
    assert_eq!(to_json(lua, &kept, "value").unwrap(), tree);
    lua.globals()
        .raw_set("dropped", from_json(lua, &tree, Nulls::Dropped).unwrap())
        .unwrap();
    assert_eq!(
        run_in(
            &vm,
            "return dropped.e, dropped.a[2], dropped.a[3], math.type(dropped.f), dropped.b.c"
        ),
        ["nil", "nil", "x", "float", "2.5"]
    );
}

#[test]
fn the_driver_learns_where_a_value_is_not_json_data() {
    let vm = small();
    let lua = vm.lua();
    run_in(
        &vm,
        "bad = { list = { 1, type } } big = {} for i = 1, 40 do big = { big, big } end",
    );
    let bad: Value = lua.globals().raw_get("bad").unwrap();
    let Err(ToJsonError::NotJson(problem)) = to_json(lua, &bad, "item") else {
        unreachable!("a function is not JSON data");
    };
    assert_eq!(
        problem,
        NotJson {
            path: "item.list[2]".to_owned(),
            problem: Problem::Type("function"),
        }
    );
    assert_eq!(problem.to_string(), "item.list[2] must be JSON data, got function");
    let big: Value = lua.globals().raw_get("big").unwrap();
    assert!(matches!(to_json(lua, &big, "item"), Err(ToJsonError::TooLarge)));
}
