//! The eight operations on the default store: what they return, change and refuse, and in which order they check.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]

use runvil_vfs::{Identity, LineBounds, Mode, Session, Store, StoreFailure, StoreOp, StoreReply};

struct Run {
    session: Session,
    who: Identity,
}

impl Run {
    fn on(store: &Store) -> Self {
        Self {
            session: store.session(),
            who: Identity::root("0"),
        }
    }

    fn new() -> Self {
        Self::on(&Store::memory())
    }

    fn perform(&self, op: StoreOp) -> Result<StoreReply, StoreFailure> {
        self.session.perform(&self.who, op)
    }

    fn write(&self, path: &str, contents: &str) -> Result<StoreReply, StoreFailure> {
        self.perform(StoreOp::Write {
            path: path.into(),
            contents: contents.into(),
        })
    }

    fn append(&self, path: &str, contents: &str) -> Result<StoreReply, StoreFailure> {
        self.perform(StoreOp::Append {
            path: path.into(),
            contents: contents.into(),
        })
    }

    fn read_lines(&self, path: &str, start: Option<i64>, end: Option<i64>) -> Result<String, StoreFailure> {
        text(self.perform(StoreOp::Read {
            path: path.into(),
            lines: LineBounds { start, end },
        }))
    }

    fn read(&self, path: &str) -> Result<String, StoreFailure> {
        self.read_lines(path, None, None)
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<StoreReply, StoreFailure> {
        self.perform(StoreOp::StrReplace {
            path: path.into(),
            old: old.into(),
            new: new.into(),
        })
    }

    fn delete(&self, path: &str) -> Result<StoreReply, StoreFailure> {
        self.perform(StoreOp::Delete { path: path.into() })
    }

    fn exists(&self, path: &str) -> bool {
        match self.perform(StoreOp::Exists { path: path.into() }) {
            Ok(StoreReply::Exists(there)) => there,
            other => panic!("{other:?}"),
        }
    }

    fn glob(&self, pattern: &str) -> String {
        match self.perform(StoreOp::Glob {
            pattern: pattern.into(),
        }) {
            Ok(StoreReply::Paths(paths)) => paths.join(" "),
            other => panic!("{other:?}"),
        }
    }
}

fn text(reply: Result<StoreReply, StoreFailure>) -> Result<String, StoreFailure> {
    match reply? {
        StoreReply::Text(text) => Ok(text),
        other => panic!("{other:?}"),
    }
}

fn message<T: std::fmt::Debug>(outcome: Result<T, StoreFailure>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn a_write_replaces_and_an_append_adds() {
    let run = Run::new();
    assert_eq!(run.write("d/a.txt", "one"), Ok(StoreReply::Done));
    run.write("d/a.txt", "two").unwrap();
    assert_eq!(run.append("d/a.txt", "!"), Ok(StoreReply::Done));
    assert_eq!(run.read("d/a.txt").unwrap(), "two!");
    run.append("new.txt", "first").unwrap();
    assert_eq!(run.read("new.txt").unwrap(), "first");
}

#[test]
fn a_missing_file_is_named_as_written() {
    let run = Run::new();
    assert_eq!(message(run.read("d/no.md")), "file not found in store: d/no.md");
    assert_eq!(message(run.edit("no.md", "a", "b")), "file not found in store: no.md");
    assert!(!run.exists("d"));
}

#[test]
fn a_file_beneath_a_file_is_missing_to_reads_and_blocked_to_writes() {
    let run = Run::new();
    run.write("d/a", "kept").unwrap();
    assert_eq!(message(run.read("d/a/b")), "file not found in store: d/a/b");
    assert_eq!(message(run.edit("d/a/b", "x", "y")), "file not found in store: d/a/b");
    assert!(!run.exists("d/a/b"));
    assert_eq!(run.delete("d/a/b"), Ok(StoreReply::Done));
    assert_eq!(message(run.write("d/a/b/c", "x")), "not a directory in store: d/a");
    assert_eq!(message(run.append("d/a/b", "x")), "not a directory in store: d/a");
    assert_eq!(run.read("d/a").unwrap(), "kept");
    assert_eq!(run.glob("**"), "d/a");
}

#[test]
fn a_directory_is_no_file() {
    let run = Run::new();
    run.write("d/a", "kept").unwrap();
    for outcome in [
        run.write("d", "x"),
        run.append("d", "x"),
        run.edit("d", "x", "y"),
        run.read("d").map(StoreReply::Text),
    ] {
        assert_eq!(message(outcome), "is a directory in store: d");
    }
    assert_eq!(message(run.delete("d")), "directory not empty in store: d");
    assert_eq!(run.read("d/a").unwrap(), "kept");
}

#[test]
fn a_directory_stays_until_it_is_deleted() {
    let run = Run::new();
    run.write("d/sub/c.txt", "").unwrap();
    run.delete("d/sub/c.txt").unwrap();
    assert_eq!(run.glob("d/*/"), "d/sub");
    assert!(run.exists("d/sub"));
    run.delete("d/sub").unwrap();
    assert_eq!(run.glob("d/*/"), "");
    assert!(!run.exists("d/sub") && run.exists("d"));
    run.delete("d").unwrap();
    run.write("d", "a file now").unwrap();
}

#[test]
fn globs_come_sorted_bytewise() {
    let run = Run::new();
    for path in ["a/b", "a.b", "a-b", "b", "ab/c"] {
        run.write(path, "").unwrap();
    }
    assert_eq!(run.glob("**"), "a-b a.b a/b ab/c b");
}

#[test]
fn an_edit_is_refused_unless_its_anchor_occurs_once() {
    let run = Run::new();
    run.write("n", "na na na").unwrap();
    assert_eq!(
        message(run.edit("n", "na", "la")),
        "anchor \"na\" occurs 3 times in n, expected exactly one; include more surrounding text so it matches once"
    );
    assert_eq!(
        message(run.edit("n", "x\ty", "z")),
        "anchor \"x\\ty\" was not found in n, expected exactly one"
    );
    assert_eq!(
        message(run.edit("n", "", "z")),
        "str_replace requires a non-empty anchor: n"
    );
    assert_eq!(run.read("n").unwrap(), "na na na");
}

#[test]
fn a_range_is_checked_once_the_file_is_loaded() {
    let run = Run::new();
    assert_eq!(
        message(run.read_lines("no", Some(0), None)),
        "file not found in store: no"
    );
    assert_eq!(
        message(run.read_lines("no", None, Some(1))),
        "invalid line range for no: start is required when end is given"
    );
    run.write("a", "x\ny").unwrap();
    assert_eq!(
        message(run.read_lines("a", Some(0), None)),
        "invalid line range for a: start must be at least 1"
    );
    assert_eq!(
        message(run.read_lines("a", Some(2), Some(1))),
        "invalid line range for a: end must not be before start"
    );
}

#[test]
fn a_pattern_that_breaks_a_rule_is_named_as_a_pattern() {
    let run = Run::new();
    let glob = |pattern: &str| {
        run.perform(StoreOp::Glob {
            pattern: pattern.into(),
        })
    };
    assert_eq!(
        message(glob("../x")),
        "invalid glob pattern \"../x\": path contains a traversal segment"
    );
    assert_eq!(
        message(run.read("../x")),
        "invalid path \"../x\": path contains a traversal segment"
    );
}

#[test]
fn the_path_comes_before_the_policy_and_the_policy_before_the_file() {
    let store = Store::memory();
    store.set_mode(Mode::Ask);
    let run = Run::on(&store);
    assert_eq!(
        message(run.write("a/", "x")),
        "invalid path \"a/\": path contains an empty segment"
    );
    assert_eq!(
        message(run.edit("a", "", "x")),
        "str_replace requires a non-empty anchor: a"
    );
    assert_eq!(
        message(run.edit("none", "a", "b")),
        "store path none needs approval, which this run cannot give: \
         Write on none needs user approval: the Ask mode refuses all mutations"
    );
    assert!(!run.exists("none"));
}

#[test]
fn a_plan_run_changes_markdown_only() {
    let store = Store::memory();
    store.set_mode(Mode::Plan);
    let run = Run::on(&store);
    run.write("notes.md", "# ok").unwrap();
    assert_eq!(
        message(run.write("data.bin", "x")),
        "permission denied for store path data.bin: \
         Write on data.bin is refused: the Plan mode allows mutations only to markdown paths"
    );
}
