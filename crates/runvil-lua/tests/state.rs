//! Guarded state, sealed tables, and `log`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up fails"
)]

mod common;

use std::sync::{Arc, Mutex};

use common::{failed, run_in, runtime_message, step, vm};
use runvil_lua::mlua::Value;
use runvil_lua::{BlockFailure, LogRefusal, Script, Seal, State, Vm, from_json, log_function};
use serde_json::{Value as Json, json};

fn with_var(value: &Json) -> (Vm, State) {
    let vm = vm();
    let state = State::install(vm.lua(), "var", value).unwrap();
    (vm, state)
}

/// What a block returns and what the state reads back as.
fn var(source: &str) -> (Vec<String>, Json) {
    let (vm, state) = with_var(&json!({}));
    (run_in(&vm, source), state.read_back(vm.lua()).unwrap())
}

/// The message of the error that an assignment raises.
fn refused(assignment: &str) -> String {
    let source = format!(
        "var.t = {{ kept = 'yes', list = {{ 1, 2 }} }}
        local ok, e = pcall(function() {assignment} end)
        return ok, e.kind, e.message"
    );
    let (values, left) = var(&source);
    assert_eq!(values[..2], ["false", "lua"], "{assignment}");
    assert_eq!(left, json!({ "t": { "kept": "yes", "list": [1, 2] } }), "{assignment}");
    values[2].clone()
}

#[test]
fn what_is_stored_reads_back_as_json() {
    let source = "var.n = 1 var.f = 2.0 var.s = 'x' var.b = true var.t = { a = { 1, 2 } } var.null = json.null
        var.list = json.array() var.plain = {} var['key with space'] = 1
        return var.n, math.type(var.f), var.t.a[2], var.null == json.null, var.missing";
    let (values, stored) = var(source);
    assert_eq!(values, ["1", "float", "2", "true", "nil"]);
    let expected = json!({
        "n": 1, "f": 2.0, "s": "x", "b": true, "t": { "a": [1, 2] }, "null": null, "list": [], "plain": {},
        "key with space": 1
    });
    assert_eq!(stored, expected);
}

#[test]
fn a_snapshot_starts_the_state_and_an_empty_one_is_an_object() {
    let (vm, state) = with_var(&json!({ "n": 1, "list": [{ "a": [] }], "null": null }));
    assert_eq!(
        run_in(
            &vm,
            "var.n = var.n + 1 return #var.list, var.list[1].a[1], json.encode(var.list), var.null == json.null"
        ),
        ["0", "nil", "[{\"a\":[]}]", "true"]
    );
    assert_eq!(
        state.read_back(vm.lua()).unwrap(),
        json!({ "n": 2, "list": [{ "a": [] }], "null": null })
    );
    assert_eq!(var("return 1").1, json!({}));
}

#[test]
fn an_assigned_table_is_copied_at_every_depth() {
    let source = "local list = { 'one', { 'deep' } } var.list = list list[1] = 'changed' list[2][1] = 'changed'
        var.again = var.list var.again[1] = 'other' var.list[3] = 'three'
        return var.list[1], var.list[2][1], var.list[3], var.again[1], var.again[3]";
    assert_eq!(var(source).0, ["one", "deep", "three", "other", "nil"]);
}

#[test]
fn nil_removes_and_nested_writes_pass() {
    let source = "var.k = 1 var.t = {} var.t.kept = 'yes' var.t.gone = {} var.t.gone = nil var.k = nil return var.k";
    assert_eq!(var(source), (vec!["nil".to_owned()], json!({ "t": { "kept": "yes" } })));
}

