//! A write is all or nothing: after a kill or a failed write, the file is the old one or the new one.
//!
//! The writing happens in a second process: this same test binary, told by an environment variable what to do.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]
#![cfg(unix)]

use std::{
    env, fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use runvil_vfs::{Backend, BackendFailure, Glob};
use runvil_vfs_dir::DirBackend;

const ROOT: &str = "RUNVIL_CRASH_ROOT";
const SIZE: usize = 1 << 20;

/// This test binary, running one of its tests in a process of its own, with a directory to work in.
fn again(test: &str, root: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture"])
        .env(ROOT, root)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn backend() -> Option<DirBackend> {
    Some(DirBackend::new(env::var_os(ROOT)?).without_sync())
}

#[test]
fn child_writes_without_end() {
    let Some(backend) = backend() else { return };
    for letter in (b'a'..=b'z').cycle() {
        backend.write("d/whole", vec![letter; SIZE]).unwrap();
        backend.append("d/log", &[letter; 1000]).unwrap();
    }
}

#[test]
fn a_kill_leaves_the_old_file_or_the_new_one() {
    let root = tempfile::tempdir().unwrap();
    let (directory, whole) = (root.path().join("d"), root.path().join("d/whole"));
    let mut leftovers = 0;
    let mut rounds = 0;
    // A kill shows something only when it meets a write, which nearly every one does.
    while rounds < 20 || leftovers == 0 {
        assert!(rounds < 1000, "no kill met a write");
        rounds += 1;
        let _ = fs::remove_file(&whole);
        let mut child = again("child_writes_without_end", root.path()).spawn().unwrap();
        while !whole.exists() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_micros(rounds * 317 % 10_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let whole = fs::read(&whole).unwrap();
        assert_eq!(whole.len(), SIZE);
        assert!(whole.iter().all(|byte| *byte == whole[0]), "a mix of two writes");
        let log = fs::read(directory.join("log")).unwrap_or_default();
        assert_eq!(log.len() % 1000, 0, "a part of an append");
        leftovers += temporaries(&directory);
        let listed = DirBackend::new(root.path())
            .list("", &Glob::parse("**").unwrap())
            .unwrap();
        assert!(
            listed.iter().all(|path| path == "d/whole" || path == "d/log"),
            "{listed:?}"
        );
        assert_eq!(temporaries(&directory), 0, "a leftover was not swept");
    }
}

fn temporaries(directory: &Path) -> usize {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.as_encoded_bytes().starts_with(b".")).count()
}

#[test]
fn child_writes_too_much() {
    let Some(backend) = backend() else { return };
    let outcomes = [
        backend.write("old", vec![b'n'; SIZE]),
        backend.append("old", &vec![b'n'; SIZE]),
        backend.write("made/new", vec![b'n'; SIZE]),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(BackendFailure::Io { .. })), "{outcome:?}");
    }
}

/// A limit on the size of a file stands for a full disk: a write stops in the middle with an error.
#[test]
fn a_write_that_finds_no_room_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("old"), "old").unwrap();
    let child = again("child_writes_too_much", root.path());
    let mut limited = Command::new("sh");
    limited
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 64; exec \"$@\"")
        .arg("sh")
        .arg(child.get_program());
    limited
        .args(child.get_args())
        .env(ROOT, root.path())
        .stdout(Stdio::null());
    assert!(limited.status().unwrap().success());
    assert_eq!(fs::read(root.path().join("old")).unwrap(), b"old");
    assert_eq!(
        fs::read_dir(root.path()).unwrap().count(),
        1,
        "the failed write left something behind"
    );
}

#[test]
fn child_meets_permissions() {
    let Some(backend) = backend() else { return };
    let refused = |outcome: Result<(), BackendFailure>| {
        let Err(BackendFailure::Io { message }) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(message, "Permission denied");
    };
    refused(backend.read("unreadable").map(drop));
    refused(backend.write("unwritable", b"x".to_vec()));
    refused(backend.append("unwritable", b"x"));
    refused(backend.write("locked/new", b"x".to_vec()));
    refused(backend.write("locked/deeper/new", b"x".to_vec()));
    refused(backend.delete("locked/old"));
    refused(backend.exists("closed/file").map(drop));
    refused(backend.list("", &Glob::parse("closed/*").unwrap()).map(drop));
}

#[test]
fn permissions_of_the_real_files_are_io_failures() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::create_dir(path("locked")).unwrap();
    fs::create_dir(path("closed")).unwrap();
    for file in ["unreadable", "unwritable", "locked/old", "closed/file"] {
        fs::write(path(file), "old").unwrap();
    }
    let mode = |name: &str, mode| {
        fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("unreadable", 0o200);
    mode("unwritable", 0o444);
    mode("locked", 0o555);
    mode("closed", 0o000);
    let mut child = again("child_meets_permissions", root.path());
    // Permissions bind no superuser, so the child becomes someone else.
    if fs::metadata(root.path()).unwrap().uid() == 0 {
        for name in ["", "unreadable", "unwritable", "locked", "closed"] {
            chown(path(name), Some(65534), Some(65534)).unwrap();
        }
        child.uid(65534).gid(65534);
    }
    assert!(child.status().unwrap().success());
    mode("closed", 0o700);
    mode("locked", 0o700);
    assert_eq!(fs::read(path("unwritable")).unwrap(), b"old");
}
