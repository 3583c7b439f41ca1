//! Embedded models: installing them, and running prompts on one.

mod common;

#[cfg(feature = "local")]
#[path = "../../runvil-local/tests/common/tiny.rs"]
mod tiny;

#[cfg(not(feature = "local"))]
#[test]
fn a_build_without_embedded_models_says_how_to_get_them() {
    use common::Place;

    let place = Place::new();
    place.prompt(
        "models:\n  m: {}\n",
        "hi\n\n```lua\nmodels.use('m')\nreturn models.infer(prose)\n```",
    );
    for args in [
        ["model", "list", "--json"],
        ["run", "prompt.md", "--model=local/smollm2"],
    ] {
        let outcome = place.runvil(args).run();
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        assert!(
            outcome
                .stderr
                .starts_with("error: this runvil is built without embedded models\n  help: build it with them: "),
            "{outcome:?}"
        );
    }
}

#[cfg(feature = "local")]
mod installed {
    use std::{env, fs, path::PathBuf};

    use super::common::{Place, shipped};

    use super::tiny::{Meta, Tiny};

    const PROMPT: &str =
        "Say hi.\n\n```lua\nmodels.use('m', { temperature = 0, max_tokens = 8 })\nreturn models.infer(prose)\n```";

    /// A place with a prompt that asks a model, and a model file that is not installed.
    fn place() -> Place {
        let place = Place::new();
        place.prompt("models:\n  m: {}\n", PROMPT);
        place.file("tiny.gguf", Tiny::llama().bytes());
        place
    }

    #[test]
    fn a_model_is_added_listed_run_and_removed() {
        let place = place();
        let empty = place.runvil(["model", "list"]).run();
        assert_eq!((empty.status, empty.stdout.as_str()), (Some(0), ""));
        assert!(empty.stderr.starts_with("no model is installed"), "{empty:?}");

        let added = place.runvil(["model", "add", "tiny", "tiny.gguf"]).run();
        assert_eq!(added.status, Some(0), "{added:?}");
        assert!(
            added
                .stdout
                .starts_with("local/tiny  1 MiB, 1 million parameters, F32, context of 128 tokens: Tiny")
        );
        assert_eq!(place.runvil(["model", "list"]).run().stdout, added.stdout);
        let listed = place.runvil(["model", "list", "--json"]).run().stdout;
        let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
        assert_eq!(listed[0]["name"], "tiny");
        assert_eq!(listed[0]["sha256"].as_str().map(str::len), Some(64));

        let first = place.runvil(["run", "prompt.md"]).run();
        assert_eq!(first.status, Some(0), "{first:?}");
        let named = place.runvil(["run", "prompt.md", "--model", "local/tiny"]).run();
        assert_eq!(first.stdout, named.stdout, "the same request has the same reply");

        let removed = place.runvil(["model", "remove", "tiny"]).run();
        assert_eq!(
            (removed.status, removed.stdout.as_str()),
            (Some(0), "removed local/tiny\n")
        );
        let gone = place.runvil(["run", "prompt.md", "--model", "local/tiny"]).run();
        assert_eq!(gone.status, Some(2));
        assert!(
            gone.stderr
                .starts_with("error: no model named `local/tiny` is installed\n  help: "),
            "{gone:?}"
        );
    }

