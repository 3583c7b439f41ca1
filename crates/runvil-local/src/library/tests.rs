use tempfile::TempDir;

use super::*;
use crate::tiny::{Meta, Tiny};

/// A library that does not exist yet, and a model file beside it.
fn library() -> (TempDir, Library, PathBuf) {
    let root = tempfile::tempdir().expect("a folder");
    let file = root.path().join("tiny.gguf");
    fs::write(&file, Tiny::llama().bytes()).expect("written");
    let library = Library::new(root.path().join("data/models"));
    (root, library, file)
}

fn name(text: &str) -> LocalName {
    text.parse().expect("a name")
}

fn contents(library: &Library) -> Vec<String> {
    let entries = fs::read_dir(library.folder()).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != LOCK_FILE)
        .collect();
    names.sort();
    names
}

#[test]
fn a_model_is_added_listed_and_removed() {
    let (_root, library, file) = library();
    assert_eq!(library.list().expect("an empty library"), []);
    let added = library.add(&name("tiny"), &file).expect("added");
    assert_eq!(added.bytes, fs::metadata(&file).expect("the file").len());
    assert_eq!(added.sha256.len(), 64);
    library.add(&name("another"), &file).expect("added");
    let names: Vec<String> = library
        .list()
        .expect("a list")
        .into_iter()
        .map(|model| model.name.to_string())
        .collect();
    assert_eq!(names, ["another", "tiny"]);
    assert_eq!(library.get(&name("tiny")).expect("known"), added);
    assert_eq!(
        fs::read(library.model_file(&name("tiny"))).expect("the copy"),
        fs::read(&file).expect("the file")
    );
    library.remove(&name("tiny")).expect("removed");
    assert_eq!(contents(&library), ["another"]);
}

#[test]
fn a_name_is_given_once() {
    let (_root, library, file) = library();
    library.add(&name("tiny"), &file).expect("added");
    let error = library.add(&name("tiny"), &file).expect_err("taken");
    assert_eq!(error.to_string(), "a model named `tiny` is installed already");
}

#[test]
fn an_unknown_name_cannot_be_removed() {
    let (_root, library, _file) = library();
    let error = library.remove(&name("tiny")).expect_err("unknown");
    assert_eq!(error.to_string(), "no model named `tiny` is installed");
    assert!(!library.folder().exists(), "asking for a model makes no folder");
}

#[test]
fn what_is_no_model_leaves_nothing_behind() {
    let (root, library, file) = library();
    let text = root.path().join("notes.txt");
    fs::write(&text, "no model").expect("written");
    let cut = root.path().join("cut.gguf");
    fs::write(&cut, &fs::read(&file).expect("the file")[..20_000]).expect("written");
    let other = root.path().join("other.gguf");
    fs::write(
        &other,
        Tiny::llama().with("general.architecture", Meta::Text("mamba")).bytes(),
    )
    .expect("written");
    let missing = root.path().join("missing.gguf");
    for path in [&text, &cut, &other, &missing, &root.path().to_owned()] {
        let error = library.add(&name("tiny"), path).expect_err("refused").to_string();
        assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
        assert!(contents(&library).is_empty(), "{error}");
    }
}

#[test]
fn what_an_interrupted_copy_left_is_no_model_and_is_swept_away() {
    let (_root, library, file) = library();
    let left = library.folder().join(format!("{UNFINISHED}abc"));
    fs::create_dir_all(&left).expect("a folder");
    fs::write(left.join(MODEL_FILE), "half a model").expect("written");
    assert_eq!(library.list().expect("a list"), []);
    library.add(&name("tiny"), &file).expect("added");
    assert_eq!(contents(&library), ["tiny"]);
}

#[test]
fn two_changes_at_a_time_are_refused() {
    let (_root, library, file) = library();
    let lock = library.lock().expect("the lock");
    let error = library.add(&name("tiny"), &file).expect_err("busy");
    assert_eq!(error.to_string(), "another process is adding or removing a model");
    drop(lock);
    library.add(&name("tiny"), &file).expect("added");
}

#[test]
fn a_description_that_was_damaged_is_told_with_its_place() {
    let (_root, library, file) = library();
    library.add(&name("tiny"), &file).expect("added");
    fs::write(library.folder().join("tiny").join(FACTS_FILE), "{").expect("written");
    let error = library.list().expect_err("damaged").to_string();
    assert!(
        error.contains("model.json: the description of the model cannot be read"),
        "{error}"
    );
    library.remove(&name("tiny")).expect("a damaged model can be removed");
}

#[cfg(unix)]
#[test]
fn a_copy_that_fails_leaves_nothing_behind() {
    let (_root, library, file) = library();
    library.add(&name("tiny"), &file).expect("added");
    let to = library.folder().join("tiny").join(MODEL_FILE);
    let error = copy(&file, &to).expect_err("the target exists").to_string();
    assert!(error.starts_with(&format!("{}: ", to.display())), "{error}");
    assert_eq!(contents(&library), ["tiny"]);
}
