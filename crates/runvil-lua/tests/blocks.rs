//! Blocks as coroutines: what they ask for, what they are answered, and how they fail.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up fails"
)]

mod common;

use std::sync::Arc;

use common::{failed, request, returned, runtime_message, vm};
use mlua::{IntoLuaMulti, MultiValue, Value};
use runvil_lua::{BlockFailure, BlockStep, Build, Chunk, CompileError, Failure, FieldValue, Helper, Resume};

static SUSPEND: Helper = Helper::new("runvil/test.lua", "return suspend, fail");

fn with_kit(vm: &runvil_lua::Vm) {
    let mut values = vm.load_helper(&SUSPEND, ()).unwrap();
    vm.lua().globals().raw_set("suspend", values.pop_front()).unwrap();
    vm.lua().globals().raw_set("fail", values.pop_front()).unwrap();
}

fn chunk(source: &str) -> Chunk {
    Chunk::compile(source, "section `Dock` prologue", 12).unwrap()
}

#[test]
fn a_compile_error_keeps_the_compilers_text() {
    let error = Chunk::compile("local = 5", "section `Dock` prologue", 14).unwrap_err();
    assert_eq!(
        error,
        CompileError::Diagnostic("[string \"line 14\"]:1: <name> expected near '='".to_owned())
    );
}

#[test]
fn a_block_that_nests_too_deeply_is_a_compile_error_of_its_own() {
    let source = format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let error = Chunk::compile(&source, "section `Dock` prologue", 14).unwrap_err();
    assert_eq!(
        error,
        CompileError::Diagnostic("[string \"line 14\"]:1: C stack overflow".to_owned())
    );
}

#[test]
fn a_block_returns_its_values() {
    let vm = vm();
    let mut block = vm.start(&chunk("return 1, 'x', nil")).unwrap();
    assert_eq!(returned(vm.resume(&mut block, Resume::Start)), ["1", "x", "nil"]);
}

#[test]
fn a_request_carries_its_arguments_and_the_answer_is_returned() {
    let vm = vm();
    with_kit(&vm);
    let mut block = vm
        .start(&chunk("local a, b = suspend('read', 7) return a .. b"))
        .unwrap();
    assert_eq!(request(vm.resume(&mut block, Resume::Start)), ["read", "7"]);
    let answer = ("x", "y").into_lua_multi(vm.lua()).unwrap();
    assert_eq!(returned(vm.resume(&mut block, Resume::Values(answer))), ["xy"]);
}

#[test]
fn a_suspending_call_waits_inside_pcall() {
    let vm = vm();
    with_kit(&vm);
    let mut block = vm.start(&chunk("return pcall(suspend, 'read')")).unwrap();
    request(vm.resume(&mut block, Resume::Start));
    assert_eq!(
        returned(vm.resume(&mut block, Resume::Values(MultiValue::new()))),
        ["true"]
    );
}

#[test]
fn an_answer_that_fails_is_raised_as_an_error_value() {
    let vm = vm();
    with_kit(&vm);
    let source = "local ok, e = pcall(suspend, 'read')
        return ok, type(e), e.kind, e.reason, e.count, tostring(e), 'a ' .. e .. ' b'";
    let mut block = vm.start(&chunk(source)).unwrap();
    request(vm.resume(&mut block, Resume::Start));
    let failure = Failure::new("store", "gone")
        .with_field("reason", "not_found")
        .with_field("count", 2);
    assert_eq!(
        returned(vm.resume(&mut block, Resume::Raise(failure))),
        ["false", "table", "store", "not_found", "2", "gone", "a gone b"]
    );
}

#[test]
fn an_uncaught_failure_gives_its_origin_back() {
    let vm = vm();
    with_kit(&vm);
    let mut block = vm.start(&chunk("suspend('read')")).unwrap();
    request(vm.resume(&mut block, Resume::Start));
    let failure = Failure::new("store", "gone").with_origin(Arc::new(41_u8));
    let BlockFailure::Raised { failure, located } = failed(vm.resume(&mut block, Resume::Raise(failure))) else {
        panic!("not raised");
    };
    assert_eq!(failure.origin.unwrap().downcast_ref::<u8>(), Some(&41));
    assert!(
        located.starts_with("section `Dock` prologue:12: runtime error: gone\nstack traceback:"),
        "{located}"
    );
}

