//! A run whose files were changed since its process died does not go on without a word.

mod common;

use std::{path::Path, time::Duration};

use common::{
    Say, Script, models, pack, prompt,
    recorded::{directory, record, resume, resume_on},
    result,
};
use runvil_harness::{Host, Launch, LaunchStore, OnChanged, OnUnknown, ResumeError};
use runvil_pack::{ToolError, ToolOutput};
use runvil_record::{Database, RunId};
use runvil_vfs::{Mount, Mounts, Store};
use runvil_vfs_dir::DirBackend;

/// Writes, changes and deletes files, then waits for a reply that does not come.
async fn die_with_files(place: &Path, database: &Database) -> RunId {
    let body = "## A\n```lua\nmodels.use('m')\nstore.write('kept', 'k')\nstore.write('written', 'w')\n\
                store.write('appended', 'a')\nstore.append('appended', 'b')\nstore.write('deleted', 'd')\nstore.delete('deleted')\n\
                return models.infer('wait') .. store.read('kept')\n```\n";
    let (id, recorder) = record(database, i64::MAX);
    let launch = Launch {
        store: directory(place),
        recorder: Some(recorder),
        ..Launch::new(prompt("models:\n  m: {}\n", body), "t")
    };
    let host = waiting_host(Say::Hang(Vec::new()));
    let cut = tokio::time::timeout(Duration::from_millis(500), host.run(launch, &mut ())).await;
    assert!(cut.is_err());
    id
}

fn waiting_host(say: Say) -> Host {
    let models = models(Script::new([say]));
    Host::builder().models(models).build().expect("a Host")
}

#[tokio::test]
async fn files_that_are_not_as_the_run_left_them_are_told_before_it_goes_on() {
    let place = tempfile::tempdir().expect("a folder");
    let database = Database::in_memory().expect("a database");
    let id = die_with_files(place.path(), &database).await;
    let file = |name: &str| place.path().join(name);
    std::fs::write(file("written"), "other").expect("written");
    std::fs::remove_file(file("appended")).expect("removed");
    std::fs::write(file("deleted"), "again").expect("written");
    std::fs::write(file("strange"), "not the run's").expect("written");
    let host = waiting_host(Say::Text(vec!["r"]));
    let refused = resume(&host, &database, id, directory(place.path()), OnUnknown::Ask).await;
    let Err(error @ ResumeError::Changed(_)) = refused else {
        panic!("resumed")
    };
    assert_eq!(
        error.to_string(),
        "files of the store are not as the run left them: appended is gone; deleted is there again; written was changed"
    );
    let accepted = resume_on(
        &host,
        &database,
        id,
        directory(place.path()),
        OnUnknown::Ask,
        OnChanged::Accept,
    );
    assert_eq!(result(&accepted.await.expect("resumed")), "rk");
}

#[tokio::test]
async fn a_file_that_a_tool_left_on_another_mount_is_one_of_the_runs() {
    let place = tempfile::tempdir().expect("a folder");
    let database = Database::in_memory().expect("a database");
    let host = |say: Say| {
        let kit = pack("acme/kit").shaped_tool(
            "kit/note",
            runvil_pack::ToolDefinition::repeat_safe,
            |_, context| async move {
                let failed = |error: runvil_pack::FileError| ToolError::other(error.to_string());
                for path in ["/docs/note", "/own", "own"] {
                    context.files().write(path, path).await.map_err(failed)?;
                }
                Ok(ToolOutput::trusted("noted"))
            },
        );
        Host::builder()
            .plugin(&kit)
            .models(models(Script::new([say])))
            .build()
            .expect("a Host")
    };
    let store = || {
        let mounted = |at: &str| {
            let backend = DirBackend::new(place.path().join(at.replace('/', "_"))).without_sync();
            Mount::new(at, backend).expect("a mount")
        };
        let mounts = Mounts::new([mounted("/"), mounted("/docs")]).expect("mounts");
        LaunchStore::Supplied(Store::new(mounts, "/").expect("a store"))
    };
    let body = "## A\n```lua\nmodels.use('m')\ntools.call('kit/note')\nreturn models.infer('wait')\n```\n";
    let (id, recorder) = record(&database, i64::MAX);
    let launch = Launch {
        store: store(),
        recorder: Some(recorder),
        ..Launch::new(prompt("uses: [acme/kit]\nmodels:\n  m: {}\n", body), "t")
    };
    let waiting = host(Say::Hang(Vec::new()));
    let cut = tokio::time::timeout(Duration::from_millis(500), waiting.run(launch, &mut ())).await;
    assert!(cut.is_err());
    let own = place.path().join("_/own");
    assert_eq!(std::fs::read_to_string(&own).expect("the file"), "own");
    std::fs::write(place.path().join("_docs/note"), "other").expect("written");
    let answering = host(Say::Text(vec!["r"]));
    let refused = resume(&answering, &database, id, store(), OnUnknown::Ask).await;
    let Err(error @ ResumeError::Changed(_)) = refused else {
        panic!("resumed")
    };
    assert_eq!(
        error.to_string(),
        "files of the store are not as the run left them: /docs/note was changed"
    );
    std::fs::write(place.path().join("_docs/note"), "/docs/note").expect("written");
    let report = resume(&answering, &database, id, store(), OnUnknown::Ask).await;
    assert_eq!(result(&report.expect("resumed")), "r");
}

#[tokio::test]
async fn files_that_are_as_the_run_left_them_are_nothing_to_tell() {
    let place = tempfile::tempdir().expect("a folder");
    let database = Database::in_memory().expect("a database");
    let id = die_with_files(place.path(), &database).await;
    let host = waiting_host(Say::Text(vec!["r"]));
    let report = resume(&host, &database, id, directory(place.path()), OnUnknown::Ask).await;
    assert_eq!(result(&report.expect("resumed")), "rk");
}
