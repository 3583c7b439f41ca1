//! Mounts and claims that a run shares: with its tool calls, and with other runs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]

mod common;

use common::{exists, glob, read, reason, reply, root, write};
use runvil_vfs::{
    Backend, ClaimKind, MemoryBackend, Mount, Mounts, Session, Store, StoreFailure, StoreOp, StoreReason, StoreReply,
};

/// A store at `/my/store` beside files at `/`.
fn mounted() -> (Mounts, Store) {
    let files = MemoryBackend::new();
    files.write("my/notes.txt", b"beside".to_vec()).unwrap();
    let mounts = Mounts::new([
        Mount::new("/", files).unwrap(),
        Mount::new("/my/store", MemoryBackend::new()).unwrap(),
    ])
    .unwrap();
    let store = Store::new(mounts.clone(), "/my/store").unwrap();
    (mounts, store)
}

fn conflict_of(session: &Session, op: StoreOp) -> (String, ClaimKind) {
    match session.perform(&root(), op).unwrap_err() {
        StoreFailure::Conflict { path, other_claim, .. } => (path, other_claim),
        other => panic!("{other}"),
    }
}

#[test]
fn a_store_sees_its_own_mount_alone() {
    let outer = MemoryBackend::new();
    let secret = MemoryBackend::new();
    secret.write("secret.txt", b"secret".to_vec()).unwrap();
    let mounts = Mounts::new([Mount::new("/", outer).unwrap(), Mount::new("/mount", secret).unwrap()]).unwrap();
    let session = Store::new(mounts, "/").unwrap().session();
    assert_eq!(
        session
            .perform(&root(), read("mount/secret.txt"))
            .unwrap_err()
            .to_string(),
        "file not found in store: mount/secret.txt"
    );
    assert_eq!(session.perform(&root(), glob("**")), Ok(StoreReply::Paths(vec![])));
}

#[test]
fn a_store_below_its_mount_spells_paths_from_its_own_root() {
    let mounts = Mounts::new([Mount::new("/", MemoryBackend::new()).unwrap()]).unwrap();
    let store = Store::new(mounts, "/deep/store").unwrap();
    let session = store.session();
    session.open().unwrap();
    session.perform(&root(), write("d/a", "x")).unwrap();
    assert_eq!(
        session.perform(&root(), glob("**")),
        Ok(StoreReply::Paths(vec!["d/a".into()]))
    );
    assert_eq!(
        session.perform(&root(), write("d/a/b", "x")).unwrap_err().to_string(),
        "not a directory in store: d/a"
    );
    let files = session.files(root());
    assert_eq!(files.perform(read("/deep/store/d/a")), reply("x"));
}

#[test]
fn a_tool_sees_what_the_run_wrote_and_the_run_what_the_tool_wrote() {
    let (_, store) = mounted();
    let session = store.session();
    let mut main = root();
    session.perform(&main, write("before.txt", "from the run")).unwrap();
    let call = main.fork("0.0");
    let files = session.files(call.clone());
    assert_eq!(files.perform(read("before.txt")), reply("from the run"));
    files.perform(write("/my/store/after.txt", "from the tool")).unwrap();
    main.join(&call);
    assert_eq!(session.perform(&main, read("after.txt")), reply("from the tool"));
}

#[test]
fn a_tools_access_and_the_runs_share_one_set_of_claims() {
    let session = Store::memory().session();
    let mut main = root();
    let (one, two) = (main.fork("0.0"), main.fork("0.1"));
    let (first, second) = (session.files(one.clone()), session.files(two));
    first.perform(write("a", "x")).unwrap();
    first.perform(read("a")).unwrap();
    let conflict = second.perform(read("a")).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "store determinism violation: read on a by ExecId(0.1) conflicts with a write claim by ExecId(0.0)"
    );
    assert_eq!(reason(session.perform(&main, read("a"))), StoreReason::Conflict);
    main.join(&one);
    assert_eq!(session.perform(&main, read("a")), reply("x"));
}

