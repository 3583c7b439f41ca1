//! What to do about a run that failed, kind by kind.

use runvil_engine::{RunError, RunErrorKind};

/// What to do next, in one line.
pub(crate) fn remedy(error: &RunError) -> &'static str {
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
        RunErrorKind::Input => "give the file with --input FILE, or - for standard input",
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
            (Input, "the prompt declares the input file `a`", "--input FILE"),
        ] {
            let remedy = remedy(&RunError::new(kind, message));
            assert!(remedy.contains(says), "{message}: {remedy}");
        }
    }

    #[test]
    fn a_reply_over_the_cap_comes_again_and_so_names_its_limit() {
        let message =
            "the model backend sent a reply that could not be understood: response stream exceeds the 16-byte limit";
        let mut error = RunError::new(RunErrorKind::Completion, message);
        error.retryable = true;
        assert!(remedy(&error).contains("max_response_bytes"));
    }

    #[test]
    fn a_failure_that_may_pass_is_worth_another_try() {
        let mut error = RunError::new(RunErrorKind::Completion, "the model backend did not answer in time");
        error.retryable = true;
        assert!(remedy(&error).contains("run the prompt again"));
    }
}
