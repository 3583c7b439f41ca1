//! How fast a record repeats its run, and how fast a list of many runs opens.

mod place;

use divan::{Bencher, counter::ItemsCount};
use runvil_engine::{Recorder as _, RunStart};
use runvil_harness::{Recorded, replay};
use runvil_record::{Database, HostFacts, RunFilter};

use place::Place;

fn main() {
    divan::main();
}

/// A replay of 10,000 effects.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn replay_10000(bencher: Bencher<'_, '_>) {
    let place = Place::new();
    let lua = "models.use('m') for i = 1, 3000 do models.infer('round ' .. i) store.read('a.md') end for i = 1, 3999 do \
               store.exists(i .. '.md') end return 'done'";
    let (id, _) = place.run(&format!("store.write('a.md', 'x') {lua}"), true);
    let id = id.expect("a recorded run");
    let run = place.database.run(id).expect("a run");
    let recorded = Recorded {
        start: run.start,
        source: run.source,
        parse_events: place.database.parse_events(id).expect("events"),
        prepared: run.prepared,
        outcome: run.outcome,
    };
    bencher.counter(ItemsCount::new(10_000_u32)).bench_local(|| {
        let mut history = place.database.history(id).expect("a history");
        let replayed = replay(&recorded, &recorded.source, &mut history).expect("replayed");
        assert_eq!((replayed.effects, replayed.divergence), (10_000, None));
    });
}

/// The first page and a later one of 100,000 runs.
#[divan::bench(args = [false, true], sample_count = 20)]
fn page_of_100000_runs(bencher: Bencher<'_, '_>, later: bool) {
    let database = Database::in_memory().expect("a database");
    let start: RunStart = start();
    for _ in 0..100_000 {
        let writer = database.record(HostFacts::default()).expect("a record");
        writer.started(&start, b"").expect("kept");
    }
    let filter = RunFilter::default();
    let after = later
        .then(|| database.runs(&filter, None, 50_000).expect("a page").next)
        .flatten();
    bencher.bench_local(|| {
        let page = database.runs(&filter, after.as_ref(), 50).expect("a page");
        assert_eq!(page.runs.len(), 50);
    });
}

/// What a run starts from.
fn start() -> RunStart {
    let place = Place::new();
    let (id, _) = place.run("return 'x'", true);
    place.database.run(id.expect("a recorded run")).expect("a run").start
}