#[test]
fn a_tool_reaches_the_files_beside_the_store() {
    let (_, store) = mounted();
    let files = store.session().files(root());
    assert_eq!(files.perform(read("/my/notes.txt")), reply("beside"));
    assert_eq!(
        files.perform(glob("/my/*")),
        Ok(StoreReply::Paths(vec!["/my/notes.txt".into()]))
    );
    files.perform(write("/my/store/d/a", "x")).unwrap();
    assert_eq!(
        files.perform(glob("/my/store/**")),
        Ok(StoreReply::Paths(vec!["/my/store/d/a".into()]))
    );
    assert_eq!(
        files.perform(write("/my/store/d/a/b", "x")).unwrap_err().to_string(),
        "not a directory in store: /my/store/d/a"
    );
    assert_eq!(
        files.perform(read("/my//notes.txt")).unwrap_err().to_string(),
        "invalid path \"/my//notes.txt\": path contains an empty segment"
    );
}

#[test]
fn a_mounts_own_root_takes_no_change() {
    let (_, store) = mounted();
    let files = store.session().files(root());
    for path in ["/my/store", "/"] {
        let failure = files.perform(StoreOp::Delete { path: path.into() }).unwrap_err();
        assert_eq!(failure, StoreFailure::RootProtected { path: path.into() });
    }
}

#[test]
fn an_ended_access_reaches_nothing() {
    let session = Store::memory().session();
    let files = session.files(root());
    files.perform(write("a", "x")).unwrap();
    files.end();
    assert_eq!(reason(files.perform(read("a"))), StoreReason::ScopeEnded);
    assert_eq!(session.perform(&root(), read("a")), reply("x"));
    session.end();
    assert_eq!(reason(session.perform(&root(), read("a"))), StoreReason::ScopeEnded);
}

#[test]
fn two_live_runs_on_one_store_conflict_wherever_one_of_them_writes() {
    let store = Store::memory();
    store.put("shared.md", "seed").unwrap();
    let (a, b) = (store.session(), store.clone().session());
    a.perform(&root(), read("shared.md")).unwrap();
    b.perform(&root(), read("shared.md")).unwrap();
    for number in 0..1000 {
        a.perform(&root(), write(&format!("own/{number}"), "")).unwrap();
    }
    assert_eq!(
        conflict_of(&b, write("shared.md", "b")),
        ("shared.md".to_owned(), ClaimKind::Read)
    );
    assert_eq!(conflict_of(&b, read("own/0")), ("own/0".to_owned(), ClaimKind::Write));
    assert_eq!(conflict_of(&b, exists("own")), ("own".to_owned(), ClaimKind::Write));
    assert_eq!(
        conflict_of(&b, glob("own/*.md")),
        ("own/*.md".to_owned(), ClaimKind::Write)
    );
    assert_eq!(store.text("shared.md"), Ok(Some("seed".to_owned())));
    a.end();
    b.perform(&root(), write("shared.md", "b")).unwrap();
}

#[test]
fn two_live_runs_conflict_on_a_file_beside_their_stores() {
    let files = Mount::new("/", MemoryBackend::new()).unwrap();
    let (own_a, own_b) = (
        Mount::new("/a", MemoryBackend::new()).unwrap(),
        Mount::new("/b", MemoryBackend::new()).unwrap(),
    );
    let mounts = Mounts::new([files, own_a, own_b]).unwrap();
    let a = Store::new(mounts.clone(), "/a").unwrap().session();
    let b = Store::new(mounts, "/b").unwrap().session();
    a.perform(&root(), write("own.md", "a")).unwrap();
    b.perform(&root(), write("own.md", "b")).unwrap();
    a.files(root()).perform(write("/shared.txt", "from a")).unwrap();
    let failure = b.files(root()).perform(write("/shared.txt", "from b")).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "store determinism violation: write on /shared.txt by ExecId(0) conflicts with a write claim by ExecId(0)"
    );
    assert_eq!(a.files(root()).perform(read("/shared.txt")), reply("from a"));
}

#[test]
fn two_default_stores_share_nothing() {
    let (a, b) = (Store::memory().session(), Store::memory().session());
    a.perform(&root(), write("paper.md", "from a")).unwrap();
    b.perform(&root(), write("paper.md", "from b")).unwrap();
    assert_eq!(a.perform(&root(), read("paper.md")), reply("from a"));
}

#[test]
fn a_run_whose_last_handle_is_gone_holds_no_claim() {
    let store = Store::memory();
    let session = store.session();
    let files = session.files(root());
    files.perform(write("a", "x")).unwrap();
    drop(session);
    assert_eq!(reason(store.put("a", "y")), StoreReason::Conflict);
    drop(files);
    store.put("a", "y").unwrap();
}
