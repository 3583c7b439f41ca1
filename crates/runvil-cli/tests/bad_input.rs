//! Input that cannot be used: one clear error that names the place, the right status, no panic and no hang.

mod common;

use common::{Place, shipped};

#[test]
fn a_prompt_that_cannot_be_read_is_one_clear_error() {
    let place = Place::new();
    place.file("folder/x", "");
    for command in ["run", "contract"] {
        place
            .runvil([command, "none.md"])
            .run()
            .refused(1, "none.md: there is no such file");
        place
            .runvil([command, "folder"])
            .run()
            .refused(1, "folder: this is a directory, not a file");
    }
    place
        .runvil(["check", "none.md"])
        .run()
        .refused(1, "none.md: there is no such file")
        .says("  help: check the path");
    place
        .runvil(["check", "folder"])
        .run()
        .refused(1, "folder: this is a directory, not a file");
}

#[test]
fn bytes_that_are_no_prompt_fail_to_parse() {
    let place = Place::new();
    for (name, bytes, says) in [
        (
            "binary.md",
            b"\x7fELF\xff\xfe\x00\x01".as_slice(),
            "file must be UTF-8 text",
        ),
        (
            "empty.md",
            b"".as_slice(),
            "file must begin with a --- frontmatter delimiter",
        ),
        (
            "nul.md",
            b"---\nname: \0\n".as_slice(),
            "frontmatter was not closed with ---",
        ),
    ] {
        place.file(name, bytes);
        for command in ["run", "check", "contract"] {
            place.runvil([command, name]).run().refused(1, says).says(name);
        }
    }
}

#[test]
fn a_file_beyond_every_prompt_is_refused_without_being_parsed() {
    let place = Place::new();
    place.file("large.md", vec![b'x'; 50 * 1024 * 1024]);
    place
        .runvil(["run", "large.md"])
        .run()
        .refused(1, "large.md: the file is larger than 16 MiB");
}

#[test]
fn input_files_that_cannot_be_used_are_named() {
    let place = Place::new();
    let prompt = place.prompt("input: { path: a.md, description: d }\n", "");
    let prompt = prompt.to_str().expect("text");
    place.file("latin.txt", b"caf\xe9");
    place
        .runvil(["run", prompt, "--input", "none.txt"])
        .run()
        .refused(1, "none.txt: there is no such file");
    place
        .runvil(["run", prompt, "--input", "latin.txt"])
        .run()
        .refused(1, "the file is not UTF-8 text (byte 3)");
    place
        .runvil(["run", prompt, "--input", "."])
        .run()
        .refused(1, "this is a directory");
}

#[test]
fn an_input_that_the_prompt_does_not_declare_fails_the_run() {
    let place = Place::new();
    place.file("in.txt", "x");
    let echo = shipped("echo.md");
    place
        .runvil(["run", echo.to_str().expect("text"), "--input", "in.txt"])
        .run()
        .refused(
            1,
            "the launch supplied input text, but the prompt declares no `input:` file",
        );
}

#[test]
fn an_output_that_the_prompt_does_not_declare_is_a_usage_error() {
    let place = Place::new();
    let echo = shipped("echo.md");
    place
        .runvil(["run", echo.to_str().expect("text"), "--output", "out.txt"])
        .run()
        .refused(2, "declares no `output:` file");
    assert!(!place.path("out.txt").exists());
}

#[test]
fn what_a_run_lacks_is_said_with_what_there_is() {
    let place = Place::new();
    let run = |frontmatter: &str, lua: &str, args: &[&str]| {
        place.prompt(frontmatter, &format!("## A\n\n```lua\n{lua}\n```\n"));
        place.runvil([&["run", "prompt.md"], args].concat()).run()
    };
    run("uses: [webb]\n", "return ''", &[])
        .refused(1, "- missing required Pack: webb")
        .says("this one has `web`, `user-input`; did you mean `web`?");
    let models = "models: { reader: {}, writer: {} }\n";
    run(models, "models.use('writr')", &[])
        .refused(1, "is not a bound model role")
        .says("or use a role that is declared: `reader`, `writer`; did you mean `writer`?");
    run(models, "models.use('writer')", &[])
        .refused(1, "is not a bound model role")
        .says("  help: set RUNVIL_GATEWAY_URL, or `url` under [endpoint] in runvil.toml: the prompt declares")
        .does_not_say("traceback");
    run("", "return models.infer('x')", &[])
        .refused(1, "model binding required")
        .says("help: declare a role under `models:`");
    place.file("in.txt", "text");
    let input = "input: { path: in.txt, description: d }\n";
    for (option, help) in [
        (&["--read-only"][..], "help: leave --read-only out"),
        (&["--store-mode", "ask"], "help: leave --store-mode out"),
        (&["--store-mode", "plan"], "help: leave --store-mode out"),
    ] {
        run(input, "return ''", &[option, &["--input", "in.txt"]].concat())
            .refused(1, "the prompt's declared input file cannot be put in place")
            .says(help);
    }
    run(input, "return ''", &["--read-only"]).says("help: give the file with --input FILE");
}

#[test]
fn a_log_setting_that_means_nothing_is_named_with_its_variable() {
    let place = Place::new();
    let echo = shipped("echo.md");
    place
        .runvil(["run", echo.to_str().expect("text"), "x"])
        .env("RUNVIL_LOG", "error,runvil=loud,runvil_web=debug")
        .run()
        .says("warning: RUNVIL_LOG: `runvil=loud` is passed over")
        .says("such as runvil_model=debug")
        .does_not_say("ignoring");
}

#[test]
fn a_store_that_is_a_file_is_refused() {
    let place = Place::new();
    place.file("taken", "");
    let echo = shipped("echo.md");
    place
        .runvil(["run", echo.to_str().expect("text"), "--store", "taken"])
        .run()
        .refused(1, "this is not a directory");
}

#[test]
fn a_command_line_that_makes_no_sense_is_status_2() {
    let place = Place::new();
    for args in [
        &["run"][..],
        &["fly"],
        &["run", "a.md", "--store-mode", "wild"],
        &["check"],
        &["test"],
    ] {
        let run = place.runvil(args).run();
        assert_eq!(run.status, Some(2), "{run:#?}");
    }
}
