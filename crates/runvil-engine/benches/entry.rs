//! What a section entry and a fanout arm cost, beside a bare Lua VM with the same libraries.
//!
//! Each bench does a thousand: the rows compare as they stand.

use std::{collections::BTreeMap, fmt::Write as _, hint::black_box, sync::Arc};

use runvil_engine::{Limits, PackSnapshot, Run, RunFacts, RunOutcome, RunSetup, StoreAccess, prompt::Prompt};
use runvil_lua::mlua::{Lua, LuaOptions, StdLib};
use runvil_vfs::{Identity, StoreFailure};

fn main() {
    divan::main();
}

const COUNT: usize = 1_000;

/// A store that is never used.
struct NoFiles;

impl StoreAccess for NoFiles {
    fn open(&mut self, _: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }

    fn fork(&mut self, _: &Identity) -> Result<(), StoreFailure> {
        Ok(())
    }
}

fn prompt(body: &str) -> Arc<Prompt> {
    let source = format!("---\nname: bench\ndescription: d\nrunvil: 0\n---\n# T\n\n{body}");
    Arc::new(
        Prompt::parse(source.as_bytes(), "bench")
            .result
            .expect("the bench's prompt parses"),
    )
}

/// Runs a prompt that asks for nothing to its end.
fn run(prompt: &Arc<Prompt>) {
    let setup = RunSetup {
        prompt: Arc::clone(prompt),
        facts: RunFacts {
            name: "bench".to_owned(),
            seed: [0; 32],
            started_at: 0,
            args: String::new(),
            limits: Limits::default(),
            ui: None,
            debug: false,
        },
        packs: PackSnapshot::default(),
        roles: BTreeMap::new(),
        store: Some(Box::new(NoFiles)),
    };
    let step = Run::new(setup).expect("the bench's prompt has a version").step();
    assert!(
        matches!(step.outcome, Some(RunOutcome::Completed { .. })),
        "{:?}",
        step.outcome
    );
    black_box(step);
}

/// Makes a VM, runs a one-line block in it, and drops it.
#[divan::bench(sample_count = 20)]
fn a_bare_vms(bencher: divan::Bencher<'_, '_>) {
    bencher.bench_local(|| {
        for _ in 0..COUNT {
            let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
            let lua = Lua::new_with(libraries, LuaOptions::default()).expect("a bare VM");
            lua.load("local x = 1").exec().expect("a one-line block");
            black_box(&lua);
        }
    });
}

/// Enters a section, runs its one-line block, and leaves it.
#[divan::bench(sample_count = 20)]
fn b_section_entries(bencher: divan::Bencher<'_, '_>) {
    let mut body = String::new();
    for place in 0..COUNT {
        write!(body, "## S{place}\n\n```lua\nlocal x = 1\n```\n\n").expect("text is written to memory");
    }
    let prompt = prompt(&body);
    bencher.bench_local(|| run(&prompt));
}

/// Runs arms that return their item.
#[divan::bench(sample_count = 20)]
fn c_arms(bencher: divan::Bencher<'_, '_>) {
    let body = format!(
        "## A\n\n```lua\nlocal items = {{}}\nfor i = 1, {COUNT} do items[i] = i end\n\
         return #tasks.fanout('### Worker', items)\n```\n\n### Worker\n\n```lua\nreturn item\n```\n"
    );
    let prompt = prompt(&body);
    bencher.bench_local(|| run(&prompt));
}

/// Spawns ten times as many tasks, all queued under the concurrency, and joins them.
#[divan::bench(sample_count = 3)]
fn d_ten_thousand_queued_tasks(bencher: divan::Bencher<'_, '_>) {
    let body = format!(
        "## A\n\n```lua\nlocal set = {{}}\nfor i = 1, {COUNT}0 do set[i] = tasks.spawn('### Worker') end\n\
         return #tasks.join(set)\n```\n\n### Worker\n\n```lua\nreturn 'x'\n```\n"
    );
    let prompt = prompt(&body);
    bencher.bench_local(|| run(&prompt));
}