#[test]
fn the_tables_of_a_state_are_empty_and_guarded() {
    let source = "var.items = { 'a', 'b', 'c' } local out = {}
        for _, v in ipairs(var.items) do out[#out + 1] = v end
        local _, e = pcall(function() setmetatable(var, {}) end)
        local _, nested = pcall(function() setmetatable(var.items, nil) end)
        for _ in pairs(var) do error('visited') end
        return table.concat(out), #var.items, next(var), next(var.items), table.concat(var.items, '', 1, 3),
            getmetatable(var), getmetatable(var.items), e, nested, json.encode(var)";
    assert_eq!(
        var(source).0,
        [
            "abc",
            "0",
            "nil",
            "nil",
            "abc",
            "var is guarded",
            "var is guarded",
            "[string \"line 10\"]:3: cannot change a protected metatable",
            "[string \"line 10\"]:4: cannot change a protected metatable",
            "{\"items\":[\"a\",\"b\",\"c\"]}"
        ]
    );
}

#[test]
fn a_write_that_is_not_json_data_is_refused_at_its_path_and_stores_nothing() {
    for (assignment, message) in [
        ("var.handler = type", "var.handler must be JSON data, got function"),
        ("var.t.f = type", "var.t.f must be JSON data, got function"),
        ("var.t.list[2] = type", "var.t.list[2] must be JSON data, got function"),
        (
            "var.t.list[2.0] = type",
            "var.t.list[2] must be JSON data, got function",
        ),
        ("var.x = { f = { type } }", "var.x.f[1] must be JSON data, got function"),
        ("var.x = 0 / 0", "var.x is not a finite number"),
        ("var.x = '\\255'", "var.x is not valid UTF-8"),
        ("var['\\255'] = 1", "var.\u{fffd} is not valid UTF-8"),
        ("var.x = { 1, a = 2 }", "var.x mixes list items and named keys"),
        ("var[true] = 1", "var has a boolean key; object keys must be strings"),
        ("var.t[1.5] = 1", "var.t has a number key; object keys must be strings"),
        ("local t = {} t.me = t var.x = t", "var.x.me contains itself"),
        (
            "local t = {} for i = 1, 40 do t = { t, t } end var.x = t",
            "var.x is too large to store",
        ),
    ] {
        assert_eq!(refused(assignment), message, "{assignment}");
    }
}

#[test]
fn nesting_through_writes_has_a_limit_too() {
    let source = "local function nest(n) local t = {} for i = 2, n do t = { t } end return t end
        var.d = nest(1000)
        local ok, e = pcall(function() var.d[1][1] = nest(999) end)
        var.d[1][1] = nest(125)
        return ok, #json.encode(var.d), tostring(e):match('nested more than 1000 levels deep') ~= nil";
    assert_eq!(var(source).0, ["false", "254", "true"]);
}

#[test]
fn a_write_through_another_tables_metatable_is_checked_too() {
    let source = "local t = setmetatable({}, { __newindex = var, __index = var }) t.x = { 1 }
        local ok, e = pcall(function() t.y = type end)
        return t.x[1], var.x[1], ok, e.message";
    assert_eq!(
        var(source).0,
        ["1", "1", "false", "var.y must be JSON data, got function"]
    );
}

#[test]
fn reassigning_the_global_fails_the_read_back_until_it_is_put_back() {
    let (vm, state) = with_var(&json!({ "a": 1 }));
    run_in(&vm, "kept = var var = { a = 2 }");
    assert_eq!(
        state.read_back(vm.lua()).unwrap_err().to_string(),
        "the `var` global was reassigned; write `var.<field>` instead"
    );
    run_in(&vm, "var = kept");
    assert_eq!(state.read_back(vm.lua()).unwrap(), json!({ "a": 1 }));
}

#[test]
fn an_uncaught_refusal_names_its_line() {
    let (vm, _) = with_var(&json!({}));
    let message = runtime_message(step(&vm, "local x = 1\nvar.f = type"));
    assert!(
        message.starts_with("section `Main` prologue:11: runtime error: var.f must be JSON data, got function\n"),
        "{message}"
    );
}

#[test]
fn a_view_reads_the_values_of_the_moment_and_refuses_writes() {
    let (vm, state) = with_var(&json!({ "mode": "fast", "cfg": { "list": [{ "n": 1 }] } }));
    let view = state.read_only_view(vm.lua()).unwrap();
    vm.lua().globals().raw_set("view", view).unwrap();
    let source = "local a = view.mode var.mode = 'slow' var.cfg.list[2] = 5
        local function refused(f) return select(2, pcall(f)).message end
        return a, view.mode, view.cfg.list[1].n, view.cfg.list[2], view.none, getmetatable(view), getmetatable(view.cfg),
            refused(function() view.mode = 'x' end), refused(function() view[1] = 'x' end),
            refused(function() view[2.5] = 'x' end), refused(function() view.cfg.list[1].n = 2 end),
            select(2, pcall(json.encode, view)).message";
    assert_eq!(
        run_in(&vm, source),
        [
            "fast",
            "slow",
            "1",
            "5",
            "nil",
            "var is read-only",
            "var is read-only",
            "var is read-only inside a Pack prelude; cannot set 'mode'",
            "var is read-only inside a Pack prelude; cannot set '1'",
            "var is read-only inside a Pack prelude; cannot set 'number'",
            "var.cfg.list[1] is read-only inside a Pack prelude; cannot set 'n'",
            "json.encode: value cannot be read (var is read-only); copy the fields you need into a plain table"
        ]
    );
}

const FROZEN: Seal<'_> = Seal {
    protection: "argv is frozen",
    refusal: "argv is frozen outside H1: cannot set field",
    quotes_every_field: false,
};

