//! Both backends hold one contract: the same calls on each give the same outcomes and leave the same files.

use proptest::prelude::*;
use runvil_vfs::{Backend, BackendFailure, Glob, MemoryBackend};
use runvil_vfs_dir::DirBackend;

#[derive(Debug, Clone)]
enum Call {
    Read(String),
    Write(String, Vec<u8>),
    Append(String, Vec<u8>),
    Delete(String),
    Exists(String),
    List(String, String),
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Bytes(Vec<u8>),
    Exists(bool),
    Paths(Vec<String>),
}

fn perform(backend: &impl Backend, call: &Call) -> Result<Outcome, BackendFailure> {
    match call {
        Call::Read(path) => backend.read(path).map(Outcome::Bytes),
        Call::Write(path, contents) => backend.write(path, contents.clone()).map(|()| Outcome::Done),
        Call::Append(path, contents) => backend.append(path, contents).map(|()| Outcome::Done),
        Call::Delete(path) => backend.delete(path).map(|()| Outcome::Done),
        Call::Exists(path) => backend.exists(path).map(Outcome::Exists),
        Call::List(base, pattern) => {
            let mut paths = backend.list(base, &Glob::parse(pattern).expect("a valid pattern"))?;
            paths.sort();
            Ok(Outcome::Paths(paths))
        }
    }
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let path = || "[ab](/[ab]){0,3}";
    let contents = || prop::collection::vec(any::<u8>(), 0..12);
    let pattern = prop::sample::select(vec![
        "*", "**", "*/", "**/", "a/*", "a/*/", "a/**", "a/**/", "**/b", "a/**/b/", "*/a", "b", "a/b", "a/", "a*/*",
    ]);
    let base = prop::sample::select(vec!["", "", "a", "a/b", "b"]);
    let call = prop_oneof![
        path().prop_map(Call::Read),
        (path(), contents()).prop_map(|(path, contents)| Call::Write(path, contents)),
        (path(), contents()).prop_map(|(path, contents)| Call::Append(path, contents)),
        path().prop_map(Call::Delete),
        path().prop_map(Call::Exists),
        (base, pattern).prop_map(|(base, pattern)| Call::List(base.to_owned(), pattern.to_owned())),
    ];
    prop::collection::vec(call, 1..40)
}

proptest! {
    // Each case makes real files, so fewer than usual.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_directory_behaves_as_memory_does(calls in calls()) {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (directory, memory) = (DirBackend::new(root.path().join("store")).without_sync(), MemoryBackend::new());
        for call in &calls {
            prop_assert_eq!(perform(&directory, call), perform(&memory, call), "{:?}", call);
        }
    }
}
