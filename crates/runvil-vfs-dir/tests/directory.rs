//! What only a real directory brings: links, foreign names, permissions, limits of the platform and leftovers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]

use std::{fs, path::Path};

use runvil_vfs::{Backend, BackendFailure, Glob};
use runvil_vfs_dir::DirBackend;
use tempfile::TempDir;

fn temp() -> (TempDir, DirBackend) {
    let root = tempfile::tempdir().unwrap();
    let backend = DirBackend::new(root.path().join("root")).without_sync();
    fs::create_dir(root.path().join("root")).unwrap();
    (root, backend)
}

fn list(backend: &DirBackend, pattern: &str) -> Result<Vec<String>, BackendFailure> {
    let mut paths = backend.list("", &Glob::parse(pattern).unwrap())?;
    paths.sort();
    Ok(paths)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_write_lands_as_a_real_file_and_leaves_nothing_else() {
    let (root, backend) = temp();
    backend.write("d/a.txt", b"one".to_vec()).unwrap();
    backend.append("d/a.txt", b" two").unwrap();
    assert_eq!(fs::read(root.path().join("root/d/a.txt")).unwrap(), b"one two");
    assert_eq!(names(&root.path().join("root/d")), ["a.txt"]);
}

#[test]
fn a_synced_write_lands_too() {
    let root = tempfile::tempdir().unwrap();
    let backend = DirBackend::new(root.path());
    backend.write("a", b"x".to_vec()).unwrap();
    backend.append("a", b"y").unwrap();
    assert_eq!(backend.read("a").unwrap(), b"xy");
}

#[test]
fn a_root_that_does_not_exist_yet_is_empty_until_the_first_write_makes_it() {
    let root = tempfile::tempdir().unwrap();
    let backend = DirBackend::new(root.path().join("later/store"));
    assert_eq!(backend.open(""), Ok(()));
    assert_eq!(backend.open("my/store"), Ok(()));
    assert_eq!(backend.read("a"), Err(BackendFailure::NotFound));
    assert_eq!(backend.exists("a"), Ok(false));
    assert_eq!(backend.delete("a"), Ok(()));
    assert_eq!(list(&backend, "**"), Ok(vec![]));
    backend.write("a", b"x".to_vec()).unwrap();
    assert_eq!(list(&backend, "**"), Ok(vec!["a".to_owned()]));
}

#[test]
fn a_root_that_is_a_file_fails_the_startup_check() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "x").unwrap();
    assert!(matches!(
        DirBackend::new(root.path().join("file")).open(""),
        Err(BackendFailure::Io { .. })
    ));
    assert!(matches!(
        DirBackend::new(root.path()).open("file"),
        Err(BackendFailure::Failed { .. })
    ));
}

#[test]
fn a_write_beneath_a_file_changes_nothing() {
    let (root, backend) = temp();
    backend.write("d/a", b"kept".to_vec()).unwrap();
    let refused = BackendFailure::NotADirectory { file: "d/a".to_owned() };
    assert_eq!(backend.write("d/a/b/c", b"x".to_vec()), Err(refused.clone()));
    assert_eq!(backend.append("d/a/b", b"x"), Err(refused));
    assert_eq!(names(&root.path().join("root/d")), ["a"]);
}

#[test]
fn names_of_unfinished_writes_are_out_of_reach() {
    let (root, backend) = temp();
    let leftover = root.path().join("root/d/.runvil-tmp-1-0");
    fs::create_dir(root.path().join("root/d")).unwrap();
    fs::write(&leftover, "half").unwrap();
    for path in ["d/.runvil-tmp-1-0", "d/.RUNVIL-TMP-1-0"] {
        assert_eq!(backend.read(path), Err(BackendFailure::NotFound));
        assert_eq!(backend.exists(path), Ok(false));
        assert_eq!(backend.delete(path), Ok(()));
        assert!(matches!(
            backend.write(path, vec![]),
            Err(BackendFailure::Unsupported { .. })
        ));
    }
    assert!(leftover.exists());
}

#[test]
fn a_listing_shows_no_leftover_and_sweeps_it() {
    let (root, backend) = temp();
    backend.write("d/a", vec![]).unwrap();
    let leftover = root.path().join("root/d/.runvil-tmp-1-0");
    fs::write(&leftover, "half").unwrap();
    assert_eq!(list(&backend, "d/*"), Ok(vec!["d/a".to_owned()]));
    assert!(!leftover.exists());
}

