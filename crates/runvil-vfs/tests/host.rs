//! What a Host decides about a run's store, and what it may do beside the run.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]

use std::sync::Arc;

use runvil_vfs::{
    Backend, BackendFailure, ClaimKind, Glob, Identity, LineBounds, MemoryBackend, Mode, Mount,
    Mounts, Policy, PolicyOp, Ruling, Session, Store, StoreFailure, StoreOp, StoreReason,
    StoreReply,
};

fn write(path: &str, contents: &str) -> StoreOp {
    StoreOp::Write {
        path: path.into(),
        contents: contents.into(),
    }
}

fn read(path: &str) -> StoreOp {
    StoreOp::Read {
        path: path.into(),
        lines: LineBounds::WHOLE,
    }
}

fn glob(pattern: &str) -> StoreOp {
    StoreOp::Glob {
        pattern: pattern.into(),
    }
}

fn exists(path: &str) -> StoreOp {
    StoreOp::Exists { path: path.into() }
}

fn root() -> Identity {
    Identity::root("0")
}

fn reply(text: &str) -> Result<StoreReply, StoreFailure> {
    Ok(StoreReply::Text(text.to_owned()))
}

fn reason<T: std::fmt::Debug>(outcome: Result<T, StoreFailure>) -> StoreReason {
    outcome.unwrap_err().reason()
}

/// A memory backend that can be told to refuse or to fail.
#[derive(Default)]
struct Stub {
    files: MemoryBackend,
    refuses_sessions: bool,
    refuses_forks_of: Option<&'static str>,
    fails: bool,
    folds_case: bool,
}

impl Stub {
    fn check(&self) -> Result<(), BackendFailure> {
        if self.fails {
            Err(BackendFailure::Failed {
                message: "disk gone".into(),
            })
        } else {
            Ok(())
        }
    }
}

impl Backend for Stub {
    fn open(&self, _: &str) -> Result<(), BackendFailure> {
        if self.refuses_sessions {
            let message = "the store backend refuses every session".into();
            return Err(BackendFailure::Failed { message });
        }
        Ok(())
    }

    fn fork(&self, child: &Identity) -> Result<(), BackendFailure> {
        if self.refuses_forks_of == Some(child.name()) {
            return Err(BackendFailure::Failed {
                message: "no more identities".into(),
            });
        }
        Ok(())
    }

    fn folds_case(&self) -> bool {
        self.folds_case
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, BackendFailure> {
        self.check()?;
        self.files.read(path)
    }

    fn write(&self, path: &str, contents: Vec<u8>) -> Result<(), BackendFailure> {
        self.check()?;
        self.files.write(path, contents)
    }

    fn append(&self, path: &str, contents: &[u8]) -> Result<(), BackendFailure> {
        self.check()?;
        self.files.append(path, contents)
    }

    fn delete(&self, path: &str) -> Result<(), BackendFailure> {
        self.check()?;
        self.files.delete(path)
    }

    fn exists(&self, path: &str) -> Result<bool, BackendFailure> {
        self.check()?;
        self.files.exists(path)
    }

    fn list(&self, base: &str, glob: &Glob) -> Result<Vec<String>, BackendFailure> {
        self.check()?;
        self.files.list(base, glob)
    }
}

#[test]
fn a_session_refused_at_the_start_fails_the_setup() {
    let session = Store::over(Stub {
        refuses_sessions: true,
        ..Stub::default()
    })
    .session();
    let failure = session.open().unwrap_err();
    assert_eq!(
        failure.to_string(),
        "store operation failed: store backend failure: the store backend refuses every session"
    );
    assert_eq!(failure.reason(), StoreReason::Backend);
}

#[test]
fn a_store_without_a_backend_fails_the_setup_and_every_operation() {
    let mounts = Mounts::new([Mount::new("/files", MemoryBackend::new()).unwrap()]).unwrap();
    let session = Store::new(mounts, "/my/store").unwrap().session();
    let message = "store backend failure: nothing is mounted at /my/store";
    assert_eq!(
        session.open().unwrap_err().to_string(),
        format!("store operation failed: {message}")
    );
    assert_eq!(
        session.perform(&root(), read("a")).unwrap_err().to_string(),
        message
    );
}

#[test]
fn a_fork_refused_for_a_task_or_a_tool_call_fails_that_setup_alone() {
    let stub = Stub {
        refuses_forks_of: Some("0.1"),
        ..Stub::default()
    };
    let session = Store::over(stub).session();
    session.open().unwrap();
    let mut main = root();
    let (first, second) = (main.fork("0.0"), main.fork("0.1"));
    assert_eq!(session.fork(&first), Ok(()));
    assert_eq!(
        session.fork(&second).unwrap_err().to_string(),
        "store operation failed: store backend failure: no more identities"
    );
    assert_eq!(
        session.perform(&main, write("a", "x")),
        Ok(StoreReply::Done)
    );
}

#[test]
fn a_backend_that_fails_names_no_path() {
    let session = Store::over(Stub {
        fails: true,
        ..Stub::default()
    })
    .session();
    let ops = [
        write("a", "x"),
        StoreOp::Append {
            path: "a".into(),
            contents: "x".into(),
        },
        read("a"),
        StoreOp::ReadNumbered {
            path: "a".into(),
            lines: LineBounds::WHOLE,
        },
        StoreOp::StrReplace {
            path: "a".into(),
            old: "x".into(),
            new: "y".into(),
        },
        StoreOp::Delete { path: "a".into() },
        glob("*"),
        exists("a"),
    ];
    for op in ops {
        let failure = session.perform(&root(), op).unwrap_err();
        assert_eq!(failure.to_string(), "store backend failure: disk gone");
        assert_eq!(failure.path(), None);
    }
}

#[test]
fn a_conflict_is_reported_ahead_of_a_backend_failure() {
    let store = Store::over(Stub {
        fails: true,
        ..Stub::default()
    });
    let session = store.session();
    let mut main = root();
    let task = main.fork("0.0");
    assert_eq!(
        reason(session.perform(&task, write("a", "x"))),
        StoreReason::Backend
    );
    assert_eq!(
        reason(session.perform(&main, write("a", "x"))),
        StoreReason::Conflict
    );
}

#[test]
fn a_conflict_names_the_detecting_access_first() {
    let session = Store::memory().session();
    let mut main = root();
    let (first, second) = (main.fork("0.0"), main.fork("0.1"));
    session
        .perform(&first, write("research/5.md", "x"))
        .unwrap();
    let failure = session.perform(&second, glob("research/*")).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "store determinism violation: read on research/* by ExecId(0.1) conflicts with a write claim by ExecId(0.0)"
    );
    assert!(failure.is_determinism());
}

