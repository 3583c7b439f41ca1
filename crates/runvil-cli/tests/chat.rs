//! The shipped prompts at work.

mod common;

use common::{Place, Server, shipped};

#[test]
fn greet_and_hello_ask_the_model() {
    let place = Place::new();
    let run = |name: &str, args: &str| {
        place
            .runvil(["run".as_ref(), shipped(name).as_os_str(), args.as_ref()])
            .server("echo")
            .run()
    };
    run("hello.md", "").completed("Say \"Hello, world!\"");
    run("greet.md", "Ada").completed("Answer with this greeting and nothing else: Hello, Ada!");
    run("analyst-example.md", "Tea or coffee?");
    let asked = Server::shared().requests("echo", "chat/completions");
    let asks = |text: &str| asked.iter().any(|request| request["body"].to_string().contains(text));
    assert!(asks("Tea or coffee?"));
}

#[test]
fn the_phases_of_a_section_pass_values_on() {
    let place = Place::new();
    place
        .runvil([
            "run".as_ref(),
            shipped("prologue-prose-epilog.md").as_os_str(),
            "one two three".as_ref(),
        ])
        .run()
        .completed("The argument holds 3 words.");
}

#[test]
fn a_chat_answers_line_by_line_and_ends_with_its_input() {
    let place = Place::new();
    let chat = shipped("chat.md");
    let run = |input: &str| {
        place
            .runvil(["run".as_ref(), chat.as_os_str()])
            .server("echo")
            .input(input)
            .run()
    };
    run("first\nsecond\n").completed("second");
    run("first\n/quit\nsecond\n").completed("first");
    run("").completed("");
}

#[test]
fn a_chat_sums_older_turns_up_once_the_window_is_full() {
    let place = Place::new();
    place.file("runvil.toml", "[model]\nid = 'm'\ncontext = 1200\nthinking = 'never'\n");
    let turn = "x".repeat(1000);
    let input = format!("{turn}1\n{turn}2\n{turn}3\n{turn}4\nlast words\n");
    let run = place
        .runvil(["run".as_ref(), shipped("chat.md").as_os_str()])
        .server("echo+long")
        .input(input)
        .run();
    run.completed("last words");
    let rounds = Server::shared().requests("echo+long", "chat/completions");
    let summed = |request: &serde_json::Value| request["body"].to_string().contains("What was said before, in short: ");
    assert!(rounds.iter().any(summed), "{rounds:#?}");
}

#[test]
fn a_chat_goes_on_after_a_turn_that_failed_and_fails_if_none_was_answered() {
    let place = Place::new();
    let run = place
        .runvil(["run".as_ref(), shipped("chat.md").as_os_str()])
        .server("status-500+turns")
        .input("a\nb\n")
        .run();
    run.refused(1, "500");
    let rounds = Server::shared().requests("status-500+turns", "chat/completions");
    let says = |text: &str| {
        rounds
            .iter()
            .any(|request| request["body"]["messages"].to_string().contains(text))
    };
    assert!(says("\"a\"") && says("\"b\""), "{rounds:#?}");
}
