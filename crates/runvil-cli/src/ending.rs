//! Tells how a run ended: its result or one JSON object on standard output, everything else on standard error.

use std::{
    borrow::Cow,
    io::{self, IsTerminal as _},
    path::Path,
};

use runvil_engine::{RunError, RunErrorKind, RunOutcome};
use runvil_harness::OutputError;
use runvil_record::RunId;
use runvil_syntax::Prompt;
use serde_json::{Value, json};

use crate::{
    cause::Cause,
    diagnostic::{self, Place},
    exit::{Exit, Fault},
    out,
    remedy::{remedy, role},
    screen::harmless,
    usage::Usage,
};

/// What there is to tell of a run that ended.
pub(crate) struct Ending<'a> {
    pub(crate) path: &'a Path,
    pub(crate) source: &'a [u8],
    /// The prompt's tree, where there is one.
    pub(crate) prompt: Option<&'a Prompt>,
    pub(crate) outcome: &'a RunOutcome,
    /// Why the run was cancelled, if it was.
    pub(crate) cause: Option<Cause>,
    pub(crate) usage: Usage,
    /// What is wrong with the declared output file of a run that completed.
    pub(crate) output: Option<&'a OutputError>,
    /// The prompt declares roles, and there is no model for them.
    pub(crate) lacks_model: bool,
    /// Under which id the run is recorded.
    pub(crate) recorded: Option<RunId>,
}

impl Ending<'_> {
    /// Tells it to a person, and gives the exit status.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn tell(&self) -> Result<Exit, Fault> {
        match self.outcome {
            RunOutcome::Completed { text } => print_result(text)?,
            RunOutcome::Cancelled => out::note(self.cancelled()),
            RunOutcome::Failed(error) => out::note(self.failed(error)),
        }
        if let Some(error) = self.output {
            out::note(format_args!("warning: {}", with_causes(error)));
        }
        Ok(self.exit())
    }

    /// Prints it as one JSON object, and gives the exit status.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn print_json(&self) -> Result<Exit, Fault> {
        let mut object = match self.outcome {
            RunOutcome::Completed { text } => json!({ "outcome": "completed", "result": text }),
            RunOutcome::Cancelled => json!({
                "outcome": "cancelled",
                "cause": self.cause.as_ref().map(Cause::name),
                "message": self.cause.as_ref().map(Cause::to_string),
                "help": self.cause.as_ref().and_then(Cause::help),
            }),
            RunOutcome::Failed(error) => json!({ "outcome": "failed", "error": self.error(error) }),
        };
        if let Some(error) = self.output {
            object["warning"] = with_causes(error).into();
        }
        object["usage"] = json!(self.usage);
        object["run"] = json!(self.recorded.map(|run| run.to_string()));
        out::print(format_args!("{object}\n"))?;
        Ok(self.exit())
    }

    fn exit(&self) -> Exit {
        match self.outcome {
            RunOutcome::Completed { .. } => Exit::Success,
            RunOutcome::Cancelled => Exit::Cancelled,
            RunOutcome::Failed(_) => Exit::Failure,
        }
    }

    fn cancelled(&self) -> String {
        let Some(cause) = &self.cause else {
            return "the run was cancelled".to_owned();
        };
        let mut text = format!("the run was cancelled: {cause}");
        if let Some(help) = cause.help() {
            text.push_str("\n  help: ");
            text.push_str(&help);
        }
        text
    }

    /// A failed run's error for a reader: the line of the prompt that it points at, if it does, and what to do next.
    fn failed(&self, error: &RunError) -> String {
        let place = diagnostic::place(error, self.prompt);
        let text = if place.is_some() || error.kind == RunErrorKind::Parse {
            let mut shown = error.clone();
            if self.wants_model(error) {
                // How Lua came there is not what is wrong.
                shown.message.truncate(diagnostic::headline(&error.message).len());
            }
            diagnostic::render_run_error(self.path, self.source, &shown, place)
        } else {
            format!("error: the run failed ({}): {}", error.kind, harmless(&error.message))
        };
        format!("{text}\n  help: {}", self.help(error))
    }

    fn help(&self, error: &RunError) -> Cow<'static, str> {
        if self.wants_model(error) {
            return "set RUNVIL_GATEWAY_URL, or `url` under [endpoint] in runvil.toml: the prompt declares model roles, and no \
                    model is configured"
                .into();
        }
        remedy(error, self.prompt)
    }

    /// Whether the run failed for want of a model, whatever its error says.
    fn wants_model(&self, error: &RunError) -> bool {
        let asked_for_one = match error.kind {
            RunErrorKind::Lua | RunErrorKind::Completion | RunErrorKind::Binding => true,
            RunErrorKind::RequirementsUnmet => error.message.contains("the H1 gate failed"),
            _ => false,
        };
        self.lacks_model && asked_for_one && role(error, self.prompt).is_none()
    }

    /// The error as data. `location` is the run error's own, with the file in place of a name that is not known; `place` is
    /// where in the file the failure can be shown.
    fn error(&self, error: &RunError) -> Value {
        let mut location = json!(error.location);
        if location["path"] == "<prompt>" {
            location["path"] = self.path.display().to_string().into();
        }
        let place = diagnostic::place(error, self.prompt).map(|place| {
            let Place { line, column } = place.marked(self.source);
            json!({ "file": self.path.display().to_string(), "line": line, "column": column })
        });
        json!({
            "kind": error.kind,
            "message": error.message,
            "retryable": error.retryable,
            "location": location,
            "place": place,
            "help": self.help(error),
        })
    }
}

/// Writes the run result, byte for byte.
fn print_result(text: &str) -> Result<(), Fault> {
    out::print(text)?;
    let watched = io::stdout().is_terminal() && io::stderr().is_terminal();
    if watched && !text.is_empty() && !text.ends_with('\n') {
        // The shell's own prompt is to start on a line of its own; the result itself stays as it is.
        out::note("");
    }
    Ok(())
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
