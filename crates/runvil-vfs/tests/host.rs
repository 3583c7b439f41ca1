//! What a Host decides about a run's store, and what it may do beside the run.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]

mod common;

use std::sync::Arc;

use common::{exists, glob, read, reason, reply, root, write};
use runvil_vfs::{
    Backend, BackendFailure, Glob, Identity, LineBounds, MemoryBackend, Mode, Mount, Mounts, Policy, PolicyOp, Ruling,
    Store, StoreFailure, StoreOp, StoreReason, StoreReply,
};

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
    assert_eq!(session.perform(&root(), read("a")).unwrap_err().to_string(), message);
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
    assert_eq!(session.perform(&main, write("a", "x")), Ok(StoreReply::Done));
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
    assert_eq!(reason(session.perform(&task, write("a", "x"))), StoreReason::Backend);
    assert_eq!(reason(session.perform(&main, write("a", "x"))), StoreReason::Conflict);
}

#[test]
fn a_conflict_names_the_detecting_access_first() {
    let session = Store::memory().session();
    let mut main = root();
    let (first, second) = (main.fork("0.0"), main.fork("0.1"));
    session.perform(&first, write("research/5.md", "x")).unwrap();
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
    session.perform(&root(), write("out/report.md", "done")).unwrap();
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
    assert_eq!(session.perform(&root(), write("a.md", "y")), Ok(StoreReply::Done));
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
    assert_eq!(reason(store.stage("../paper.md", "# Paper")), StoreReason::InvalidPath);
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
        assert_eq!(failure.to_string(), "permission denied for store path p: off limits");
    }
    store.set_policy(None);
    assert_eq!(session.perform(&second, write("p", "x")), Ok(StoreReply::Done));
}

#[test]
fn a_denial_is_reported_ahead_of_a_conflict() {
    let store = Store::memory();
    let session = store.session();
    let mut main = root();
    let task = main.fork("0.0");
    session.perform(&task, write("p", "x")).unwrap();
    store.set_policy(Some(Arc::new(Denies("p"))));
    assert_eq!(reason(session.perform(&main, read("p"))), StoreReason::PermissionDenied);
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
        StoreOp::Delete { path: "x.md".into() },
    ];
    for op in ops {
        assert_eq!(
            session.perform(&root(), op).unwrap_err().to_string(),
            "store path is read-only: x.md"
        );
    }
    assert_eq!(session.perform(&root(), read("a.md")), reply("kept"));
    assert_eq!(session.perform(&root(), exists("x.md")), Ok(StoreReply::Exists(false)));
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
    assert_eq!(session.perform(&root(), write("a.bin", "text")), Ok(StoreReply::Done));
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
    let conflict = |op: StoreOp| session.perform(&two, op).unwrap_err().path().map(str::to_owned);
    assert_eq!(conflict(write("draft.md", "y")).as_deref(), Some("draft.md"));
    assert_eq!(conflict(glob("DRAFT*")).as_deref(), Some("DRAFT*"));
    assert_eq!(conflict(glob("out/*.txt")).as_deref(), Some("out/*.txt"));
    assert_eq!(conflict(exists("OUT")).as_deref(), Some("OUT"));
}