#[test]
fn a_value_raised_again_at_once_gives_its_origin_back_and_later_is_rebuilt() {
    let vm = vm();
    with_kit(&vm);
    let source = "local _, e = pcall(suspend) if again then suspend() end local _, e = pcall(error, e) error(e)";
    for again in [false, true] {
        vm.lua().globals().raw_set("again", again).unwrap();
        let mut block = vm.start(&chunk(source)).unwrap();
        request(vm.resume(&mut block, Resume::Start));
        let failure = Failure::new("tool", "broke")
            .with_field("task", "0.1")
            .with_origin(Arc::new(()));
        let mut step = vm.resume(&mut block, Resume::Raise(failure));
        if again {
            request(step);
            step = vm.resume(&mut block, Resume::Values(MultiValue::new()));
        }
        match failed(step) {
            BlockFailure::Raised { failure, .. } => assert!(!again && failure.origin.is_some()),
            BlockFailure::Rebuilt { failure, .. } => {
                assert!(again && failure.origin.is_none());
                assert_eq!(failure.kind, "tool");
                assert_eq!(failure.fields, [("task".into(), FieldValue::Str("0.1".into()))]);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_failure_built_in_lua_is_known_until_the_next_suspending_call() {
    let vm = vm();
    with_kit(&vm);
    let source = "local _, e = pcall(fail, 'tasks_live', 'still live', { tasks = '0.1' })
        e.tasks = 'changed' error(e)";
    let mut block = vm.start(&chunk(source)).unwrap();
    let BlockFailure::Raised { failure, .. } = failed(vm.resume(&mut block, Resume::Start)) else {
        panic!("not raised");
    };
    assert_eq!(failure.kind, "tasks_live");
    assert_eq!(failure.message, "still live");
    assert_eq!(failure.fields, [("tasks".into(), FieldValue::Str("0.1".into()))]);
}

#[test]
fn a_native_failure_is_caught_as_an_error_value_with_its_message_alone() {
    let vm = vm();
    let lua = vm.lua();
    let refuse = lua.create_function(|_, ()| -> mlua::Result<()> { Err(Failure::new("store", "no room").into()) });
    lua.globals().raw_set("refuse", refuse.unwrap()).unwrap();
    let guard = lua.create_function(|_, ()| -> mlua::Result<()> { Err(mlua::Error::runtime("sealed")) });
    lua.globals().raw_set("guard", guard.unwrap()).unwrap();
    let source = "local _, a = pcall(refuse) local _, b = pcall(guard)
        return a.kind, tostring(a), b.kind, tostring(b), getmetatable(a) == getmetatable(b)";
    let mut block = vm.start(&chunk(source)).unwrap();
    assert_eq!(
        returned(vm.resume(&mut block, Resume::Start)),
        ["store", "no room", "lua", "runtime error: sealed", "true"]
    );
}

#[test]
fn a_raised_value_of_the_authors_own_comes_back_unchanged() {
    let vm = vm();
    let source = "local t = {} local _, a = pcall(error, t) local _, b = pcall(error, nil) local _, c = pcall(error)
        local _, d = pcall(error, false) local _, e = pcall(assert, nil, nil)
        local _, f = xpcall(error, function(v) return type(v) end, nil)
        return a == t, b, c, d, e, f, select('#', pcall(error, nil)), select(2, pcall(error, 'plain'))";
    let mut block = vm.start(&chunk(source)).unwrap();
    assert_eq!(
        returned(vm.resume(&mut block, Resume::Start)),
        ["true", "nil", "nil", "false", "nil", "nil", "2", "plain"]
    );
}

#[test]
fn xpcall_hands_the_handler_the_error_value() {
    let vm = vm();
    with_kit(&vm);
    let source = "return xpcall(fail, function(e) return e.kind .. ':' .. e end, 'tool', 'broke')";
    let mut block = vm.start(&chunk(source)).unwrap();
    assert_eq!(returned(vm.resume(&mut block, Resume::Start)), ["false", "tool:broke"]);
}

#[test]
fn a_runtime_error_names_its_place_twice_and_carries_the_mapped_traceback() {
    let vm = vm();
    let mut block = vm
        .start(&chunk(
            "local a = 1\nlocal function boom()\n  error('wrong')\nend\nboom()",
        ))
        .unwrap();
    let message = runtime_message(vm.resume(&mut block, Resume::Start));
    assert!(
        message.starts_with(
            "section `Dock` prologue:14: runtime error: section `Dock` prologue:14: wrong\nstack traceback:\n"
        ),
        "{message}"
    );
    assert!(
        message.contains("section `Dock` prologue:14: in local 'boom'"),
        "{message}"
    );
    assert!(
        message.contains("section `Dock` prologue:16: in main chunk"),
        "{message}"
    );
    assert!(!message.contains("[string"), "{message}");
}

#[test]
fn a_library_maps_to_its_own_lines() {
    let vm = vm();
    let library = Chunk::compile("function boom()\n error('deep') end", "section `lib` prologue", 50).unwrap();
    let load = vm.load(&library).unwrap();
    vm.lua().globals().raw_set("load_lib", load).unwrap();
    let mut block = vm.start(&chunk("load_lib()\nboom()\nreturn 1")).unwrap();
    let message = runtime_message(vm.resume(&mut block, Resume::Start));
    assert!(
        message.starts_with("section `lib` prologue:51: runtime error: section `lib` prologue:51: deep\n"),
        "{message}"
    );
    assert!(
        message.contains("section `Dock` prologue:13: in main chunk"),
        "{message}"
    );
}

#[test]
fn a_lua_error_value_that_leaves_its_block_keeps_message_and_place() {
    let vm = vm();
    let guard = vm
        .lua()
        .create_function(|_, ()| -> mlua::Result<()> { Err(mlua::Error::runtime("sealed")) });
    vm.lua().globals().raw_set("guard", guard.unwrap()).unwrap();
    for source in ["guard()", "local _, e = pcall(guard) error(e)"] {
        let mut block = vm.start(&chunk(source)).unwrap();
        let message = runtime_message(vm.resume(&mut block, Resume::Start));
        assert!(
            message.starts_with("section `Dock` prologue:12: runtime error: sealed\n"),
            "{message}"
        );
    }
}

#[test]
fn a_table_of_the_authors_own_is_a_runtime_error() {
    let vm = vm();
    let mut block = vm.start(&chunk("error({ kind = 'tool', message = 'x' })")).unwrap();
    let message = runtime_message(vm.resume(&mut block, Resume::Start));
    assert!(message.contains("(error object is a table value)"), "{message}");
}

#[test]
fn values_given_to_a_fresh_block_are_its_arguments() {
    let vm = vm();
    let mut block = vm.start(&chunk("return ...")).unwrap();
    let arguments = MultiValue::from_iter([Value::Integer(3), Value::Boolean(true)]);
    assert_eq!(
        returned(vm.resume(&mut block, Resume::Values(arguments))),
        ["3", "true"]
    );
}

#[test]
fn a_finished_block_cannot_be_resumed() {
    let vm = vm();
    let mut block = vm.start(&chunk("return 1")).unwrap();
    returned(vm.resume(&mut block, Resume::Start));
    assert!(matches!(vm.resume(&mut block, Resume::Start), BlockStep::Failed(_)));
}

#[test]
fn a_variable_to_close_sees_the_error_value() {
    let vm = vm();
    let refuse = vm.lua().create_function(|_, ()| -> mlua::Result<()> {
        Err(Failure::new("store", "no room").with_field("path", "a.txt").into())
    });
    vm.lua().globals().raw_set("refuse", refuse.unwrap()).unwrap();
    let source = "local seen
        local _, e = pcall(function()
          local x <close> = setmetatable({}, { __close = function(_, e) seen = { e.kind, e.path, tostring(e), 'a ' .. e, e .. ' b' } end })
          refuse()
        end)
        return e.kind, table.unpack(seen)";
    let mut block = vm.start(&chunk(source)).unwrap();
    assert_eq!(
        returned(vm.resume(&mut block, Resume::Start)),
        ["store", "store", "a.txt", "no room", "a no room", "no room b"]
    );
}

#[test]
fn a_memory_error_while_an_answer_is_built_is_raised_in_the_block() {
    let vm = vm();
    with_kit(&vm);
    let mut block = vm
        .start(&chunk("local ok, e = pcall(suspend) return ok, e.kind, e.message"))
        .unwrap();
    request(vm.resume(&mut block, Resume::Start));
    let build = Build::new(|_| Err(mlua::Error::MemoryError("not enough memory".to_owned())));
    assert_eq!(
        returned(vm.resume(&mut block, Resume::Build(build))),
        ["false", "lua", "memory error: not enough memory"]
    );
}

#[test]
fn many_caught_failures_do_not_pile_up() {
    let vm = vm();
    let refuse = vm
        .lua()
        .create_function(|_, ()| -> mlua::Result<()> { Err(Failure::new("store", "no").into()) });
    vm.lua().globals().raw_set("refuse", refuse.unwrap()).unwrap();
    let source = "for i = 1, 100000 do pcall(refuse) end return 'done'";
    let mut block = vm.start(&chunk(source)).unwrap();
    assert_eq!(returned(vm.resume(&mut block, Resume::Start)), ["done"]);
    assert!(vm.lua().used_memory() < 16 * 1024 * 1024);
}

#[test]
fn global_is_a_contextual_keyword() {
    for source in [
        "local global = 1",
        "global declared",
        "global <const> *",
        "local store, pairs = 1, 2",
    ] {
        Chunk::compile(source, "section `Dock` prologue", 1).unwrap();
    }
    for keyword in ["local goto = 1", "local until = 1"] {
        Chunk::compile(keyword, "section `Dock` prologue", 1).unwrap_err();
    }
}
