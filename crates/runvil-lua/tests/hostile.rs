//! Lua that means harm: each attempt ends in an error, and the VM and the process go on.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up fails"
)]

mod common;

use common::{config, failed, run_in, step};
use runvil_lua::{BlockFailure, BlockStep, Chunk, Resume, State, Text, Vm, VmConfig};
use serde_json::json;

fn vm_of(memory_bytes: usize) -> Vm {
    let vm = Vm::new(&VmConfig {
        memory_bytes,
        ..config()
    })
    .unwrap();
    State::install(vm.lua(), "var", &json!({})).unwrap();
    let native = vm.lua().create_function(|_, text: String| Ok(Text(text.repeat(2))));
    vm.lua().globals().raw_set("double", native.unwrap()).unwrap();
    vm
}

/// The text of a failure, whatever its sort.
fn text(failure: BlockFailure) -> String {
    match failure {
        BlockFailure::Runtime { message } => message,
        BlockFailure::Raised { located, .. } | BlockFailure::Rebuilt { located, .. } => located,
        BlockFailure::Interrupted => panic!("nothing was cancelled"),
    }
}

/// The block fails with this text, and another block of the VM still runs.
fn fails_with(memory_bytes: usize, source: &str, expected: &str) {
    let vm = vm_of(memory_bytes);
    let message = text(failed(step(&vm, source)));
    assert!(message.contains(expected), "{source}: {message}");
    drop(vm);
    let vm = vm_of(memory_bytes);
    let caught = format!("local ok, e = pcall(function() {source} end) return ok, tostring(e)");
    let values = run_in(&vm, &caught);
    assert_eq!(values[0], "false", "{source}");
    assert!(values[1].contains(expected), "{source}: {values:?}");
    assert_eq!(
        run_in(&vm, "local t = {} for i = 1, 100 do t[i] = {} end return #t"),
        ["100"],
        "{source}"
    );
}

#[test]
fn memory_bombs_end_in_a_memory_error() {
    for source in [
        "local t, i = {}, 1 while true do t[i] = ('x'):rep(16384) i = i + 1 end",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t = { t } end",
        "local t = {} while true do t[#t + 1] = function() return t end end",
        "return ('x'):rep(1 << 40)",
        "return ('x'):rep(1 << 25, 'y')",
        "return table.create(1 << 30)",
        "return table.concat({ ('x'):rep(3000000), ('y'):rep(3000000) })",
        "return ('x'):rep(3000000):gsub('.', 'yyyy')",
        "return ('%s%s'):format(('x'):rep(3000000), ('x'):rep(3000000))",
        "return json.encode({ ('\\1'):rep(3000000) })",
        "return json.decode('[' .. ('[],'):rep(300000) .. '1]')",
        "local t = {} for i = 1, 30000 do t[i] = {} end var.a = t var.b = t",
        "return double(('x'):rep(3000000))",
        "local t = {} for i = 1, 1e7 do t['k' .. i] = i end",
    ] {
        fails_with(4 * 1024 * 1024, source, "memory");
    }
}

#[test]
fn walks_of_a_table_that_fills_the_heap_end_in_an_error_or_an_answer() {
    let vm = vm_of(4 * 1024 * 1024);
    let source = "local t = {} for i = 1, 25000 do t['k' .. i] = i end
        local n = 0
        local ok, e = pcall(function() for _ in pairs(t) do n = n + 1 end end)
        local okay, text = pcall(json.encode, t)
        return ok or tostring(e), okay or tostring(text), next(t)";
    let values = run_in(&vm, source);
    for value in &values[..2] {
        assert!(value == "true" || value.contains("memory"), "{values:?}");
    }
    assert_eq!(values[2], "k1");
}

#[test]
fn deep_recursion_ends_in_a_stack_overflow() {
    for (source, expected) in [
        ("local function f() return 1 + f() end f()", "stack overflow"),
        (
            "local t = {} setmetatable(t, { __index = function(t, k) return t[k] end }) return t.x",
            "stack overflow",
        ),
        (
            "local t t = setmetatable({}, { __tostring = function() return tostring(t) end }) return tostring(t)",
            "stack overflow",
        ),
        (
            "local t t = setmetatable({}, { __concat = function() return t .. '' end }) return t .. ''",
            "stack overflow",
        ),
        (
            "local t t = setmetatable({}, { __eq = function(a, b) return a == b end }) return t == setmetatable({}, getmetatable(t))",
            "stack overflow",
        ),
        ("local function f() return ('x'):gsub('x', f) end f()", "stack overflow"),
        (
            "local function f() table.sort({ 1, 2 }, f) return true end f()",
            "stack overflow",
        ),
        (
            "local function f() for _ in pairs(setmetatable({}, { __pairs = f })) do end end f()",
            "stack overflow",
        ),
        (
            "local function f() return table.concat(setmetatable({}, { __len = function() return 1 end, __index = f })) end f()",
            "stack overflow",
        ),
        (
            "setmetatable(_G, { __index = function(_, k) return _G[k] end }) return nowhere",
            "stack overflow",
        ),
        (
            "setmetatable(_G, { __newindex = function(t, k, v) t[k] = v end }) nowhere = 1",
            "stack overflow",
        ),
        (
            "local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x",
            "loop",
        ),
        ("return ('x'):find(('('):rep(300))", "too many captures"),
        ("return ('x'):rep(300):find(('x-'):rep(300) .. 'y')", "too complex"),
        ("return json.decode(('['):rep(100000))", "recursion limit"),
        (
            "local t = {} for i = 1, 100000 do t = { t } end return json.encode(t)",
            "127 levels",
        ),
        (
            "local t = {} for i = 1, 100000 do t = { t } end var.t = t",
            "1000 levels",
        ),
    ] {
        fails_with(4 * common::MEMORY, source, expected);
    }
}

