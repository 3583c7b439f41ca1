//! What a section entry, a suspending call and a loop cost, each beside what bare Lua needs for the like.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench that cannot set itself up fails"
)]

use divan::Bencher;
use mlua::{Function, Lua, LuaOptions, MultiValue, StdLib};
use runvil_lua::{BlockStep, CancelFlag, Chunk, Helper, Resume, Vm, VmConfig};

fn main() {
    divan::main();
}

fn config() -> VmConfig {
    VmConfig {
        seed: [7; 32],
        memory_bytes: 64 * 1024 * 1024,
        cancel: CancelFlag::new(),
    }
}

fn bare() -> Lua {
    Lua::new_with(StdLib::STRING | StdLib::TABLE | StdLib::MATH, LuaOptions::new()).unwrap()
}

fn chunk(source: &str) -> Chunk {
    Chunk::compile(source, "section `Main` prologue", 10).unwrap()
}

fn run(vm: &Vm, chunk: &Chunk) -> MultiValue {
    let mut block = vm.start(chunk).unwrap();
    match vm.resume(&mut block, Resume::Start) {
        BlockStep::Returned(values) => values,
        other => unreachable!("the block returns: {other:?}"),
    }
}

mod entry {
    use super::*;

    #[divan::bench]
    fn bare_lua() {
        drop(divan::black_box(bare()));
    }

    #[divan::bench]
    fn section_vm(bencher: Bencher<'_, '_>) {
        let (config, chunk) = (config(), chunk("return 1"));
        bencher.bench_local(|| {
            let vm = Vm::new(&config).unwrap();
            divan::black_box(run(&vm, &chunk));
        });
    }

    #[divan::bench]
    fn section_vm_alone(bencher: Bencher<'_, '_>) {
        let config = config();
        bencher.bench_local(|| drop(divan::black_box(Vm::new(&config).unwrap())));
    }
}

mod suspending {
    use super::*;

    static SUSPEND: Helper = Helper::new("runvil/bench.lua", "return suspend");

    #[divan::bench]
    fn one_wait_inside_pcall(bencher: Bencher<'_, '_>) {
        let vm = Vm::new(&config()).unwrap();
        let suspend = vm.load_helper(&SUSPEND, ()).unwrap().pop_front();
        vm.lua().globals().raw_set("suspend", suspend).unwrap();
        let mut block = vm.start(&chunk("while true do pcall(suspend, 1) end")).unwrap();
        vm.resume(&mut block, Resume::Start);
        bencher.bench_local(|| vm.resume(&mut block, Resume::Values(MultiValue::new())));
    }
}

/// Loops: a tight one, one that calls what the sandbox replaces, one that moves table elements.
mod running {
    use super::*;

    const LOOPS: [(&str, &str); 3] = [
        ("tight", "local n = 0 for i = 1, 5000000 do n = n + i % 7 end return n"),
        (
            "calls",
            "local n = 0 for i = 1, 100000 do
              n = n + #tostring(i) + #string.format('%d', i) + select('#', pcall(type, i)) + ('key=value'):find('=(%w+)')
            end return n",
        ),
        (
            "tables",
            "local t = {} for i = 1, 30000 do table.insert(t, 1 + i * 7 % (#t + 1) // 500 * 500, i) end
            table.sort(t) for i = 1, 30000 do table.remove(t) end return #t",
        ),
    ];

    fn source(name: &str) -> &'static str {
        LOOPS.iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[divan::bench(args = ["tight", "calls", "tables"], sample_count = 20)]
    fn bare_lua(bencher: Bencher<'_, '_>, name: &str) {
        let lua = bare();
        let function: Function = lua.load(source(name)).into_function().unwrap();
        bencher.bench_local(|| function.call::<MultiValue>(()).unwrap());
    }

    #[divan::bench(args = ["tight", "calls", "tables"], sample_count = 20)]
    fn section_vm(bencher: Bencher<'_, '_>, name: &str) {
        let vm = Vm::new(&config()).unwrap();
        let chunk = chunk(source(name));
        bencher.bench_local(|| run(&vm, &chunk));
    }
}
