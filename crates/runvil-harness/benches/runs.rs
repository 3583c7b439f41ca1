//! What the Harness adds to a run: preparing it, and carrying effects out and answers back.

use divan::{Bencher, counter::ItemsCount};
use runvil_engine::RunOutcome;
use runvil_harness::{Host, Launch, RunReport};
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

fn prompt(lua: &str) -> String {
    format!(
        "---\nname: b\ndescription: d\nrunvil: 0\n---\n# B\n## A\n```lua\n{lua}\n```\n## Arm\n```lua\nstore.write(item .. '.md', 'x')\n```\n"
    )
}

fn run(runtime: &Runtime, host: &Host, source: &str) -> RunReport {
    let report = runtime.block_on(host.run(Launch::new(source, "bench"), &mut ()));
    assert!(
        matches!(report.outcome, RunOutcome::Completed { .. }),
        "{:?}",
        report.outcome
    );
    report
}

fn bench(bencher: Bencher<'_, '_>, lua: &str, items: u32) {
    let runtime = Runtime::new().expect("a runtime");
    let host = Host::builder().build().expect("a Host");
    let source = prompt(lua);
    bencher
        .counter(ItemsCount::new(items))
        .bench(|| run(&runtime, &host, &source));
}

/// A run that asks for nothing.
#[divan::bench]
fn literal_result(bencher: Bencher<'_, '_>) {
    bench(bencher, "return 'hello'", 1);
}

/// One chain that writes one file after the other.
#[divan::bench(args = [100, 1_000])]
fn writes_in_a_row(bencher: Bencher<'_, '_>, writes: u32) {
    bench(
        bencher,
        &format!("for i = 1, {writes} do store.write(i .. '.md', 'x') end return 'done'"),
        writes,
    );
}

/// Arms that write a file each, eight at a time.
#[divan::bench(args = [100, 1_000])]
fn arms_that_write(bencher: Bencher<'_, '_>, arms: u32) {
    let lua = format!("local l = {{}} for i = 1, {arms} do l[i] = i end tasks.fanout('## Arm', l) return 'done'");
    bench(bencher, &lua, arms);
}
