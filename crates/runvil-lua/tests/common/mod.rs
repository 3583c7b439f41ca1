//! What the tests of this crate share.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test binary uses its part, and a test that cannot set itself up fails"
)]

use mlua::{MultiValue, Value};
use runvil_lua::{BlockFailure, BlockStep, CancelFlag, Chunk, Resume, Vm, VmConfig};

pub(crate) const MEMORY: usize = 64 * 1024 * 1024;

pub(crate) fn config() -> VmConfig {
    VmConfig {
        seed: [7; 32],
        memory_bytes: MEMORY,
        cancel: CancelFlag::new(),
    }
}

pub(crate) fn vm() -> Vm {
    Vm::new(&config()).unwrap()
}

/// Runs a block to its end and shows what it returned.
pub(crate) fn run(source: &str) -> Vec<String> {
    run_in(&vm(), source)
}

pub(crate) fn run_in(vm: &Vm, source: &str) -> Vec<String> {
    returned(step(vm, source))
}

pub(crate) fn step(vm: &Vm, source: &str) -> BlockStep {
    let chunk = Chunk::compile(source, "section `Main` prologue", 10).unwrap();
    let mut block = vm.start(&chunk).unwrap();
    vm.resume(&mut block, Resume::Start)
}

pub(crate) fn returned(step: BlockStep) -> Vec<String> {
    match step {
        BlockStep::Returned(values) => texts(&values),
        other => panic!("not returned: {other:?}"),
    }
}

pub(crate) fn request(step: BlockStep) -> Vec<String> {
    match step {
        BlockStep::Request(values) => texts(&values),
        other => panic!("not a request: {other:?}"),
    }
}

pub(crate) fn failed(step: BlockStep) -> BlockFailure {
    match step {
        BlockStep::Failed(failure) => failure,
        other => panic!("not failed: {other:?}"),
    }
}

pub(crate) fn runtime_message(step: BlockStep) -> String {
    match failed(step) {
        BlockFailure::Runtime { message } => message,
        other => panic!("not a runtime error: {other:?}"),
    }
}

fn texts(values: &MultiValue) -> Vec<String> {
    values.iter().map(text).collect()
}

pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string_lossy(),
        Value::Table(_) => "table".to_owned(),
        other => other.to_string().unwrap(),
    }
}