#[test]
fn a_frozen_value_reads_through_and_refuses_writes_at_every_depth() {
    let vm = vm();
    let value = json!({ "query": "papers", "nested": { "hits": 2 }, "items": ["a", null], "none": [] });
    vm.lua()
        .globals()
        .raw_set("argv", FROZEN.value(vm.lua(), &value).unwrap())
        .unwrap();
    let source = "local function refused(f) return tostring(select(2, pcall(f))) end
        local nested = argv.nested
        local n = 0 for _ in pairs(argv) do n = n + 1 end for _, v in ipairs(argv.items) do n = n + 10 end
        return argv.query, nested.hits, argv.absent, n, #argv.items, next(argv), getmetatable(argv), getmetatable(nested),
            refused(function() argv.query = 1 end), refused(function() argv[1] = 1 end), refused(function() argv['1'] = 1 end),
            refused(function() argv[2.5] = 1 end), refused(function() argv[true] = 1 end),
            refused(function() nested.hits = nil end), refused(function() setmetatable(nested, nil) end), json.encode(argv)";
    assert_eq!(
        run_in(&vm, source),
        [
            "papers",
            "2",
            "nil",
            "20",
            "0",
            "nil",
            "argv is frozen",
            "argv is frozen",
            "runtime error: argv is frozen outside H1: cannot set field 'query'",
            "runtime error: argv is frozen outside H1: cannot set field 1",
            "runtime error: argv is frozen outside H1: cannot set field '1'",
            "runtime error: argv is frozen outside H1: cannot set field number",
            "runtime error: argv is frozen outside H1: cannot set field boolean",
            "runtime error: argv is frozen outside H1: cannot set field 'hits'",
            "[string \"line 10\"]:7: cannot change a protected metatable",
            "{\"items\":[\"a\",null],\"nested\":{\"hits\":2},\"none\":[],\"query\":\"papers\"}"
        ]
    );
    assert!(matches!(FROZEN.value(vm.lua(), &json!(6)).unwrap(), Value::Integer(6)));
}

#[test]
fn sealed_fields_know_their_names() {
    let vm = vm();
    let lua = vm.lua();
    let Value::Table(fields) = from_json(lua, &json!({ "when": "now" }), runvil_lua::Nulls::Kept).unwrap() else {
        panic!("no table");
    };
    let seal = Seal {
        protection: "sys is sealed",
        refusal: "sys is read-only; cannot set",
        quotes_every_field: true,
    };
    let sys = seal
        .fields(
            lua,
            &fields,
            "unknown sys field",
            "sys fields must be accessed by string key",
        )
        .unwrap();
    lua.globals().raw_set("sys", sys).unwrap();
    fields.raw_set("model", "late").unwrap();
    let source = "local function refused(f) return tostring(select(2, pcall(f))) end
        return sys.when, sys.model, next(sys), getmetatable(sys), refused(function() return sys.nothing end),
            refused(function() return sys[1] end), refused(function() sys.when = 1 end), refused(function() sys[1] = 1 end),
            refused(function() sys[true] = 1 end), select(2, pcall(json.encode, sys)).message";
    assert_eq!(
        run_in(&vm, source),
        [
            "now",
            "late",
            "nil",
            "sys is sealed",
            "runtime error: unknown sys field 'nothing'",
            "runtime error: sys fields must be accessed by string key",
            "runtime error: sys is read-only; cannot set 'when'",
            "runtime error: sys is read-only; cannot set '1'",
            "runtime error: sys is read-only; cannot set 'boolean'",
            "json.encode: value cannot be read (sys is sealed); copy the fields you need into a plain table"
        ]
    );
    let message = runtime_message(step(&vm, "return sys.nothing"));
    assert!(
        message.starts_with("section `Main` prologue:10: runtime error: unknown sys field 'nothing'\n"),
        "{message}"
    );
}

