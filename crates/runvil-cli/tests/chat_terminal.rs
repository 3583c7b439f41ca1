//! The shipped chat at a terminal: an operator types, a server in a process of its own streams.

#![cfg(unix)]

mod common;

use common::{Place, Server, shipped};
use serde_json::{Value, json};

/// Starts the chat, and waits for its first question.
fn chat(place: &Place, behaviour: &str) -> common::terminal::Terminal {
    let prompt = shipped("chat.md");
    let terminal = place.at_terminal(behaviour, &["run", prompt.to_str().expect("text")]);
    terminal.wait("the question", |screen| screen == ">");
    terminal
}

fn messages(request: &Value) -> Vec<Value> {
    request["body"]["messages"].as_array().expect("messages").clone()
}

#[test]
fn two_turns_are_streamed_as_they_come_and_the_second_knows_the_first() {
    let (place, server, root) = (Place::new(), Server::shared(), "gated+two-turns");
    let mut terminal = chat(&place, root);

    terminal.types("My name is Ada.\r");
    // The server holds the rest of the reply back, so that what stands here was shown while the round was on.
    terminal.sees("You said");
    assert!(!terminal.screen().contains("You said \""), "{}", terminal.screen());
    server.open_gate(root);
    terminal.sees("You said \"My name is Ada.\".\n>");

    terminal.types("Who am I?\r");
    terminal.wait("the second reply", |screen| screen.matches("You said").count() == 2);
    assert!(!terminal.screen().contains("Who am I?\"."), "{}", terminal.screen());
    server.open_gate(root);
    terminal.sees("You said \"Who am I?\".\n>");

    terminal.types("/quit\r");
    assert_eq!(terminal.ends(), 0);
    insta::assert_snapshot!(terminal.screen(), @r#"
    > My name is Ada.
    You said "My name is Ada.".
    > Who am I?
    You said "Who am I?".
    > /quit
    You said "Who am I?".
    "#);

    let rounds = server.requests(root, "chat/completions");
    assert_eq!(rounds.len(), 2, "{rounds:#?}");
    assert_eq!(rounds[0]["body"]["stream"], json!(true));
    let second = messages(&rounds[1]);
    assert_eq!(
        second[second.len() - 3..],
        [
            json!({ "role": "user", "content": "My name is Ada." }),
            json!({ "role": "assistant", "content": "You said \"My name is Ada.\"." }),
            json!({ "role": "user", "content": "Who am I?" }),
        ]
    );
    assert_eq!(messages(&rounds[0]).len(), second.len() - 2);
}

#[test]
fn the_end_of_the_input_leaves_the_chat() {
    let place = Place::new();
    let mut terminal = chat(&place, "gated+end");
    terminal.types("\x04");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(terminal.screen(), ">");
}

#[test]
fn ctrl_c_stops_a_reply_and_the_chat_goes_on() {
    let (place, server, root) = (Place::new(), Server::shared(), "gated+stopped");
    let mut terminal = chat(&place, root);
    terminal.types("first\r");
    terminal.sees("You said");
    terminal.types("\x03");
    terminal.sees("stopping the calls that wait");
    terminal.wait("the next question", |screen| screen.ends_with("\n>"));

    terminal.types("second\r");
    terminal.wait("the next reply", |screen| screen.matches("You said").count() == 2);
    // The stopped reply still waits for the gate, unless its server saw that nobody reads any more.
    server.open_gate(root);
    server.open_gate(root);
    terminal.sees("You said \"second\".\n>");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends(), 0);
    let last = server.requests(root, "chat/completions").pop().expect("a request");
    let contents = messages(&last);
    assert!(
        !contents.iter().any(|message| message["content"] == "first"),
        "{contents:#?}"
    );
}

#[test]
fn a_message_of_several_lines_is_one_turn() {
    let (place, server, root) = (Place::new(), Server::shared(), "gated+lines");
    let mut terminal = chat(&place, root);
    server.open_gate(root);
    terminal.types("one\\\rtwo\r");
    terminal.sees("You said \"one\ntwo\".");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends(), 0);
    let asked = server.requests(root, "chat/completions");
    assert_eq!(messages(&asked[0]).last().expect("a message")["content"], "one\ntwo");
}

#[test]
fn ctrl_c_twice_cancels_a_chat_that_waits_for_its_operator() {
    let place = Place::new();
    let mut terminal = chat(&place, "gated+cancelled");
    let (hint, end) = (
        "press Ctrl-C again within 2 s",
        "the run was cancelled: Ctrl-C was pressed twice",
    );
    // Each press is answered by the one or the other; by the hint again where the machine took longer than 2 seconds.
    for presses in 1.. {
        terminal.types("\x03");
        terminal.wait("an answer to Ctrl-C", |screen| {
            screen.contains(end) || screen.matches(hint).count() == presses
        });
        if terminal.screen().contains(end) {
            assert!(presses > 1, "one press cancels nothing");
            break;
        }
    }
    assert_eq!(terminal.ends(), 130);
}