#[test]
fn seeds_are_there_before_the_run_and_files_after_it() {
    let store = Store::memory();
    store.put("brief.md", "seeded").unwrap();
    let session = store.session();
    assert_eq!(session.perform(&root(), read("brief.md")), reply("seeded"));
    session
        .perform(&root(), write("out/report.md", "done"))
        .unwrap();
    session.end();
    assert_eq!(store.text("out/report.md"), Ok(Some("done".to_owned())));
    assert_eq!(store.text("none.md"), Ok(None));
    assert_eq!(
        store.list("**"),
        Ok(vec!["brief.md".to_owned(), "out/report.md".to_owned()])
    );
}

#[test]
fn a_host_write_to_a_file_that_a_live_run_has_read_is_refused() {
    let store = Store::memory();
    store.put("notes.md", "Friday").unwrap();
    let session = store.session();
    session.perform(&root(), read("notes.md")).unwrap();
    let failure = store.put("notes.md", "Monday").unwrap_err();
    assert_eq!(
        failure.to_string(),
        "store determinism violation: write on notes.md by ExecId(host) conflicts with a read claim by ExecId(0)"
    );
    assert_eq!(store.text("notes.md"), Ok(Some("Friday".to_owned())));
    assert_eq!(
        session.perform(&root(), write("notes.md", "Friday, approved")),
        Ok(StoreReply::Done)
    );
    store.put("other.md", "free").unwrap();
    session.end();
    store.put("notes.md", "Monday").unwrap();
}

#[test]
fn a_host_write_beneath_a_directory_that_a_live_run_has_listed_is_refused() {
    let store = Store::memory();
    let session = store.session();
    session.perform(&root(), glob("inbox/*.md")).unwrap();
    assert_eq!(reason(store.put("inbox/a.md", "x")), StoreReason::Conflict);
    assert_eq!(store.list("**"), Ok(vec![]));
}

#[test]
fn a_host_look_disturbs_no_run() {
    let store = Store::memory();
    let session = store.session();
    session.perform(&root(), write("a.md", "x")).unwrap();
    assert_eq!(store.text("a.md"), Ok(Some("x".to_owned())));
    assert_eq!(store.list("*"), Ok(vec!["a.md".to_owned()]));
    assert_eq!(
        session.perform(&root(), write("a.md", "y")),
        Ok(StoreReply::Done)
    );
}

