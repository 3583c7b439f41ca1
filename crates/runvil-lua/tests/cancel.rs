//! A cancel reaches whatever Lua is doing.
//!
//! A test here that fails to interrupt hangs, which its runner reports.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up fails"
)]

mod common;

use std::thread;
use std::time::Duration;

use common::{config, returned, step};
use mlua::{MultiValue, Value};
use runvil_lua::{BlockFailure, BlockStep, CancelFlag, Chunk, Failure, Helper, Resume, Vm, VmConfig};

fn vm_with(cancel: &CancelFlag) -> Vm {
    let config = VmConfig {
        cancel: cancel.clone(),
        ..config()
    };
    Vm::new(&config).unwrap()
}

fn is_interrupted(step: &BlockStep) -> bool {
    matches!(step, BlockStep::Failed(BlockFailure::Interrupted))
}

/// Runs a block that never ends on its own and cancels it soon.
fn interrupts(source: &str) {
    let cancel = CancelFlag::new();
    let vm = vm_with(&cancel);
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        cancel.cancel();
    });
    let step = step(&vm, source);
    canceller.join().unwrap();
    assert!(is_interrupted(&step), "{source}: {step:?}");
}

#[test]
fn endless_loops_end() {
    for source in [
        "while true do end",
        "local n = 0 while true do n = n + 1 end",
        "repeat until false",
        "::top:: goto top",
        "local function f() return f() end f()",
        "for i = 1, math.huge do end",
        "local t = setmetatable({}, { __index = function(t, k) return k end }) while true do local _ = t.x end",
    ] {
        interrupts(source);
    }
}

#[test]
fn protected_calls_pass_a_cancel_on() {
    for source in [
        "while true do pcall(function() while true do end end) end",
        "pcall(pcall, pcall, function() while true do end end) while true do end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
        "xpcall(error, function() while true do end end)",
        "xpcall(function() while true do end end, function() error('again') end)",
        "local function again() pcall(again) while true do end end again()",
    ] {
        interrupts(source);
    }
}

#[test]
fn variables_to_close_cannot_stall_a_cancel() {
    let source = "local mt = { __close = function() while true do end end }
        local function deep(n)
          local a <close> = setmetatable({}, mt)
          local b <close> = setmetatable({}, mt)
          if n > 0 then deep(n - 1) end
          while true do end
        end
        deep(150)";
    interrupts(&format!("{source} "));
    interrupts(&format!("while true do pcall(function() {source} end) end"));
}

#[test]
fn library_functions_that_could_run_for_ages_end() {
    let long = "setmetatable({}, { __len = function() return 1 << 60 end, __index = function(_, k) return k end, __newindex = function() end })";
    let quick = "setmetatable({}, { __len = function() return 1 << 60 end })";
    for source in [
        &format!("table.insert({long}, 1, 'x')"),
        &format!("table.remove({long}, 1)"),
        &format!("table.move({quick}, 1, 1 << 60, 2)"),
        &format!("table.move({quick}, 1, 1 << 60, 2, {{}})"),
        &format!(
            "table.concat({quick}, '', 1, 0) table.concat(setmetatable({{}}, {{ __index = {{}}, __len = 5 }}), '', 1, 0) table.move({quick}, 1, 1 << 61, 1 << 60)"
        ),
        "table.concat(setmetatable({}, { __index = setmetatable({}, { __index = function() return '' end }) }), '', 1, 1 << 60)",
        "table.sort(setmetatable({}, { __len = function() return (1 << 31) - 2 end, __index = function() return 1 end, __newindex = function() end }))",
        "while true do table.sort({ 3, 1, 2 }, function(a, b) return a < b end) end",
    ] {
        interrupts(source);
    }
}

#[test]
fn exploding_patterns_end() {
    for source in [
        "string.find(('a'):rep(200), ('a-'):rep(30) .. 'b')",
        "string.match(('a'):rep(200), ('a*'):rep(30) .. 'b')",
        "string.gsub(('a'):rep(200), ('a?'):rep(100) .. ('a*'):rep(30) .. 'b', '')",
        "for _ in string.gmatch(('a'):rep(200), ('.-'):rep(30) .. 'b') do end",
        "string.find(('a'):rep(2000000), ('.*'):rep(4) .. 'b')",
        "string.find(('x('):rep(1000000), '%b()' .. ('.*'):rep(3) .. 'q')",
        "string.find(('ab'):rep(1000000), '(.-)%1%1%1%1%1c')",
    ] {
        interrupts(source);
    }
}

#[test]
fn a_run_that_was_cancelled_is_interrupted_at_its_first_check() {
    let cancel = CancelFlag::new();
    cancel.cancel();
    assert!(cancel.is_cancelled());
    let vm = vm_with(&cancel);
    assert!(is_interrupted(&step(&vm, "for i = 1, 100000 do end return 'done'")));
    assert!(is_interrupted(&step(&vm, "while true do end")));
    assert_eq!(
        returned(step(&vm, "return 'before the first check'")),
        ["before the first check"]
    );
}

