//! What to do about a run that failed, kind by kind.

use std::borrow::Cow;

use runvil_engine::{RunError, RunErrorKind};
use runvil_syntax::Prompt;

use crate::{nearest::nearest, packs};

/// What to do next, in one line, about a run of the prompt.
pub(crate) fn remedy(error: &RunError, prompt: Option<&Prompt>) -> Cow<'static, str> {
    let of_its_own = role(error, prompt).or_else(|| pack(error));
    of_its_own.map_or_else(|| Cow::Borrowed(usual(error)), Cow::Owned)
}

/// What to do about a role that the prompt does not declare, if the run failed for that.
pub(crate) fn role(error: &RunError, prompt: Option<&Prompt>) -> Option<String> {
    let declared = &prompt?.frontmatter.models;
    if error.kind == RunErrorKind::Binding && declared.is_empty() {
        return Some(
            "declare a role under `models:` in the frontmatter, and select it with models.use in the section or \
             models.default under the title"
                .to_owned(),
        );
    }
    let (before, _) = error.message.split_once("\" is not a bound model role")?;
    let (_, written) = before.rsplit_once('"')?;
    if declared.contains_key(written) {
        return None;
    }
    let known = declared.keys().map(String::as_str);
    Some(if declared.is_empty() {
        format!("declare the role under `models:` in the frontmatter, as in `models: {{ {written}: {{}} }}`")
    } else {
        format!(
            "declare `{written}` under `models:` in the frontmatter, or use a role that is declared: {}",
            listed(known.clone(), nearest(written, known))
        )
    })
}

/// What to do about a Pack that this build has not.
fn pack(error: &RunError) -> Option<String> {
    if error.kind != RunErrorKind::RequirementsUnmet {
        return None;
    }
    let (_, rest) = error.message.split_once("- missing required Pack: ")?;
    let written = rest.lines().next()?;
    let known = packs::names();
    let known = known.iter().map(String::as_str);
    Some(format!(
        "change `uses:` in the frontmatter, or use a build that has the Pack; this one has {}",
        listed(known.clone(), nearest(written, known))
    ))
}

/// Names as a person reads them, and the one that may be meant.
fn listed<'a>(names: impl Iterator<Item = &'a str>, meant: Option<&str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    let meant = meant.map(|name| format!("; did you mean `{name}`?"));
    names.join(", ") + meant.as_deref().unwrap_or_default()
}

/// What to do about a failure of this kind.
fn usual(error: &RunError) -> &'static str {
    let says = |text: &str| error.message.contains(text);
    if error.kind == RunErrorKind::Completion && says("exceeds the ") && says("-byte limit") {
        return "raise `max_response_bytes` under [limits] in runvil.toml, or ask for less";
    }
    if error.retryable {
        return "the failure may pass; run the prompt again";
    }
    match error.kind {
        RunErrorKind::Parse if says("no runvil version") => {
            "declare `runvil: 0` in the frontmatter; it says which version the prompt is written for"
        }
        RunErrorKind::Parse => "correct the prompt; `runvil check` looks at it without running anything",
        RunErrorKind::Version => {
            "run the prompt with a build of that major, or declare `runvil: 0` if it is written for this one"
        }
        RunErrorKind::Binding => {
            "select a role before the round, with models.use in the section or models.default under the title"
        }
        RunErrorKind::Completion => completion(&error.message),
        RunErrorKind::Tool if says("did not converge") => {
            "raise `max_tool_iterations` in the frontmatter, or have the prompt tell the model when to stop"
        }
        RunErrorKind::Tool if says("catalog tool") || says("scope") => {
            "declare the tool's Pack under `uses:` and offer the tool in the section that uses it"
        }
        RunErrorKind::Tool => "look at what the tool was given; pcall around the call lets the prompt go on without it",
        RunErrorKind::Vfs => {
            "check the path, and what --store, --store-mode, --read-only and --mount let the prompt do"
        }
        RunErrorKind::Determinism => "let one task at a time use the path, or wait for the task that holds it",
        RunErrorKind::Lua => "correct the Lua; `log(...)` shows how far it came, and with which values",
        RunErrorKind::Quota if says("log") => "log less, or raise `lua_log_events` under [limits] in runvil.toml",
        RunErrorKind::Quota => "nest calls, tasks and fanout arms less deep; the depth cap is fixed",
        RunErrorKind::ContextExhausted => {
            "send less, give models.loop a compactor, or name a model with a larger context window with --model"
        }
        RunErrorKind::RequirementsUnmet if says("the H1 gate failed") => {
            "the prompt checks what it is given under its title; give it what the message asks for"
        }
        RunErrorKind::RequirementsUnmet => requirement(&error.message),
        RunErrorKind::Input if says("declares no") => {
            "leave --input out, or declare an `input:` file in the frontmatter"
        }
        RunErrorKind::Input if says("store path is read-only") => {
            "leave --read-only out: the input file is written into the store; or put the file into the directory of --store \
             beforehand, and leave --input out"
        }
        RunErrorKind::Input if says("needs approval") || says("permission denied") => {
            "leave --store-mode out: the input file is written into the store; or put the file into the directory of --store \
             beforehand, and leave --input out"
        }
        RunErrorKind::Input if says("supplied no input text") => {
            "give the file with --input FILE, or - for standard input"
        }
        RunErrorKind::Input => "look at what the directory of --store has at the path of the input file",
        RunErrorKind::Internal if says("the run cannot be recorded") => {
            "make room on the disk, or let go of the database, and go on with `runvil resume`; or run with --no-record"
        }
        RunErrorKind::Internal => {
            "this is a defect of runvil and not of the prompt; please report it with the message above"
        }
    }
}

