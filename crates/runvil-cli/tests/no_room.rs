//! What a run leaves where something that it writes to takes no more.

#![cfg(unix)]

mod common;

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use common::Place;

const DECLARES: &str = "output:\n  path: out.txt\n  description: The result.\n";

const WRITES: &str = "## A\n\n```lua\nstore.write('out.txt', 'kept')\nreturn 'shown'\n```\n";

#[cfg(target_os = "linux")]
#[test]
fn the_output_file_is_written_though_standard_output_takes_nothing() {
    for json in ["", "--json"] {
        let place = Place::with_records();
        place.prompt(DECLARES, WRITES);
        let line = format!("\"$RUNVIL\" run prompt.md --output o.txt {json} >/dev/full");
        assert_eq!(place.shell("echo", &line).ends(), 1);
        assert_eq!(place.read("o.txt"), "kept");
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_told() {
    let place = Place::with_records();
    let grows = "## A\n\n```lua\nstore.write('a.md', ('x'):rep(300000))\nreturn 'done'\n```\n";
    place.prompt("", grows);
    let mut terminal = place.shell("echo", "ulimit -f 200; \"$RUNVIL\" run prompt.md --quiet");
    assert_eq!(terminal.ends(), 1);
    let told = terminal.screen();
    assert!(told.contains("the disk is full, or the file may not grow"), "{told}");
}

#[test]
fn a_prompt_whose_path_the_record_cannot_keep_is_refused() {
    let place = Place::with_records();
    let prompt = place.prompt(DECLARES, WRITES);
    let odd = place.path("x").with_file_name(OsStr::from_bytes(b"\xff.md"));
    std::fs::copy(prompt, &odd).expect("a copy");
    place
        .runvil(["run"])
        .run_file(&odd, "")
        .refused(2, "is not UTF-8, so the run cannot be recorded")
        .says("--no-record");
    place
        .runvil(["run", "--no-record"])
        .run_file(&odd, "")
        .completed("shown");
}
