//! `runvil new`.

mod common;

use common::Place;

#[test]
fn a_new_prompt_passes_the_check_and_runs() {
    let place = Place::new();
    let run = place.runvil(["new", "weekly_report"]).run();
    run.completed("").says("runvil run weekly_report.md");
    assert!(place.read("weekly_report.md").starts_with("---\nname: weekly_report\n"));
    place
        .runvil(["check", "weekly_report.md"])
        .run()
        .completed("")
        .says("weekly_report.md: ok");
    place
        .runvil(["run", "weekly_report.md", "hi"])
        .server("hello")
        .run()
        .completed("Hello, world!");
}

#[test]
fn every_template_runs() {
    let place = Place::new();
    for (template, result) in [
        ("chat", "Hello, world!"),
        ("tools", ""),
        ("fanout", "Hello, world!\nHello, world!"),
    ] {
        place.runvil(["new", template, "--with", template]).run().completed("");
        place
            .runvil(["run", &format!("{template}.md"), "one\ntwo"])
            .server("hello")
            .input("hi\n/quit\n")
            .run()
            .completed(result);
    }
}

#[test]
fn a_file_that_exists_is_left_as_it_is() {
    let place = Place::new();
    place.file("mine.md", "precious");
    for name in ["mine", "mine.md"] {
        place
            .runvil(["new", name])
            .run()
            .refused(1, "mine.md: the file exists, and is left as it is");
    }
    assert_eq!(place.read("mine.md"), "precious");
}

#[test]
fn a_name_that_no_prompt_has_is_refused() {
    let place = Place::new();
    for name in ["Report", "2x", "a b", "a.txt", "prompts/", ".."] {
        place
            .runvil(["new", name])
            .run()
            .refused(2, "this is no name for a prompt")
            .says("such as `weekly_report`");
    }
    assert_eq!(std::fs::read_dir(place.path("")).expect("the place").count(), 0);
}

#[test]
fn a_directory_may_stand_before_the_name() {
    let place = Place::new();
    place
        .runvil(["new", "prompts/a"])
        .run()
        .refused(1, "there is no such directory");
    place.file("prompts/other", "");
    place.runvil(["new", "prompts/a"]).run().completed("");
    assert!(place.read("prompts/a.md").contains("# A\n"));
}
