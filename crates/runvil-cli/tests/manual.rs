//! `runvil completions` and `runvil man`.

mod common;

use std::fs;

use common::Place;

/// The commands, as the help lists them.
fn commands(place: &Place) -> Vec<String> {
    let help = place.runvil(["--help"]).run();
    let list = help.stdout.split_once("Commands:\n").expect("the commands").1;
    let list = list.split("\n\n").next().expect("the commands");
    // A line that goes on with a description stands further in.
    let first = |line: &str| {
        let entry = line.strip_prefix("  ").filter(|entry| !entry.starts_with(' '))?;
        entry.split_whitespace().next().map(str::to_owned)
    };
    list.lines()
        .filter_map(first)
        .filter(|command| command != "help")
        .collect()
}

#[test]
fn each_shell_has_completions_for_every_command() {
    let place = Place::new();
    let commands = commands(&place);
    assert!(commands.len() >= 8, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = place.runvil(["completions", shell]).run();
        assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:#?}");
        for command in &commands {
            assert!(run.stdout.contains(command.as_str()), "{shell}: {command}");
        }
        assert!(run.stdout.contains("store-mode"), "{shell}");
    }
}

#[test]
fn a_shell_that_is_not_known_is_refused_with_the_known_ones() {
    Place::new()
        .runvil(["completions", "csh"])
        .run()
        .refused(2, "invalid value 'csh'")
        .says("zsh");
}

#[cfg(unix)]
#[test]
fn bash_completes_a_command_by_the_script() {
    let place = Place::new();
    let script = place.runvil(["completions", "bash"]).run().stdout;
    let script = place.file("completions.bash", script);
    for (before, typed, offers) in [
        ("", "comp", "completions"),
        ("show", "la", "last"),
        ("replay", "la", "last"),
        ("man", "ru", "run runs"),
        ("run --output", "comp", "completions.bash"),
        ("run --model", "comp", "comp"),
    ] {
        let words = format!("runvil {before} {typed}");
        let count = words.split_whitespace().count();
        let previous = before.split_whitespace().last().unwrap_or("runvil");
        let probe = format!(
            "cd {}; source {}; COMP_WORDS=({words}); COMP_CWORD={}; _runvil runvil {typed} {previous}; \
             echo \"${{COMPREPLY[@]}}\"",
            place.path("").display(),
            script.display(),
            count - 1
        );
        let Ok(output) = std::process::Command::new("bash").args(["-c", &probe]).output() else {
            // A machine without bash has nothing to complete.
            return;
        };
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim_end(),
            offers,
            "{words}: {output:?}"
        );
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let place = Place::new();
    let page = place.runvil(["man"]).run();
    assert_eq!((page.status, page.stderr.as_str()), (Some(0), ""), "{page:#?}");
    assert!(page.stdout.contains(".TH runvil 1"), "{page:#?}");
    place.runvil(["man", "--dir", "share/man1"]).run().completed("");
    for command in commands(&place) {
        let page = place.runvil(["man", &command]).run();
        assert_eq!(page.status, Some(0), "{page:#?}");
        assert!(page.stdout.contains(&format!(".TH runvil-{command} 1")), "{page:#?}");
        assert_eq!(place.read(&format!("share/man1/runvil-{command}.1")), page.stdout);
    }
    assert_eq!(place.read("share/man1/runvil.1"), place.runvil(["man"]).run().stdout);
}

#[test]
fn a_command_below_a_command_has_a_page_of_its_own() {
    let place = Place::new();
    place.runvil(["man", "--dir", "share"]).run().completed("");
    let page = place.runvil(["man", "model", "add"]).run();
    assert_eq!(page.status, Some(0), "{page:#?}");
    assert_eq!(place.read("share/runvil-model-add.1"), page.stdout);
    assert!(page.stdout.contains(".TH runvil-model-add 1"), "{page:#?}");
    assert!(page.stdout.contains("runvil(1), runvil\\-model(1)"), "{page:#?}");
    // Every page that another one leads to is there.
    for entry in fs::read_dir(place.path("share")).expect("a directory").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a page").replace("\\-", "-");
        for (at, _) in text.match_indices("(1)") {
            let name = text[..at].rsplit(|letter: char| letter.is_whitespace()).next();
            let name = name.expect("a name");
            assert!(place.path(&format!("share/{name}.1")).exists(), "{name} in {entry:?}");
        }
    }
    place
        .runvil(["man", "model", "fly"])
        .run()
        .refused(2, "there is no command `model fly`");
}

#[test]
fn a_page_tells_values_statuses_variables_and_files() {
    let place = Place::new();
    let run = place.runvil(["man", "run"]).run().stdout.replace("\\-", "-");
    for says in [
        "[--input <FILE|->]",
        "[-q|--quiet]",
        "[--mount <PATH=DIR>]...",
        "<FILE> [ARGS]",
        "EXIT STATUS",
        "130",
    ] {
        assert!(run.contains(says), "{says}: {run}");
    }
    let prune = place.runvil(["man", "prune"]).run().stdout.replace("\\-", "-");
    assert!(prune.contains(" --older-than <AGE>"), "{prune}");
    let all = place.runvil(["man"]).run().stdout.replace("\\-", "-");
    for says in [
        "ENVIRONMENT",
        "RUNVIL_GATEWAY_API_KEY",
        "FILES",
        "runvil.toml",
        "EXIT STATUS",
    ] {
        assert!(all.contains(says), "{says}: {all}");
    }
}

#[test]
fn a_page_of_no_command_is_refused() {
    Place::new()
        .runvil(["man", "fly"])
        .run()
        .refused(2, "there is no command `fly`")
        .says("runvil help");
}