fn completion(message: &str) -> &'static str {
    let says = |text: &str| message.contains(text);
    if says("not configured") {
        "set RUNVIL_GATEWAY_URL, or `url` under [endpoint] in runvil.toml"
    } else if says("credentials") {
        "put the endpoint's key into RUNVIL_GATEWAY_API_KEY"
    } else if says("quota is spent") {
        "see to the account at the endpoint, or name another model with --model"
    } else if says("context window") {
        "send less, or name a model with a larger context window with --model"
    } else if says("no text and no tool calls") || says("empty model reply") {
        "ask in other words, or catch `empty_model_reply` with pcall and ask again"
    } else {
        "RUNVIL_LOG=runvil_model=debug shows what the endpoint answered"
    }
}

fn requirement(notice: &str) -> &'static str {
    let says = |text: &str| notice.contains(text);
    if says("runvil/input-broker") {
        "somebody has to answer: leave --no-operator out, and give the input text as a file and not as `--input -`"
    } else if says("- role ") {
        "name a model that meets the roles with --model, or under [model] in runvil.toml"
    } else {
        "use a build that has the Packs, or change `uses:` in the frontmatter"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_decides_among_the_remedies_of_a_kind() {
        use RunErrorKind::*;
        for (kind, message, says) in [
            (Parse, "not a runvil prompt: no runvil version", "declare `runvil: 0`"),
            (Parse, "prompt requires an H1 title", "runvil check"),
            (
                Completion,
                "model access is turned off or not configured",
                "RUNVIL_GATEWAY_URL",
            ),
            (
                Completion,
                "the model backend did not accept the credentials (status 401)",
                "RUNVIL_GATEWAY_API_KEY",
            ),
            (
                Completion,
                "the model backend rejected the request (status 418)",
                "RUNVIL_LOG",
            ),
            (Tool, "tool-call loop did not converge", "max_tool_iterations"),
            (Quota, "lua log event quota exceeded", "lua_log_events"),
            (Quota, "call recursion exceeded cap of 8", "depth cap"),
            (RequirementsUnmet, "- role 'a': requires 'thinking'", "--model"),
            (
                RequirementsUnmet,
                "- user-input needs runvil/input-broker",
                "--no-operator",
            ),
            (Input, "the launch supplied no input text", "--input FILE"),
            (
                Input,
                "input file `a`: store path is read-only: a",
                "leave --read-only out",
            ),
            (
                Input,
                "input file `a`: permission denied for store path a",
                "leave --store-mode out",
            ),
            (
                Input,
                "input file `a`: is a directory in store: a",
                "the directory of --store",
            ),
            (
                RequirementsUnmet,
                "x:\n- missing required Pack: webb\n- y",
                "`web`, `user-input`; did you mean `web`?",
            ),
            (
                RequirementsUnmet,
                "x:\n- missing required Pack: lathe",
                "this one has `web`, `user-input`",
            ),
        ] {
            let remedy = remedy(&RunError::new(kind, message), None);
            assert!(remedy.contains(says), "{message}: {remedy}");
        }
    }

    #[test]
    fn a_role_that_is_not_declared_is_told_with_those_that_are() {
        let help = |models: &str, kind, message: &str| {
            let text = format!("---\nname: p\ndescription: d\nrunvil: 0\n{models}---\n\n# P\n");
            let prompt = runvil_syntax::parse_structure(text.as_bytes()).expect("a prompt");
            remedy(&RunError::new(kind, message), Some(&prompt)).into_owned()
        };
        let declared = "models: { reader: {}, writer: {} }\n";
        let unbound = |role: &str| format!("lua:1: models.use label \"{role}\" is not a bound model role");
        let lua = RunErrorKind::Lua;
        let misspelt = help(declared, lua, &unbound("writr"));
        assert!(
            misspelt.ends_with("is declared: `reader`, `writer`; did you mean `writer`?"),
            "{misspelt}"
        );
        let none = help("", lua, &unbound("w"));
        assert!(none.ends_with("as in `models: { w: {} }`"), "{none}");
        assert!(help(declared, lua, &unbound("writer")).contains("correct the Lua"));
        let binding = "model binding required for section A";
        assert!(help("", RunErrorKind::Binding, binding).contains("declare a role"));
        assert!(help(declared, RunErrorKind::Binding, binding).starts_with("select a role"));
    }

    #[test]
    fn a_reply_over_the_cap_comes_again_and_so_names_its_limit() {
        let message =
            "the model backend sent a reply that could not be understood: response stream exceeds the 16-byte limit";
        let mut error = RunError::new(RunErrorKind::Completion, message);
        error.retryable = true;
        assert!(remedy(&error, None).contains("max_response_bytes"));
    }

    #[test]
    fn a_failure_that_may_pass_is_worth_another_try() {
        let mut error = RunError::new(RunErrorKind::Completion, "the model backend did not answer in time");
        error.retryable = true;
        assert!(remedy(&error, None).contains("run the prompt again"));
    }
}