    #[test]
    fn what_cannot_be_installed_says_why_and_what_to_do() {
        let place = place();
        place.file("cut.gguf", &Tiny::llama().bytes()[..5000]);
        place.file(
            "mamba.gguf",
            Tiny::llama().with("general.architecture", Meta::Text("mamba")).bytes(),
        );
        place.file("notes.gguf", "no model");
        place.runvil(["model", "add", "taken", "tiny.gguf"]).run();
        for (name, file, status, message) in [
            (
                "a",
                "notes.gguf",
                1,
                "error: notes.gguf: this is not a GGUF file\n  help: name a GGUF file",
            ),
            (
                "a",
                "cut.gguf",
                1,
                "error: cut.gguf: the file is cut off: it has 5000 bytes",
            ),
            (
                "a",
                "mamba.gguf",
                1,
                "error: mamba.gguf: the architecture `mamba` is not supported",
            ),
            ("a", "missing.gguf", 1, "error: missing.gguf: "),
            (
                "taken",
                "tiny.gguf",
                1,
                "error: a model named `taken` is installed already\n  help: choose another name",
            ),
            (
                "A b",
                "tiny.gguf",
                2,
                "error: invalid model name `A b`: expected up to 64 lowercase letters",
            ),
            ("../x", "tiny.gguf", 2, "error: invalid model name `../x`"),
        ] {
            let outcome = place.runvil(["model", "add", name, file]).run();
            assert_eq!(outcome.status, Some(status), "{outcome:?}");
            assert!(outcome.stderr.starts_with(message), "{outcome:?}");
        }
        let outcome = place.runvil(["model", "remove", "other"]).run();
        assert_eq!(outcome.status, Some(1));
        assert!(
            outcome
                .stderr
                .starts_with("error: no model named `other` is installed\n  help: `runvil model list`")
        );
        let left: Vec<_> = fs::read_dir(place.path("data/runvil/models"))
            .expect("the library")
            .map(|entry| entry.expect("an entry").file_name())
            .filter(|name| name != ".lock")
            .collect();
        assert_eq!(left, ["taken"]);
    }

    #[test]
    fn an_endpoint_comes_before_an_embedded_model_and_a_name_before_both() {
        let place = place();
        place.runvil(["model", "add", "tiny", "tiny.gguf"]).run();
        let embedded = place.runvil(["run", "prompt.md"]).run().stdout;
        let served = place.runvil(["run", "prompt.md"]).server("echo").run();
        assert_ne!(served.stdout, embedded);
        let named = place
            .runvil(["run", "prompt.md", "--model", "local/tiny"])
            .server("echo")
            .run();
        assert_eq!(named.stdout, embedded);
        place.file("runvil.toml", "[model]\nid = 'local/tiny'\n");
        assert_eq!(place.runvil(["run", "prompt.md"]).server("echo").run().stdout, embedded);
    }

    /// The file of a real model, where there is one on this machine.
    fn real_model() -> Option<PathBuf> {
        let named = env::var_os("RUNVIL_TEST_MODEL").map(PathBuf::from);
        let installed = || {
            let home = env::var_os("XDG_DATA_HOME").map(PathBuf::from);
            let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/share")))?;
            Some(home.join("runvil/models/smollm2/model.gguf"))
        };
        named.or_else(installed).filter(|file| file.is_file())
    }

    #[test]
    fn a_real_model_greets_and_talks() {
        let Some(file) = real_model() else {
            eprintln!("skipped: no model file; ./setup.sh installs one, or RUNVIL_TEST_MODEL names one");
            return;
        };
        let place = Place::new();
        let added = place
            .runvil(["model".as_ref(), "add".as_ref(), "real".as_ref(), file.as_os_str()])
            .run();
        assert_eq!(added.status, Some(0), "{added:?}");
        let run = |prompt: &str| {
            let file = shipped(prompt);
            place.runvil(["run".as_ref(), file.as_os_str(), "Ada".as_ref()])
        };
        let greeting = run("greet.md").run();
        assert_eq!(greeting.status, Some(0), "{greeting:?}");
        assert!(greeting.stdout.contains("Ada"), "{greeting:?}");
        let hello = run("hello.md").run();
        assert!(hello.status == Some(0) && !hello.stdout.trim().is_empty(), "{hello:?}");
        let chat = run("chat.md")
            .input("Name one colour.\nAnd another one?\n/quit\n")
            .run();
        assert_eq!(chat.status, Some(0), "{chat:?}");
    }
}
