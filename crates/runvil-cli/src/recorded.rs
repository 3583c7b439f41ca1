//! What the commands that read records tell of a run.

use runvil_record::{Database, RecordError, RunId, RunSummary, Tokens};
use serde_json::{Value, json};

use crate::when;

/// How many characters of an id tell runs apart that did not start in the same millisecond.
const SHORT: usize = 13;

/// Enough of the id to name the run by.
pub(crate) fn short(id: RunId) -> String {
    id.to_string().chars().take(SHORT).collect()
}

/// The state of a run that a process drives.
pub(crate) const RUNNING: &str = "running";

/// The state of a run whose process died.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// How the run ended, or whether it goes on.
pub(crate) fn state(database: &Database, run: &RunSummary) -> Result<&'static str, RecordError> {
    match run.outcome {
        Some(outcome) => Ok(outcome.as_str()),
        None if database.is_live(run.id)? => Ok(RUNNING),
        None => Ok(INTERRUPTED),
    }
}

/// How long the run took, in microseconds.
pub(crate) fn took(run: &RunSummary) -> Option<i64> {
    Some(run.ended_at?.saturating_sub(run.started_at.saturating_mul(1_000)))
}

/// A token count; one that holds less than everything ends in `+?`.
pub(crate) fn tokens(known: Option<u64>, unreported: bool) -> String {
    match known {
        Some(count) if unreported => format!("{count}+?"),
        Some(count) => count.to_string(),
        None => "?".to_owned(),
    }
}

/// What is told of a run in JSON.
pub(crate) fn to_json(run: &RunSummary, state: &str) -> Value {
    json!({
        "id": run.id.to_string(),
        "name": run.name,
        "prompt": run.prompt_name,
        "prompt_hash": run.prompt_hash,
        "file": run.file,
        "started_at": when::utc(run.started_at.saturating_mul(1_000)),
        "ended_at": run.ended_at.and_then(when::utc),
        "took_us": took(run),
        "outcome": run.outcome.map(runvil_record::OutcomeKind::as_str),
        "state": state,
        "parent": run.parent.map(|parent| json!({ "run": parent.run.to_string(), "effect": parent.effect.0 })),
        "resumed": run.resumed,
        "effects": run.effects,
        "rounds": run.rounds,
        "tokens": run.tokens.map(|tokens| {
            let Tokens { prompt, completion, unreported } = tokens;
            json!({ "input": prompt, "output": completion, "rounds_unreported": unreported })
        }),
    })
}