#[test]
fn the_staged_input_is_under_the_policy_and_a_seed_is_not() {
    let store = Store::memory();
    store.set_mode(Mode::Ask);
    store.put("seed.md", "x").unwrap();
    assert_eq!(
        reason(store.stage("paper.md", "# Paper")),
        StoreReason::ApprovalRequired
    );
    assert_eq!(
        reason(store.stage("../paper.md", "# Paper")),
        StoreReason::InvalidPath
    );
    store.set_mode(Mode::Agent);
    store.stage("paper.md", "# Paper").unwrap();
    assert_eq!(store.text("paper.md"), Ok(Some("# Paper".to_owned())));
}

#[test]
fn a_mode_switched_during_a_run_rules_the_next_call() {
    let store = Store::memory();
    let session = store.session();
    session.perform(&root(), write("paper.md", "text")).unwrap();
    store.set_mode(Mode::Ask);
    assert_eq!(
        reason(session.perform(&root(), write("x.bin", "x"))),
        StoreReason::ApprovalRequired
    );
    assert_eq!(session.perform(&root(), read("paper.md")), reply("text"));
    store.set_mode(Mode::Plan);
    assert_eq!(
        reason(session.perform(&root(), write("x.bin", "x"))),
        StoreReason::PermissionDenied
    );
    store.set_policy(None);
    session.perform(&root(), write("x.bin", "x")).unwrap();
}

/// Refuses one path, as a Host's own policy may.
struct Denies(&'static str);

impl Policy for Denies {
    fn rule(&self, _: PolicyOp, path: &str) -> Ruling {
        if path == self.0 {
            Ruling::Deny("off limits".to_owned())
        } else {
            Ruling::Allow
        }
    }
}

#[test]
fn a_policy_may_refuse_reads_and_its_refusals_leave_no_claim() {
    let store = Store::memory();
    store.set_policy(Some(Arc::new(Denies("p"))));
    let session = store.session();
    let mut main = root();
    let (first, second) = (main.fork("0.0"), main.fork("0.1"));
    for op in [read("p"), exists("p"), write("p", "x")] {
        let failure = session.perform(&first, op).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "permission denied for store path p: off limits"
        );
    }
    store.set_policy(None);
    assert_eq!(
        session.perform(&second, write("p", "x")),
        Ok(StoreReply::Done)
    );
}

#[test]
fn a_denial_is_reported_ahead_of_a_conflict() {
    let store = Store::memory();
    let session = store.session();
    let mut main = root();
    let task = main.fork("0.0");
    session.perform(&task, write("p", "x")).unwrap();
    store.set_policy(Some(Arc::new(Denies("p"))));
    assert_eq!(
        reason(session.perform(&main, read("p"))),
        StoreReason::PermissionDenied
    );
}

#[test]
fn a_read_only_store_refuses_changes_and_serves_reads() {
    let files = MemoryBackend::new();
    files.write("a.md", b"kept".to_vec()).unwrap();
    let mounts = Mounts::new([Mount::new("/my/store", files).unwrap().read_only()]).unwrap();
    let session = Store::new(mounts, "/my/store").unwrap().session();
    let ops = [
        write("x.md", "x"),
        StoreOp::Append {
            path: "x.md".into(),
            contents: "x".into(),
        },
        StoreOp::StrReplace {
            path: "x.md".into(),
            old: "x".into(),
            new: "y".into(),
        },
        StoreOp::Delete {
            path: "x.md".into(),
        },
    ];
    for op in ops {
        assert_eq!(
            session.perform(&root(), op).unwrap_err().to_string(),
            "store path is read-only: x.md"
        );
    }
    assert_eq!(session.perform(&root(), read("a.md")), reply("kept"));
    assert_eq!(
        session.perform(&root(), exists("x.md")),
        Ok(StoreReply::Exists(false))
    );
}

#[test]
fn contents_that_are_not_utf8_fail_reads_and_edits() {
    let files = MemoryBackend::new();
    files.write("a.bin", b"a\xff\xfe".to_vec()).unwrap();
    let session = Store::over(files).session();
    let edit = StoreOp::StrReplace {
        path: "a.bin".into(),
        old: "a".into(),
        new: "b".into(),
    };
    let numbered = StoreOp::ReadNumbered {
        path: "a.bin".into(),
        lines: LineBounds::WHOLE,
    };
    for op in [read("a.bin"), numbered, edit] {
        let failure = session.perform(&root(), op).unwrap_err();
        assert_eq!(
            failure,
            StoreFailure::NotUtf8 {
                path: "a.bin".into(),
                valid_up_to: 1
            }
        );
    }
    assert_eq!(
        session.perform(&root(), write("a.bin", "text")),
        Ok(StoreReply::Done)
    );
}

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