#[test]
fn the_interrupt_wins_over_whatever_a_block_raises() {
    let cancel = CancelFlag::new();
    let vm = vm_with(&cancel);
    let inner = cancel.clone();
    let stop = vm.lua().create_function(move |_, ()| -> mlua::Result<()> {
        inner.cancel();
        Err(Failure::new("tool", "broke").into())
    });
    vm.lua().globals().raw_set("stop", stop.unwrap()).unwrap();
    assert!(is_interrupted(&step(&vm, "pcall(stop) return 'swallowed'")));
    let vm = vm_with(&cancel);
    assert!(is_interrupted(&step(&vm, "error({})")));
}

static SUSPEND: Helper = Helper::new("runvil/test.lua", "return suspend");

#[test]
fn every_coroutine_of_every_vm_of_a_run_is_reached() {
    let cancel = CancelFlag::new();
    let first = vm_with(&cancel);
    let second = vm_with(&cancel);
    let mut blocks = Vec::new();
    for vm in [&first, &second] {
        let suspend = vm.load_helper(&SUSPEND, ()).unwrap().pop_front();
        vm.lua().globals().raw_set("suspend", suspend).unwrap();
        let chunk = Chunk::compile("suspend() for i = 1, 100000 do end", "section `A` prologue", 1).unwrap();
        let mut block = vm.start(&chunk).unwrap();
        assert!(matches!(vm.resume(&mut block, Resume::Start), BlockStep::Request(_)));
        blocks.push((vm, block));
    }
    cancel.cancel();
    for (vm, mut block) in blocks {
        assert!(is_interrupted(
            &vm.resume(&mut block, Resume::Values(MultiValue::new()))
        ));
    }
}

#[test]
fn a_cancel_of_one_run_leaves_another_on_the_same_thread_alone() {
    let (outer_flag, inner_flag) = (CancelFlag::new(), CancelFlag::new());
    let outer = vm_with(&outer_flag);
    let (cancel, inner) = (outer_flag.clone(), inner_flag.clone());
    let nested = outer.lua().create_function(move |_, ()| {
        let vm = vm_with(&inner);
        cancel.cancel();
        Ok(returned(step(&vm, "local n = 0 for i = 1, 1000000 do n = n + 1 end return n")).remove(0))
    });
    outer.lua().globals().raw_set("nested", nested.unwrap()).unwrap();
    let source = "result = nested() for i = 1, 100000 do end";
    assert!(is_interrupted(&step(&outer, source)));
    assert_eq!(outer.lua().globals().raw_get::<String>("result").unwrap(), "1000000");
    assert!(!inner_flag.is_cancelled());
}

#[test]
fn cancels_at_any_moment_find_their_thread() {
    for round in 0..200_u64 {
        let cancel = CancelFlag::new();
        let runner = {
            let cancel = cancel.clone();
            thread::spawn(move || {
                let vm = vm_with(&cancel);
                let suspend = vm.load_helper(&SUSPEND, ()).unwrap().pop_front();
                vm.lua().globals().raw_set("suspend", suspend).unwrap();
                let source = "local t = {} while true do
                    suspend(1) t[#t % 100 + 1] = ('x'):rep(20) pcall(error, t)
                    for i = 1, 50 do local _ = tostring(i):find('(%d)') end
                  end";
                let chunk = Chunk::compile(source, "section `A` prologue", 1).unwrap();
                let mut block = vm.start(&chunk).unwrap();
                let mut step = vm.resume(&mut block, Resume::Start);
                while let BlockStep::Request(values) = step {
                    step = vm.resume(&mut block, Resume::Values(values));
                }
                is_interrupted(&step)
            })
        };
        thread::sleep(Duration::from_micros(round * 7));
        cancel.cancel();
        assert!(runner.join().unwrap());
    }
}

#[test]
fn a_cancel_after_the_thread_is_gone_does_nothing() {
    let cancel = CancelFlag::new();
    let flag = cancel.clone();
    thread::spawn(move || returned(step(&vm_with(&flag), "return 1")))
        .join()
        .unwrap();
    cancel.cancel();
    assert!(cancel.is_cancelled());
}

#[test]
fn a_conversion_of_a_large_value_is_interrupted() {
    let cancel = CancelFlag::new();
    let vm = vm_with(&cancel);
    step(&vm, "big = {} for i = 1, 200000 do big[i] = i end");
    cancel.cancel();
    let big: Value = vm.lua().globals().raw_get("big").unwrap();
    assert!(runvil_lua::to_json(vm.lua(), &big, "big").is_err());
}