#[test]
fn an_endless_chain_of_protected_calls_ends() {
    let vm = vm_of(4 * 1024 * 1024);
    for source in [
        "local function f() return pcall(f) end return (f())",
        "local function f() return xpcall(f, f) end return (f())",
        "local function f() return pcall(pcall, f) end return (f())",
        "return (xpcall(error, function() error('again') end, 'x'))",
        "local function h(e) return h(e) .. 1 end return (xpcall(error, h, 'x'))",
        "local t = setmetatable({}, { __tostring = error }) return (pcall(error, t))",
    ] {
        let values = run_in(&vm, source);
        assert!(["true", "false"].contains(&values[0].as_str()), "{source}: {values:?}");
    }
}

#[test]
fn errors_of_every_shape_leave_a_block() {
    for source in [
        "error()",
        "error(nil)",
        "error(false)",
        "error(0 / 0)",
        "error(function() end)",
        "error(setmetatable({}, { __tostring = function() error('nested') end }))",
        "error(setmetatable({}, { __tostring = function() return 5 end, __name = 7 }))",
        "error(setmetatable({}, { __index = error, __metatable = error }))",
        "error(json.null)",
        "error(('\\255'):rep(1000))",
        "error(('x'):rep(1000000))",
        "local _, e = pcall(double, {}) e.kind = {} e.message = e error(e)",
        "local _, e = pcall(double, {}) e.kind = nil e.message = nil e[1] = 1 e[e] = e error(e)",
        "local _, e = pcall(double, {}) getmetatable(e).__tostring = error getmetatable(e).__index = error error(e)",
        "local _, e = pcall(double, {}) error(setmetatable({ kind = 'store' }, getmetatable(e)))",
        "local _, e = pcall(double, {}) setmetatable(getmetatable(e), { __index = error }) error(e)",
        "local x <close> = setmetatable({}, { __close = function(_, e) error(e) end }) double({})",
        "local x <close> = setmetatable({}, { __close = function(_, e) seen = tostring(e) end }) error(nil)",
    ] {
        let vm = vm_of(4 * 1024 * 1024);
        let failure = failed(step(&vm, source));
        assert!(!matches!(failure, BlockFailure::Interrupted), "{source}");
    }
}

#[test]
fn what_authors_rebind_does_not_reach_the_machinery() {
    let vm = vm_of(4 * 1024 * 1024);
    let source = "local _, e = pcall(double, {})
        local mt = getmetatable(e)
        for k in next, mt do mt[k] = nil end
        getmetatable('').__index = nil
        for k in next, string do string[k] = nil end
        for k in next, table do table[k] = nil end
        local keep = { pcall = pcall, next = next }
        local globals = _G
        for k in keep.next, globals do if k ~= 'var' then globals[k] = nil end end
        var.x = { 1 }
        local ok, again = keep.pcall(function() var.y = function() end end)
        return ok, again.kind, again.message";
    assert_eq!(
        run_in(&vm, source),
        ["false", "lua", "var.y must be JSON data, got function"]
    );
    assert_eq!(run_in(&vm, "return var.x[1]"), ["1"]);
}

#[test]
fn bytecode_leads_nowhere() {
    let vm = vm_of(4 * 1024 * 1024);
    let source = "local code = string.dump(function() return 1 end)
        return type(code), load, loadstring, pcall(string.dump, print), tostring(select(2, pcall(error, code))) == code";
    let values = run_in(&vm, source);
    assert_eq!(values[..4], ["string", "nil", "nil", "false"]);
}

#[test]
fn odd_arguments_to_library_functions_end_in_errors_or_answers() {
    let vm = vm_of(4 * 1024 * 1024);
    let source = "local odd = { nil, true, false, 0, -1, 1.5, 1 << 62, -(1 << 62), math.mininteger, math.maxinteger, 0 / 0,
            math.huge, '', 'x', '\\0', '%', '[', '(', '5', {}, { 1, 2, 3 }, json.null, json.array(), var, function() end,
            function(...) return ... end, setmetatable({}, { __index = function() return 1 end, __len = function() return 3 end }) }
        local names, n = { 'string', 'table', 'math', 'json' }, 0
        local small = { [('rep')] = true, [('create')] = true }
        for _, library in ipairs(names) do
          for name, f in pairs(_G[library]) do
            if type(f) == 'function' and not small[name] then
              for i = 0, 26 do for j = 0, 26 do
                pcall(f, odd[i], odd[j]) pcall(f, odd[i], odd[j], odd[(i + j) % 27]) n = n + 1
              end end
            end
          end
        end
        for i = 0, 26 do for j = 0, 26 do
          for _, f in ipairs({ next, pairs, ipairs, select, tonumber, tostring, type, getmetatable, setmetatable, pcall, xpcall, error, assert }) do
            if odd[i] ~= _G then pcall(f, odd[i], odd[j]) n = n + 1 end
          end
          pcall(function() var[odd[i]] = odd[j] end)
        end end
        return n > 1000";
    assert_eq!(run_in(&vm, source), ["true"]);
}

#[test]
fn a_ceiling_too_low_for_the_sandbox_is_an_error_of_what_comes_next() {
    let chunk = Chunk::compile(
        "local t = {} for i = 1, 1e4 do t[i] = {} end",
        "section `Main` prologue",
        1,
    )
    .unwrap();
    for memory_bytes in [0, 1, 4096] {
        let config = VmConfig {
            memory_bytes,
            ..config()
        };
        let vm = Vm::new(&config).expect("the sandbox is there whatever the ceiling");
        if let Ok(mut block) = vm.start(&chunk) {
            let step = vm.resume(&mut block, Resume::Start);
            assert!(!matches!(step, BlockStep::Returned(_)));
        }
    }
}
