//! A store over a real directory: what a run reads in its failures.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]

use std::fs;

use runvil_vfs::{Identity, LineBounds, Session, Store, StoreFailure, StoreOp, StoreReply};
use runvil_vfs_dir::DirBackend;
use tempfile::TempDir;

fn temp() -> (TempDir, Session) {
    let root = tempfile::tempdir().unwrap();
    let session = Store::over(DirBackend::new(root.path()).without_sync()).session();
    (root, session)
}

fn perform(session: &Session, op: StoreOp) -> Result<StoreReply, StoreFailure> {
    session.perform(&Identity::root("0"), op)
}

fn read(path: &str) -> StoreOp {
    StoreOp::Read {
        path: path.into(),
        lines: LineBounds::WHOLE,
    }
}

fn message(outcome: Result<StoreReply, StoreFailure>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn files_written_by_a_run_are_real_and_real_files_are_read() {
    let (root, session) = temp();
    let op = StoreOp::Write {
        path: "out/merged.md".into(),
        contents: "alpha".into(),
    };
    perform(&session, op).unwrap();
    assert_eq!(fs::read_to_string(root.path().join("out/merged.md")).unwrap(), "alpha");
    fs::write(root.path().join("in.md"), "beside\r\n").unwrap();
    assert_eq!(
        perform(&session, read("in.md")),
        Ok(StoreReply::Text("beside\r\n".into()))
    );
}

#[test]
fn an_edit_that_is_refused_leaves_the_real_file() {
    let (root, session) = temp();
    fs::write(root.path().join("n"), "na na").unwrap();
    let edit = StoreOp::StrReplace {
        path: "n".into(),
        old: "na".into(),
        new: "la".into(),
    };
    assert!(message(perform(&session, edit)).starts_with("anchor \"na\" occurs 2 times in n"));
    assert_eq!(fs::read(root.path().join("n")).unwrap(), b"na na");
}

#[test]
fn a_root_that_is_no_directory_fails_the_setup() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let session = Store::over(DirBackend::new(root.path().join("file"))).session();
    let failure = session.open().unwrap_err().to_string();
    assert!(
        failure.starts_with("store operation failed: store I/O failure on /: "),
        "{failure}"
    );
    assert!(!failure.contains("file"), "the real path is the Host's own: {failure}");
    let later = Store::over(DirBackend::new(root.path().join("later"))).session();
    assert_eq!(later.open(), Ok(()));
}

#[cfg(unix)]
#[test]
fn a_path_out_of_the_root_is_named_as_written() {
    let (root, session) = temp();
    std::os::unix::fs::symlink("..", root.path().join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.path().join("dangling")).unwrap();
    assert_eq!(
        message(perform(&session, read("link/secret.txt"))),
        "store path link/secret.txt is outside the mounted root: link/secret.txt escapes the mounted root"
    );
    assert_eq!(
        message(perform(
            &session,
            StoreOp::Exists {
                path: "dangling".into()
            }
        )),
        "store path dangling is outside the mounted root: dangling goes through a link that leads nowhere"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_names_its_directory() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let (root, session) = temp();
    let glob = |pattern: &str| {
        perform(
            &session,
            StoreOp::Glob {
                pattern: pattern.into(),
            },
        )
    };
    fs::create_dir(root.path().join("d")).unwrap();
    fs::write(root.path().join("d").join(OsStr::from_bytes(b"ab\xff")), "").unwrap();
    assert_eq!(message(glob("d/*")), "file in store is not UTF-8 after byte 2: d");
    fs::write(root.path().join(OsStr::from_bytes(b"\xff")), "").unwrap();
    assert_eq!(message(glob("*")), "file in store is not UTF-8 after byte 0: .");
}
