//! What a write, an append and a listing cost on a real directory.

use divan::{Bencher, counter::ItemsCount};
use runvil_vfs::{Backend, Glob};
use runvil_vfs_dir::DirBackend;
use tempfile::TempDir;

fn main() {
    divan::main();
}

fn temp() -> (TempDir, DirBackend) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let backend = DirBackend::new(root.path());
    (root, backend)
}

#[divan::bench]
fn write_small(bencher: Bencher<'_, '_>) {
    let (_root, backend) = temp();
    let backend = backend.without_sync();
    bencher.bench(|| backend.write("d/a.md", b"text".to_vec()).expect("a write"));
}

#[divan::bench]
fn write_small_synced(bencher: Bencher<'_, '_>) {
    let (_root, backend) = temp();
    bencher.bench(|| backend.write("d/a.md", b"text".to_vec()).expect("a write"));
}

/// An append rewrites the file, so that it too is all or nothing.
#[divan::bench(args = [1_000, 1_000_000])]
fn append_to_a_file_of_bytes(bencher: Bencher<'_, '_>, size: usize) {
    let (_root, backend) = temp();
    let backend = backend.without_sync();
    bencher
        .with_inputs(|| backend.write("log", vec![b'x'; size]).expect("a write"))
        .bench_values(|()| backend.append("log", b"line\n").expect("an append"));
}

#[divan::bench(args = [1_000, 10_000])]
fn glob_everything(bencher: Bencher<'_, '_>, files: u32) {
    let (_root, backend) = temp();
    let backend = backend.without_sync();
    for file in 0..files {
        backend
            .write(&format!("d{}/f{file}.md", file % 100), b"text".to_vec())
            .expect("a write");
    }
    let glob = Glob::parse("**").expect("a valid pattern");
    bencher
        .counter(ItemsCount::new(files))
        .bench(|| backend.list("", &glob).expect("a listing"));
}
