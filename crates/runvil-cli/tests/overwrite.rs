//! What a run reads is never written over by what it writes.

mod common;

use std::fs;

use common::{Outcome, Place};
use runvil_record::RunFilter;

fn refused(run: &Outcome, what: &str) {
    run.refused(2, &format!("this is {what}, which would be overwritten"))
        .says("help: name another file");
}

/// A place with a prompt that declares an input and an output file, and a run of it that died.
fn place() -> Place {
    let place = Place::with_records();
    place.prompt(
        "models:\n  m: {}\ninput: { path: in.md, description: i }\noutput: { path: out.md, description: o }\n",
        "## A\n\n```lua\nmodels.use('m')\nstore.write('out.md', models.infer('x'))\nreturn 'r'\n```\n",
    );
    place.file("given.txt", "given");
    place.file("ui.json", "{}");
    place.kill_in_a_round(&[
        "prompt.md",
        "x",
        "--input",
        "given.txt",
        "--ui",
        "ui.json",
        "--output",
        "out.txt",
    ]);
    place
}

#[test]
fn a_run_writes_over_nothing_that_it_reads() {
    let place = place();
    let prompt = place.read("prompt.md");
    let run = |option: &str, path: &str| {
        let path = if option == "--events" {
            format!("jsonl:{path}")
        } else {
            path.to_owned()
        };
        let args = [
            "run",
            "prompt.md",
            "x",
            "--input",
            "given.txt",
            "--ui",
            "ui.json",
            option,
            &path,
        ];
        place.runvil(args).server("echo+over").run()
    };
    fs::create_dir(place.path("deep")).expect("a directory");
    fs::hard_link(place.path("prompt.md"), place.path("hard.md")).expect("a link");
    for option in ["--events", "--output"] {
        for (path, what) in [
            ("prompt.md", "the prompt file"),
            ("./deep/../prompt.md", "the prompt file"),
            ("hard.md", "the prompt file"),
            ("given.txt", "the input file"),
            ("ui.json", "the UI file"),
            ("runvil.toml", "a configuration file"),
            ("kept/runs.db", "the database of the records"),
            ("kept/runs.db-wal", "the database of the records"),
        ] {
            refused(&run(option, path), what);
        }
        run(option, "kept/runs.db-live/x").refused(2, "this lies in the folder of the records");
    }
    let both = [
        "run",
        "prompt.md",
        "x",
        "--input",
        "given.txt",
        "--output",
        "a",
        "--events",
        "jsonl:./a",
    ];
    refused(
        &place.runvil(both).server("echo+over").run(),
        "the file that --output names",
    );
    assert_eq!(place.read("prompt.md"), prompt);
    assert_eq!(place.runs(), 1);
    run("--output", "prompt.md.out").completed("r");
}

#[cfg(unix)]
#[test]
fn a_link_does_not_hide_what_it_leads_to() {
    let place = place();
    std::os::unix::fs::symlink("prompt.md", place.path("link")).expect("a link");
    let run = ["run", "prompt.md", "--events", "jsonl:link"];
    refused(&place.runvil(run).run(), "the prompt file");
    // A pipe is not so much as opened before it is read.
    let pipe = place.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    let writer = std::thread::spawn(move || fs::write(pipe, "from a pipe"));
    let piped = [
        "run",
        "prompt.md",
        "x",
        "--input",
        "pipe",
        "--events",
        "jsonl:e.jsonl",
        "--output",
        "p.txt",
    ];
    place.runvil(piped).server("echo+over").run().completed("r");
    writer.join().expect("the writer ends").expect("all was read");
    // A device has nothing to lose, whoever else writes there.
    let run = [
        "run",
        "prompt.md",
        "x",
        "--input",
        "given.txt",
        "--output",
        "/dev/null",
        "--events",
        "jsonl:/dev/null",
    ];
    place.runvil(run).server("echo+over").run().completed("r");
}

#[test]
fn what_takes_up_a_run_writes_over_nothing_of_it() {
    let place = place();
    let answer = place.file("answer.json", r#"{"answer":"model","ok":{"text":"uno"}}"#);
    let answer = answer.to_str().expect("text");
    let taken = |args: &[&str]| place.runvil(args).server("echo+over").run();
    for (args, what) in [
        (
            &["resume", "last", "--events", "jsonl:prompt.md"][..],
            "the prompt file",
        ),
        (&["resume", "last", "--events", "jsonl:given.txt"], "the input file"),
        (
            &["resume", "last", "--events", "jsonl:out.txt"],
            "the file that --output names",
        ),
        (&["replay", "last", "--events", "jsonl:prompt.md"], "the prompt file"),
        (
            &["replay", "last", "answer.json", "--events", "jsonl:answer.json"],
            "the prompt file",
        ),
        (
            &["fork", "last", "--at", "1", "--answer", answer, "--output", answer],
            "the file with the answer",
        ),
        (
            &[
                "fork",
                "last",
                "--at",
                "1",
                "--answer",
                answer,
                "--events",
                "jsonl:kept/runs.db",
            ],
            "the database of the records",
        ),
    ] {
        refused(&taken(args), what);
    }
    assert_eq!(place.runs(), 1);
    taken(&[
        "fork",
        "last",
        "--at",
        "1",
        "--answer",
        answer,
        "--output",
        "forked.txt",
    ])
    .completed("r");
    assert_eq!(place.read("forked.txt"), "uno");
    assert!(!place.path("out.txt").exists());
    let first = place
        .database()
        .runs(&RunFilter::default(), None, 9)
        .expect("a page")
        .runs[1]
        .id
        .to_string();
    taken(&["resume", &first]).completed("r");
    assert_eq!(place.read("out.txt"), "x");
}