#[test]
fn a_store_sees_its_own_mount_alone() {
    let outer = MemoryBackend::new();
    let secret = MemoryBackend::new();
    secret.write("secret.txt", b"secret".to_vec()).unwrap();
    let mounts = Mounts::new([
        Mount::new("/", outer).unwrap(),
        Mount::new("/mount", secret).unwrap(),
    ])
    .unwrap();
    let session = Store::new(mounts, "/").unwrap().session();
    assert_eq!(
        session
            .perform(&root(), read("mount/secret.txt"))
            .unwrap_err()
            .to_string(),
        "file not found in store: mount/secret.txt"
    );
    assert_eq!(
        session.perform(&root(), glob("**")),
        Ok(StoreReply::Paths(vec![]))
    );
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
        session
            .perform(&root(), write("d/a/b", "x"))
            .unwrap_err()
            .to_string(),
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
    session
        .perform(&main, write("before.txt", "from the run"))
        .unwrap();
    let call = main.fork("0.0");
    let files = session.files(call.clone());
    assert_eq!(files.perform(read("before.txt")), reply("from the run"));
    files
        .perform(write("/my/store/after.txt", "from the tool"))
        .unwrap();
    main.join(&call);
    assert_eq!(
        session.perform(&main, read("after.txt")),
        reply("from the tool")
    );
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
    assert_eq!(
        reason(session.perform(&main, read("a"))),
        StoreReason::Conflict
    );
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
        files
            .perform(write("/my/store/d/a/b", "x"))
            .unwrap_err()
            .to_string(),
        "not a directory in store: /my/store/d/a"
    );
    assert_eq!(
        files
            .perform(read("/my//notes.txt"))
            .unwrap_err()
            .to_string(),
        "invalid path \"/my//notes.txt\": path contains an empty segment"
    );
}

#[test]
fn a_mounts_own_root_takes_no_change() {
    let (_, store) = mounted();
    let files = store.session().files(root());
    for path in ["/my/store", "/"] {
        let failure = files
            .perform(StoreOp::Delete { path: path.into() })
            .unwrap_err();
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
    assert_eq!(
        reason(session.perform(&root(), read("a"))),
        StoreReason::ScopeEnded
    );
}

fn conflict_of(session: &Session, op: StoreOp) -> (String, ClaimKind) {
    match session.perform(&root(), op).unwrap_err() {
        StoreFailure::Conflict {
            path, other_claim, ..
        } => (path, other_claim),
        other => panic!("{other}"),
    }
}

#[test]
fn two_live_runs_on_one_store_conflict_wherever_one_of_them_writes() {
    let store = Store::memory();
    store.put("shared.md", "seed").unwrap();
    let (a, b) = (store.session(), store.clone().session());
    a.perform(&root(), read("shared.md")).unwrap();
    b.perform(&root(), read("shared.md")).unwrap();
    for number in 0..1000 {
        a.perform(&root(), write(&format!("own/{number}"), ""))
            .unwrap();
    }
    assert_eq!(
        conflict_of(&b, write("shared.md", "b")),
        ("shared.md".to_owned(), ClaimKind::Read)
    );
    assert_eq!(
        conflict_of(&b, read("own/0")),
        ("own/0".to_owned(), ClaimKind::Write)
    );
    assert_eq!(
        conflict_of(&b, exists("own")),
        ("own".to_owned(), ClaimKind::Write)
    );
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
    a.files(root())
        .perform(write("/shared.txt", "from a"))
        .unwrap();
    let failure = b
        .files(root())
        .perform(write("/shared.txt", "from b"))
        .unwrap_err();
    assert_eq!(
        failure.to_string(),
        "store determinism violation: write on /shared.txt by ExecId(0) conflicts with a write claim by ExecId(0)"
    );
    assert_eq!(
        a.files(root()).perform(read("/shared.txt")),
        reply("from a")
    );
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

#[test]
fn where_case_names_no_difference_two_spellings_are_one_claim() {
    let session = Store::over(Stub {
        folds_case: true,
        ..Stub::default()
    })
    .session();
    let mut main = root();
    let (one, two) = (main.fork("0.0"), main.fork("0.1"));
    session.perform(&one, write("Draft.md", "x")).unwrap();
    session.perform(&one, write("Out/A.md", "x")).unwrap();
    let conflict = |op: StoreOp| {
        session
            .perform(&two, op)
            .unwrap_err()
            .path()
            .map(str::to_owned)
    };
    assert_eq!(
        conflict(write("draft.md", "y")).as_deref(),
        Some("draft.md")
    );
    assert_eq!(conflict(glob("DRAFT*")).as_deref(), Some("DRAFT*"));
    assert_eq!(conflict(glob("out/*.txt")).as_deref(), Some("out/*.txt"));
    assert_eq!(conflict(exists("OUT")).as_deref(), Some("OUT"));
}
