//! `runvil check` and `runvil contract`.

mod common;

use common::{Place, shipped};
use serde_json::{Value, json};

#[test]
fn every_shipped_prompt_parses() {
    let place = Place::new();
    let prompts = std::fs::read_dir(shipped("")).expect("the shipped prompts");
    let prompts: Vec<_> = prompts.map(|entry| entry.expect("an entry").path()).collect();
    assert!(prompts.len() >= 7, "{prompts:?}");
    let mut args = vec!["check".into()];
    args.extend(prompts.into_iter().map(std::path::PathBuf::into_os_string));
    let run = place.runvil(args).run();
    assert_eq!(run.status, Some(0), "{run:#?}");
    run.does_not_say("warning");
}

#[test]
fn a_bad_file_is_shown_with_its_place_and_the_others_are_still_checked() {
    let place = Place::new();
    let good = place.prompt("", "## A");
    let bad = place.file("bad.md", "---\nname: p\ndescription: d\n: : :\n---\n\n# T\n");
    let run = place
        .runvil(["check".as_ref(), bad.as_os_str(), good.as_os_str()])
        .run();
    run.refused(1, "invalid frontmatter: ")
        .says("bad.md:4:")
        .says("4 | : : :")
        .says("prompt.md: ok");
}

#[test]
fn a_lua_error_is_told_in_the_compilers_words() {
    let place = Place::new();
    let bad = place.prompt("", "## A\n\n```lua\nreturn (\n```");
    let run = place.runvil(["check".as_ref(), bad.as_os_str()]).run();
    run.refused(1, "lua compilation error at section `A` prologue (line 12): ")
        .says("prompt.md");
    let bad = place.prompt("", "## A\n\n```lua\nlocal x\n  x y\n```");
    let run = |args: &[&str]| {
        place
            .runvil(args.iter().map(AsRef::as_ref).chain([bad.as_os_str()]))
            .run()
    };
    run(&["check"]).says("prompt.md:13:3");
    let checked: Value = serde_json::from_str(&run(&["check", "--json"]).stdout).expect("JSON");
    let error = &checked[0]["error"];
    assert_eq!((&error["line"], &error["column"]), (&json!(13), &json!(3)));
    let told: Value = serde_json::from_str(&run(&["run", "--json"]).stdout).expect("JSON");
    let place = &told["error"]["place"];
    assert_eq!((&place["line"], &place["column"]), (&json!(13), &json!(3)));
}

#[test]
fn text_that_no_model_can_see_is_warned_of() {
    let place = Place::new();
    let check = |body: &str| {
        place.prompt("", body);
        let run = place.runvil(["check", "prompt.md"]).run();
        assert_eq!(run.status, Some(0), "{run:#?}");
        run.stderr
    };
    let lua = "```lua\nreturn prose\n```";
    let told = check(&format!("## One\n\nSay hello.\n\n## Two\n\nSay more.\n\n{lua}\n"));
    assert_eq!(
        told,
        "prompt.md:9: warning: section `One` has prose but no Lua, so no model sees it\nprompt.md: ok\n"
    );
    let json = place.runvil(["check", "--json", "prompt.md"]).run().stdout;
    let entries: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(entries[0]["ok"], true);
    assert_eq!(entries[0]["warnings"][0]["line"], 9);
    // What Lua can read, what has items of its own, and what is not there.
    for fine in [
        "## One\n\nSay hello.\n\n## Two\n\n```lua\nreturn prompt.section('## One')\n```\n",
        "## One\n\n- a\n- b\n",
        "## One\n\n### Two\n",
        &format!("{lua}\n\nNotes.\n\n## One\n\n{lua}\n\nNotes.\n"),
    ] {
        assert_eq!(check(fine), "prompt.md: ok\n", "{fine}");
    }
}

#[test]
fn json_has_one_entry_for_each_file() {
    let place = Place::new();
    let good = place.prompt("", "## A");
    let bad = place.file("bad.md", "---\nname: dup\ndescription: d\n---\n# T\n## S\n## S\n");
    let run = place
        .runvil([
            "check".as_ref(),
            "--json".as_ref(),
            good.as_os_str(),
            bad.as_os_str(),
            "none.md".as_ref(),
        ])
        .run();
    assert_eq!(run.status, Some(1), "{run:#?}");
    let entries: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(entries[0]["ok"], true);
    assert_eq!(entries[1]["ok"], false);
    let error = &entries[1]["error"];
    assert_eq!(
        (&error["code"], &error["name"]),
        (&json!("parse_structure"), &json!("dup"))
    );
    assert_eq!((&error["line"], &error["column"]), (&json!(7), &json!(1)));
    assert_eq!(entries[2]["error"]["code"], "unreadable");
    assert_eq!(run.stderr, "");
}

const CONTRACT: &str = "\
input: { path: names.md, description: The names }
uses: [web, acme/kit]
args:
  topic: { type: string, description: the topic }
  times: { type: integer, optional: true, default: 1 }
models:
  writer: { keywords: [fast], min_context: 100 }
";

#[test]
fn a_contract_lists_what_a_prompt_declares() {
    let place = Place::new();
    let prompt = place.prompt(CONTRACT, "");
    let run = place
        .runvil(["contract".as_ref(), "--json".as_ref(), prompt.as_os_str()])
        .run();
    let contract: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(contract["name"], "p");
    assert_eq!(
        contract["input"],
        json!({ "path": "names.md", "description": "The names" })
    );
    assert_eq!(contract["output"], Value::Null);
    assert_eq!(contract["uses"], json!(["web", "acme/kit"]));
    let topic =
        json!({ "name": "topic", "type": "string", "optional": false, "default": null, "description": "the topic" });
    let args = contract["args"].as_array().expect("a list");
    assert!(args.contains(&topic), "{args:?}");
    let writer = json!({ "label": "writer", "keywords": ["fast"], "min_context": 100, "description": null });
    assert_eq!(contract["models"], json!([writer]));

    let run = place.runvil(["contract".as_ref(), prompt.as_os_str()]).run();
    assert_eq!(run.status, Some(0));
    for line in [
        "uses: acme/kit",
        "arg: topic (string) — the topic",
        "arg: times (integer, optional, default 1)",
        "model: writer (fast, context of at least 100 tokens)",
    ] {
        assert!(run.stdout.lines().any(|shown| shown == line), "{run:#?}");
    }
}

#[test]
fn the_contract_of_a_prompt_without_args_has_the_prose_argument() {
    let place = Place::new();
    let run = place
        .runvil(["contract".as_ref(), "--json".as_ref(), shipped("echo.md").as_os_str()])
        .run();
    let contract: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(contract["args"][0]["name"], "prose");
}