#[test]
fn the_temporary_file_of_a_live_writer_is_not_swept() {
    let (root, backend) = temp();
    let temporary = root.path().join("root/.runvil-tmp-1-0");
    let writer = fs::File::create(&temporary).unwrap();
    writer.lock().unwrap();
    assert_eq!(list(&backend, "**"), Ok(vec![]));
    assert!(temporary.exists());
    drop(writer);
    assert_eq!(list(&backend, "**"), Ok(vec![]));
    assert!(!temporary.exists());
}

#[test]
fn a_directory_with_only_leftovers_is_empty() {
    let (root, backend) = temp();
    backend.write("d/a", vec![]).unwrap();
    backend.delete("d/a").unwrap();
    fs::write(root.path().join("root/d/.runvil-tmp-1-0"), "half").unwrap();
    assert_eq!(backend.delete("d"), Ok(()));
    assert_eq!(backend.exists("d"), Ok(false));
}

#[cfg(unix)]
#[test]
fn a_real_name_that_no_store_path_can_be_is_passed_over() {
    let (root, backend) = temp();
    backend.write("ok", vec![]).unwrap();
    for name in ["a:b", "draft.", "con"] {
        fs::write(root.path().join("root").join(name), "").unwrap();
    }
    assert_eq!(list(&backend, "**"), Ok(vec!["ok".to_owned()]));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn outside_root(outcome: Result<impl std::fmt::Debug, BackendFailure>) -> String {
        match outcome {
            Err(BackendFailure::OutsideRoot { how }) => how,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_link_that_leaves_the_root_is_refused_by_every_call() {
        let (root, backend) = temp();
        fs::create_dir(root.path().join("outside")).unwrap();
        fs::write(root.path().join("outside/secret.txt"), "secret").unwrap();
        symlink("../outside", root.path().join("root/link")).unwrap();
        symlink(root.path().join("outside"), root.path().join("root/absolute")).unwrap();
        symlink("../outside/secret.txt", root.path().join("root/secret")).unwrap();
        for path in ["link/secret.txt", "absolute/secret.txt", "secret", "link/new.txt"] {
            assert_eq!(outside_root(backend.read(path)), "escapes the mounted root", "{path}");
            assert_eq!(
                outside_root(backend.write(path, vec![])),
                "escapes the mounted root",
                "{path}"
            );
            assert_eq!(
                outside_root(backend.append(path, b"x")),
                "escapes the mounted root",
                "{path}"
            );
            assert_eq!(outside_root(backend.delete(path)), "escapes the mounted root", "{path}");
            assert_eq!(outside_root(backend.exists(path)), "escapes the mounted root", "{path}");
        }
        assert_eq!(outside_root(list(&backend, "link/*")), "escapes the mounted root");
        assert_eq!(list(&backend, "**"), Ok(vec![]));
        assert_eq!(names(&root.path().join("outside")), ["secret.txt"]);
        assert_eq!(fs::read(root.path().join("outside/secret.txt")).unwrap(), b"secret");
    }

    #[test]
    fn a_dangling_or_circular_link_is_outside_the_root() {
        let (root, backend) = temp();
        symlink("nothing", root.path().join("root/dangling")).unwrap();
        symlink("circle", root.path().join("root/circle")).unwrap();
        for path in ["dangling", "dangling/a", "circle", "circle/a/b"] {
            let how = "goes through a link that leads nowhere";
            assert_eq!(outside_root(backend.read(path)), how, "{path}");
            assert_eq!(outside_root(backend.write(path, vec![])), how, "{path}");
            assert_eq!(outside_root(backend.append(path, b"")), how, "{path}");
            assert_eq!(outside_root(backend.exists(path)), how, "{path}");
            assert_eq!(outside_root(backend.delete(path)), how, "{path}");
        }
        assert_eq!(list(&backend, "*"), Ok(vec![]));
        assert_eq!(names(&root.path().join("root")), ["circle", "dangling"]);
    }

    #[test]
    fn a_link_that_stays_within_is_followed() {
        let (root, backend) = temp();
        backend.write("d/real.txt", b"real".to_vec()).unwrap();
        symlink("d/real.txt", root.path().join("root/file")).unwrap();
        symlink("../d", root.path().join("root/d/up")).unwrap();
        assert_eq!(backend.read("file").unwrap(), b"real");
        assert_eq!(backend.read("d/up/real.txt").unwrap(), b"real");
        backend.write("file", b"new".to_vec()).unwrap();
        backend.append("d/up/real.txt", b"!").unwrap();
        assert_eq!(backend.read("d/real.txt").unwrap(), b"new!");
        assert!(root.path().join("root/file").is_symlink());
        assert_eq!(list(&backend, "**").unwrap(), ["d/real.txt", "file"]);
        assert_eq!(list(&backend, "d/*/").unwrap(), ["d/up"]);
        assert_eq!(list(&backend, "d/up/*").unwrap(), ["d/up/real.txt"]);
    }

    #[test]
    fn deleting_a_link_leaves_what_it_leads_to() {
        let (root, backend) = temp();
        backend.write("d/a", b"kept".to_vec()).unwrap();
        fs::create_dir(root.path().join("root/empty")).unwrap();
        symlink("d/a", root.path().join("root/file")).unwrap();
        symlink("d", root.path().join("root/full")).unwrap();
        symlink("empty", root.path().join("root/hollow")).unwrap();
        assert_eq!(backend.delete("file"), Ok(()));
        assert_eq!(backend.delete("full"), Err(BackendFailure::DirectoryNotEmpty));
        assert_eq!(backend.delete("hollow"), Ok(()));
        assert_eq!(names(&root.path().join("root")), ["d", "empty", "full"]);
        assert_eq!(backend.read("d/a").unwrap(), b"kept");
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let (root, backend) = temp();
        let path = root.path().join("root/run.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        backend.write("run.sh", b"new".to_vec()).unwrap();
        backend.append("run.sh", b"er").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(backend.read("run.sh").unwrap(), b"newer");
    }

    #[test]
    fn a_pipe_makes_no_call_wait() {
        let (root, backend) = temp();
        let made = std::process::Command::new("mkfifo")
            .arg(root.path().join("root/pipe"))
            .status();
        assert!(made.unwrap().success());
        assert!(matches!(backend.read("pipe"), Err(BackendFailure::Unsupported { .. })));
        assert!(matches!(
            backend.write("pipe", vec![]),
            Err(BackendFailure::Unsupported { .. })
        ));
        assert_eq!(backend.exists("pipe"), Ok(true));
        assert_eq!(list(&backend, "*"), Ok(vec![]));
    }

    #[test]
    fn a_name_too_long_for_the_platform_is_an_io_failure_without_a_number() {
        let (_root, backend) = temp();
        for outcome in [
            backend.write(&"a".repeat(300), vec![]),
            backend.read(&"a".repeat(300)).map(drop),
        ] {
            let Err(BackendFailure::Io { message }) = outcome else {
                panic!("{outcome:?}")
            };
            assert!(!message.contains("os error"), "{message}");
        }
    }

    #[test]
    fn no_race_between_check_and_use_leads_out_of_the_root() {
        let (root, backend) = temp();
        fs::create_dir(root.path().join("outside")).unwrap();
        fs::write(root.path().join("outside/a"), "secret").unwrap();
        fs::create_dir(root.path().join("root/inside")).unwrap();
        fs::write(root.path().join("root/inside/a"), "inside").unwrap();
        let turn = |target: &str| {
            symlink(target, root.path().join("next")).unwrap();
            fs::rename(root.path().join("next"), root.path().join("root/d")).unwrap();
        };
        turn("inside");
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    turn("../outside");
                    turn("inside");
                }
            });
            for _ in 0..2000 {
                if let Ok(bytes) = backend.read("d/a") {
                    assert_ne!(bytes, b"secret");
                }
                let _ = backend.write("d/a", b"inside".to_vec());
                let _ = backend.delete("d/b");
                let _ = backend.append("d/b", b"x");
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(names(&root.path().join("outside")), ["a"]);
        assert_eq!(fs::read(root.path().join("outside/a")).unwrap(), b"secret");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_real_name_that_is_not_utf8_fails_the_listing_that_meets_it() {
    use std::os::unix::ffi::OsStrExt;

    let (root, backend) = temp();
    backend.write("d/e/a", vec![]).unwrap();
    fs::write(
        root.path().join("root/d").join(std::ffi::OsStr::from_bytes(b"ab\xff")),
        "",
    )
    .unwrap();
    let failure = BackendFailure::NameNotUtf8 {
        directory: "d".to_owned(),
        valid_up_to: 2,
    };
    assert_eq!(list(&backend, "d/*"), Err(failure.clone()));
    assert_eq!(list(&backend, "**"), Err(failure));
    assert_eq!(list(&backend, "d/e/*"), Ok(vec!["d/e/a".to_owned()]));
}
