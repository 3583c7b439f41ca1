//! What claims cost beside the writes they guard, how a listing grows, and what a large read costs.

use divan::{Bencher, counter::ItemsCount};
use runvil_vfs::{Backend, Identity, LineBounds, MemoryBackend, Session, Store, StoreOp};

fn main() {
    divan::main();
}

fn write(path: String) -> StoreOp {
    StoreOp::Write {
        path,
        contents: "text".to_owned(),
    }
}

fn glob(pattern: &str) -> StoreOp {
    StoreOp::Glob {
        pattern: pattern.to_owned(),
    }
}

/// Each task writes its own file in one directory; then all are joined and the directory is listed.
#[divan::bench(args = [1_000, 10_000, 100_000])]
fn tasks_write_then_one_glob(bencher: Bencher<'_, '_>, tasks: u32) {
    bencher
        .counter(ItemsCount::new(tasks))
        .with_inputs(|| Store::memory().session())
        .bench_refs(|session| {
            let mut owner = Identity::root("0");
            let children: Vec<Identity> = (0..tasks).map(|task| owner.fork(format!("0.{task}"))).collect();
            for (task, child) in children.iter().enumerate() {
                session
                    .perform(child, write(format!("research/{task}.md")))
                    .expect("each task has its own file");
            }
            children.iter().for_each(|child| owner.join(child));
            session
                .perform(&owner, glob("research/*.md"))
                .expect("every task is joined")
        });
}

/// The same files and the same listing on the bare backend.
#[divan::bench(args = [1_000, 10_000, 100_000])]
fn the_same_without_claims(bencher: Bencher<'_, '_>, files: u32) {
    bencher
        .counter(ItemsCount::new(files))
        .with_inputs(MemoryBackend::new)
        .bench_refs(|backend| {
            for file in 0..files {
                backend
                    .write(&format!("research/{file}.md"), b"text".to_vec())
                    .expect("a write in memory");
            }
            let glob = runvil_vfs::Glob::parse("research/*.md").expect("a valid pattern");
            let mut paths = backend.list("", &glob).expect("a listing in memory");
            paths.sort();
            paths
        });
}

fn filled(files: u32) -> Session {
    let store = Store::memory();
    for file in 0..files {
        store
            .put(format!("d{}/f{file}.md", file % 100), "text")
            .expect("a seed");
    }
    store.session()
}

#[divan::bench(args = [1_000, 10_000, 100_000])]
fn glob_everything(bencher: Bencher<'_, '_>, files: u32) {
    let session = filled(files);
    let who = Identity::root("0");
    bencher
        .counter(ItemsCount::new(files))
        .bench(|| session.perform(&who, glob("**")).expect("a listing"));
}

#[divan::bench(args = [1_000, 10_000, 100_000])]
fn glob_one_directory_of_a_hundred(bencher: Bencher<'_, '_>, files: u32) {
    let session = filled(files);
    let who = Identity::root("0");
    bencher
        .counter(ItemsCount::new(files / 100))
        .bench(|| session.perform(&who, glob("d7/*.md")).expect("a listing"));
}

#[divan::bench]
fn read_ten_mebibytes(bencher: Bencher<'_, '_>) {
    let store = Store::memory();
    store.put("large", "x".repeat(10 << 20)).expect("a seed");
    let session = store.session();
    let who = Identity::root("0");
    let read = || StoreOp::Read {
        path: "large".to_owned(),
        lines: LineBounds::WHOLE,
    };
    bencher.bench(|| session.perform(&who, read()).expect("a read"));
}

/// Tool calls of one chain, each joined before the next, append to one file.
#[divan::bench(args = [1_000, 10_000])]
fn joined_calls_write_one_file(bencher: Bencher<'_, '_>, calls: u32) {
    bencher
        .counter(ItemsCount::new(calls))
        .with_inputs(|| Store::memory().session())
        .bench_refs(|session| {
            let mut owner = Identity::root("0");
            for call in 0..calls {
                let child = owner.fork(format!("0.{call}"));
                session
                    .perform(&child, write("log.txt".to_owned()))
                    .expect("each call is joined");
                owner.join(&child);
            }
        });
}
