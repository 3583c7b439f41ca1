//! Compares what came out of a run with what its case expects.

mod events;
mod parse;
mod requests;

pub(crate) use requests::mentions;
use runvil_engine::{RunError, RunOutcome};
use serde_json::{Value, json};

use crate::{
    case::{ErrorWant, Expect, LocationWant, OutcomeWant, ParseWant},
    mismatch::{Mismatch, Want},
    observed::Observed,
};

/// Every expectation that is not met, in the order of the format's keys.
#[must_use]
pub(crate) fn check(expect: &Expect, seen: &Observed) -> Vec<Mismatch> {
    let mut found = Vec::new();
    match &expect.parse {
        Some(ParseWant::Succeeds) => parse::succeeds(seen, &mut found),
        Some(ParseWant::Fails(want)) => parse::fails(want, seen, &mut found),
        None => {}
    }
    parse::frontmatter(&expect.frontmatter, seen, &mut found);
    if let Some(outcome) = expect.outcome() {
        check_outcome(outcome, &seen.outcome, &mut found);
    }
    check_result(expect, seen, &mut found);
    if let Some(want) = &expect.error {
        check_error(want, seen, &mut found);
    }
    check_work(expect, seen, &mut found);
    requests::check(expect, seen, &mut found);
    events::check(expect, seen, &mut found);
    found
}

fn check_outcome(want: OutcomeWant, outcome: &RunOutcome, found: &mut Vec<Mismatch>) {
    let (actual, shown) = match outcome {
        RunOutcome::Completed { text } => (OutcomeWant::Completed, json!(format!("completed: {text}"))),
        RunOutcome::Cancelled => (OutcomeWant::Cancelled, json!("cancelled")),
        RunOutcome::Failed(error) => (
            OutcomeWant::Failed,
            json!(format!("failed: {}: {}", error.kind, error.message)),
        ),
    };
    if actual != want {
        found.push(Mismatch::differs("outcome", want.as_str(), shown));
    }
}

fn check_result(expect: &Expect, seen: &Observed, found: &mut Vec<Mismatch>) {
    // A run without a result is already told by its outcome.
    let RunOutcome::Completed { text } = &seen.outcome else {
        return;
    };
    if let Some(want) = &expect.result
        && want != text
    {
        found.push(Mismatch::differs("result", want.as_str(), text.as_str()));
    }
    contains("result", &expect.result_contains, &[], text, found);
    if let (Some(pattern), Ok(Some(regex))) = (&expect.result_matches, expect.result_regex())
        && !regex.is_match(text)
    {
        found.push(Mismatch::falls_short(
            "result",
            Want::Match(pattern.clone()),
            text.as_str(),
        ));
    }
}

/// Checks which texts are in `text` and which are not.
fn contains(what: &str, in_it: &[String], not_in_it: &[String], text: &str, found: &mut Vec<Mismatch>) {
    for part in in_it.iter().filter(|part| !text.contains(part.as_str())) {
        found.push(Mismatch::falls_short(what, Want::Contain(part.clone()), text));
    }
    for part in not_in_it.iter().filter(|part| text.contains(part.as_str())) {
        found.push(Mismatch::falls_short(what, Want::Lack(part.clone()), text));
    }
}

/// Compares one field if the case states it.
fn field<T: PartialEq + serde::Serialize>(what: &str, want: Option<&T>, actual: &T, found: &mut Vec<Mismatch>) {
    if let Some(want) = want
        && want != actual
    {
        found.push(Mismatch::differs(what, json!(want), json!(actual)));
    }
}

fn check_error(want: &ErrorWant, seen: &Observed, found: &mut Vec<Mismatch>) {
    // Another outcome is already told.
    let RunOutcome::Failed(error) = &seen.outcome else {
        return;
    };
    field("error.kind", want.kind.as_ref(), &error.kind, found);
    field("error.message", want.message.as_ref(), &error.message, found);
    contains(
        "error.message",
        &want.contains,
        &want.not_contains,
        &error.message,
        found,
    );
    field("error.retryable", want.retryable.as_ref(), &error.retryable, found);
    if let Some(want) = &want.location {
        check_location(want.as_ref(), error, found);
    }
}

fn check_location(want: Option<&LocationWant>, error: &RunError, found: &mut Vec<Mismatch>) {
    let (want, location) = match (want, &error.location) {
        (Some(want), Some(location)) => (want, location),
        (None, None) => return,
        (None, Some(_)) => {
            return found.push(Mismatch::differs("error.location", Value::Null, json!(error.location)));
        }
        (Some(_), None) => {
            return found.push(Mismatch::differs("error.location", "a location", Value::Null));
        }
    };
    field("error.location.path", want.path.as_ref(), &location.path, found);
    field("error.location.line", want.line.as_ref(), &location.line, found);
    field("error.location.column", want.column.as_ref(), &location.column, found);
    field("error.location.span", want.span.as_ref(), &location.span, found);
}

fn check_work(expect: &Expect, seen: &Observed, found: &mut Vec<Mismatch>) {
    for (path, want) in &expect.store {
        let actual = seen.files.get(path).cloned();
        field(&format!("store.{path}"), Some(want), &actual, found);
    }
    field("output", expect.output.as_ref(), &seen.output, found);
    field("effects", expect.effects.as_ref(), &seen.effects, found);
    if let Some(want) = &expect.tool_calls {
        check_tool_calls(want, seen, found);
    }
}

fn check_tool_calls(want: &[crate::case::ToolCallWant], seen: &Observed, found: &mut Vec<Mismatch>) {
    let fits = want.len() == seen.tool_calls.len()
        && want.iter().zip(&seen.tool_calls).all(|(want, (tool, arguments))| {
            want.tool == *tool && want.arguments.as_ref().is_none_or(|want| equal(want, arguments))
        });
    if !fits {
        let want: Vec<_> = want
            .iter()
            .map(|call| json!({ "tool": call.tool, "arguments": call.arguments }))
            .collect();
        let actual: Vec<_> = seen
            .tool_calls
            .iter()
            .map(|(tool, arguments)| json!({ "tool": tool, "arguments": arguments }))
            .collect();
        found.push(Mismatch::differs("tool_calls", want, actual));
    }
}

/// Whether two JSON values mean the same: numbers are compared by value, since YAML does not keep `1.0` from `1`.
fn equal(want: &Value, actual: &Value) -> bool {
    match (want, actual) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => want == actual,
    }
}
