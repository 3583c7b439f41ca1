//! What the command shows: at a terminal, and where nobody watches.

#![cfg(unix)]

mod common;

use common::{Place, Server};

const LOOP: &str =
    "## A\n\n```lua\nmodels.use('w')\nlog('asking')\nmessages:user(args)\nmodels.loop()\nreturn 'the result'\n```";
const INFER: &str = "## A\n\n```lua\nmodels.use('w')\nreturn models.infer(args)\n```";

/// The file name `prompt.md` in the place, for messages that name it.
fn prompt(place: &Place, frontmatter: &str, body: &str) -> &'static str {
    place.prompt(frontmatter, body);
    "prompt.md"
}

#[test]
fn a_terminal_shows_log_live_text_and_result() {
    let place = Place::new();
    let file = prompt(&place, "models: { w: {} }\n", LOOP);
    let mut terminal = place.at_terminal("echo+w1", &["run", file, "Hello there."]);
    assert_eq!(terminal.ends(), 0);
    insta::assert_snapshot!(terminal.screen(), @"
    [A] asking
    Hello there.
    the result
    ");
}

#[test]
fn the_progress_line_comes_and_goes() {
    let (place, root) = (Place::new(), "gated+progress");
    let file = prompt(&place, "models: { w: {} }\n", INFER);
    let mut terminal = place.at_terminal(root, &["run", file, "hi"]);
    terminal.wait("the progress", |screen| {
        screen.starts_with("A · 1 round (1 waiting) · ") && screen.ends_with(" s")
    });
    let first = terminal.screen();
    terminal.wait("the next second", |screen| screen != first && screen.ends_with(" s"));
    assert_eq!(terminal.screen().lines().count(), 1, "{}", terminal.screen());
    Server::shared().open_gate(root);
    assert_eq!(terminal.ends(), 0);
    assert_eq!(terminal.screen(), "You said \"hi\".");
}

#[test]
fn the_progress_line_counts_tasks_rounds_and_tokens() {
    let (place, root) = (Place::new(), "gated+counts");
    let body = "## Main\n\n```lua\nmodels.default('w')\nmodels.infer('first')\ntasks.fanout('### Each', { 'a', 'b' })\nreturn 'ok'\n```\n\n### Each\n\n```lua\nreturn models.infer(item)\n```";
    let file = prompt(&place, "models: { w: {} }\n", body);
    let mut terminal = place.at_terminal(root, &["run", file]);
    Server::shared().open_gate(root);
    terminal.sees("Main · 2 tasks · 3 rounds (2 waiting) · 30 tokens · ");
    Server::shared().open_gate(root);
    terminal.sees("Main · 1 task · 3 rounds (1 waiting) · 60 tokens · ");
    Server::shared().open_gate(root);
    assert_eq!(terminal.ends(), 0);
    assert_eq!(terminal.screen(), "ok");
}

#[test]
fn texts_of_two_tasks_do_not_cut_each_other() {
    let (place, root) = (Place::new(), "gated+two-tasks");
    let body = "## Main\n\n```lua\nmodels.default('w')\ntasks.fanout('### Each', { 'a', 'b' })\nreturn 'ok'\n```\n\n### Each\n\n```lua\nmessages:user(item)\nmodels.loop()\n```";
    let file = prompt(&place, "models: { w: {} }\n", body);
    let mut terminal = place.at_terminal(root, &["run", file]);
    terminal.sees("You said");
    Server::shared().open_gate(root);
    Server::shared().open_gate(root);
    assert_eq!(terminal.ends(), 0);
    let screen = terminal.screen();
    for block in ["[Each 0.0]\nYou said \"a\".\n", "[Each 0.1]\nYou said \"b\".\n"] {
        assert!(screen.contains(block), "{screen}");
    }
    assert_eq!(screen.lines().count(), 5, "{screen}");
}

#[test]
fn nothing_of_it_where_standard_error_is_no_terminal() {
    let (place, root) = (Place::new(), "gated+piped");
    let file = prompt(&place, "models: { w: {} }\n", LOOP);
    let mut terminal = place.shell(root, &format!("\"$RUNVIL\" run {file} hi 2>err"));
    Server::shared().open_gate(root);
    assert_eq!(terminal.ends(), 0);
    assert_eq!(terminal.screen(), "the result");
    assert_eq!(place.read("err"), "");
}

#[test]
fn the_result_in_a_pipe_is_exact_while_a_terminal_watches() {
    let place = Place::new();
    let file = prompt(&place, "models: { w: {} }\n", LOOP);
    let mut terminal = place.shell("echo+w2", &format!("\"$RUNVIL\" run {file} hi >out"));
    assert_eq!(terminal.ends(), 0);
    assert_eq!(place.read("out"), "the result");
    assert_eq!(terminal.screen(), "[A] asking\nhi");
}

#[test]
fn quiet_shows_the_result_alone_at_a_terminal_too() {
    let place = Place::new();
    let file = prompt(&place, "models: { w: {} }\n", LOOP);
    let mut terminal = place.at_terminal("echo+w3", &["run", file, "hi", "--quiet"]);
    assert_eq!(terminal.ends(), 0);
    assert_eq!(terminal.screen(), "the result");
}

#[test]
fn no_color_takes_every_escape_away() {
    let (place, root) = (Place::new(), "gated+no-color");
    let file = prompt(&place, "models: { w: {} }\n", INFER);
    let line = format!("NO_COLOR=1 \"$RUNVIL\" run {file} hi; \"$RUNVIL\" run {file} hi");
    let mut terminal = place.shell(root, &line);
    terminal.sees("1 round");
    let before = terminal.bytes();
    assert!(!before.contains('\x1b'), "{before:?}");
    Server::shared().open_gate(root);
    terminal.wait("the second run", |screen| {
        screen.contains("You said") && screen.contains("1 round")
    });
    assert!(terminal.bytes().contains("\x1b["));
    Server::shared().open_gate(root);
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn what_a_model_says_cannot_steer_the_terminal() {
    let place = Place::new();
    let file = prompt(
        &place,
        "models: { w: {} }\n",
        "## A\n\n```lua\nmodels.use('w')\nlocal esc = string.char(27)\nmessages:user('x' .. esc .. '[2Jy')\nmodels.loop()\nerror(esc .. '[2Jz', 0)\n```",
    );
    let mut terminal = place.at_terminal("echo+steer", &["run", file]);
    assert_eq!(terminal.ends(), 1);
    assert!(!terminal.bytes().contains("\x1b[2J"), "{:?}", terminal.bytes());
    assert!(terminal.bytes().contains("x\u{fffd}[2Jy"), "{:?}", terminal.bytes());
}

/// The same failure at a terminal and in a pipe.
fn shown_twice(body: &str, options: &[&str], status: i32) -> String {
    let place = Place::new();
    let file = prompt(&place, "models: { w: {} }\n", body);
    let mut args = vec!["run", file, "hi"];
    args.extend(options);
    let mut terminal = place.at_terminal("usage-20-10+shown", &args);
    assert_eq!(terminal.ends(), status);
    let piped = place.runvil(&args).server("usage-20-10+shown").run();
    assert_eq!((piped.status, piped.stdout.as_str()), (Some(status), ""), "{piped:#?}");
    assert_eq!(
        terminal.screen(),
        piped.stderr.trim_end(),
        "a terminal and a pipe say the same"
    );
    piped.stderr
}

#[test]
fn a_lua_failure_shows_its_line() {
    let text = shown_twice("## A\n\n```lua\nlocal x\n  x.y = 1\n```", &[], 1);
    insta::assert_snapshot!(text);
}

#[test]
fn a_prompt_that_does_not_compile_shows_its_line() {
    let text = shown_twice("## A\n\n```lua\nlocal x = 1\nlocal y = = 2\n```", &[], 1);
    insta::assert_snapshot!(text);
}

#[test]
fn a_prompt_that_does_not_parse_shows_its_line() {
    let text = shown_twice("## A\n\n#### Too deep\n", &[], 1);
    insta::assert_snapshot!(text);
}

#[test]
fn a_gate_that_fails_shows_its_line() {
    let text = shown_twice("```lua\nassert(args == 'ho', 'say ho')\n```\n\n## A\n", &[], 1);
    insta::assert_snapshot!(text);
}

#[test]
fn a_budget_that_is_passed_is_named() {
    let text = shown_twice(
        "## A\n\n```lua\nmodels.use('w')\nwhile true do models.infer('go') end\n```",
        &["--max-total-tokens", "50"],
        130,
    );
    insta::assert_snapshot!(text, @"
    the run was cancelled: it passed its budget of 50 tokens, having used 60
      help: raise --max-total-tokens, or `max_total_tokens` under [budget] in runvil.toml, or let the prompt do less
    ");
}