#[test]
fn a_scripts_table_is_sealed_at_its_top_level_and_its_frames_bear_its_name() {
    let vm = vm();
    let lua = vm.lua();
    let script = Script::compile(
        "input = { deep = {} }\nfunction input.fail() error('no') end",
        "pack:kit",
    )
    .unwrap();
    let environment = lua.create_table().unwrap();
    environment
        .raw_set("error", lua.globals().raw_get::<Value>("error").unwrap())
        .unwrap();
    vm.load_script(&script, &environment).unwrap().call::<()>(()).unwrap();
    let seal = Seal {
        protection: "input is sealed",
        refusal: "input is read-only: Pack `kit` defines it; cannot set",
        quotes_every_field: true,
    };
    let data: mlua::Table = environment.raw_get("input").unwrap();
    lua.globals().raw_set("input", seal.table(lua, &data).unwrap()).unwrap();
    let source = "input.deep.x = 1 local _, e = pcall(input.fail) local _, w = pcall(function() input.extra = 1 end)
        return e, tostring(w), next(input)";
    assert_eq!(
        run_in(&vm, source),
        [
            "pack:kit:2: no",
            "runtime error: input is read-only: Pack `kit` defines it; cannot set 'extra'",
            "nil"
        ]
    );
}

fn with_log(events: u32) -> (Vm, Arc<Mutex<Vec<String>>>) {
    let vm = vm();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let log = log_function(
        vm.lua(),
        events,
        move |line| sink.lock().unwrap().push(line.to_owned()),
        |refusal| Arc::new(refusal),
    );
    vm.lua().globals().raw_set("log", log.unwrap()).unwrap();
    (vm, lines)
}

#[test]
fn log_checks_its_message_in_order() {
    let (vm, lines) = with_log(100);
    let source = "local function refused(...) local ok, e = pcall(log, ...) return ok or e.message end
        return refused(), refused('a', 'b'), refused(3), refused(nil), refused('\\255'), refused(('é'):rep(257)),
            refused(('é'):rep(256)), refused('a\\nb'), refused('a\\tb'), refused('a\\u{2028}b'), refused('a\\u{2029}b'),
            refused('a\\u{85}'), refused(('\\n'):rep(300)), select('#', log('fine'))";
    assert_eq!(
        run_in(&vm, source),
        [
            "log expects exactly one argument",
            "log expects exactly one argument",
            "log message must be a UTF-8 string",
            "log message must be a UTF-8 string",
            "log message must be a UTF-8 string",
            "log message must be at most 256 characters",
            "true",
            "log message must not contain newline or control characters",
            "log message must not contain newline or control characters",
            "log message must not contain newline or control characters",
            "log message must not contain newline or control characters",
            "log message must not contain newline or control characters",
            "log message must be at most 256 characters",
            "0"
        ]
    );
    assert_eq!(*lines.lock().unwrap(), ["é".repeat(256), "fine".to_owned()]);
}

#[test]
fn every_call_with_one_argument_spends_an_event() {
    let (vm, lines) = with_log(2);
    let source = "pcall(log) pcall(log, 'a', 'b') pcall(log, 3) log('one')
        local _, e = pcall(log, 3) return e.kind, e.message";
    assert_eq!(run_in(&vm, source), ["lua", "lua log event budget exceeded"]);
    assert_eq!(*lines.lock().unwrap(), ["one"]);
}

#[test]
fn an_uncaught_quota_refusal_gives_its_origin_back() {
    for (source, expected, logged) in [
        ("log('a') log('b') log('c') log('d') log('e')", LogRefusal::Events, 4),
        ("for i = 1, 3 do log(('é'):rep(200)) end", LogRefusal::Bytes, 2),
    ] {
        let (vm, lines) = with_log(4);
        let BlockFailure::Raised { failure, .. } = failed(step(&vm, source)) else {
            panic!("not raised");
        };
        assert_eq!(failure.origin.unwrap().downcast_ref::<LogRefusal>(), Some(&expected));
        assert_eq!(failure.message, expected.to_string());
        assert_eq!(lines.lock().unwrap().len(), logged);
    }
}

#[test]
fn a_refused_message_leaves_the_bytes_for_a_shorter_one() {
    let (vm, lines) = with_log(4);
    run_in(
        &vm,
        "log(('é'):rep(200)) log(('é'):rep(200)) pcall(log, ('é'):rep(200)) log('short')",
    );
    assert_eq!(lines.lock().unwrap().len(), 3);
}
