//! Runs one case.

use std::{collections::BTreeMap, sync::Arc};

use runvil_engine::{RunOutcome, prompt::Prompt};
use runvil_harness::{Preparation, RunReport, prepare};
use serde_json::{Map, Value};

use crate::{
    case::{ActionKind, ActionMoment, Case, ParseWant},
    drive::{Driven, Driver},
    guard::CaseGuard,
    host::ScriptedHost,
    observed::Observed,
    tape::Tape,
};

/// Why there is nothing to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CaseError {
    /// The case asks for something that this build or this machine cannot supply.
    Unsupported(String),
    /// The run cannot go on, or the case's script does not fit it.
    Broke(String),
}

/// Runs the case on this thread, and replays the run if asked to.
///
/// # Errors
/// The run cannot be set up, or waits for what the case never answers.
pub(crate) fn run_case(case: &Case, guard: &CaseGuard, replays: bool) -> Result<Observed, CaseError> {
    // The clock of the runtime stands still, so that a time limit inside a tool costs no time and passes at once.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| CaseError::Broke(format!("no runtime for the case: {error}")))?;
    let tape = replays.then(|| Arc::new(Tape::default()));
    let seen = runtime.block_on(observe(case, guard, tape.as_ref()));
    // A thread of the blocking pool that does not come back must not hold the case up.
    runtime.shutdown_background();
    if let (Ok(_), Some(tape)) = (&seen, tape)
        && let Some(difference) = tape.replay().map_err(CaseError::Broke)?
    {
        return Err(CaseError::Broke(format!("the replay differs at {difference}")));
    }
    seen
}

async fn observe(case: &Case, guard: &CaseGuard, tape: Option<&Arc<Tape>>) -> Result<Observed, CaseError> {
    if matches!(case.expect.parse, Some(ParseWant::Succeeds)) {
        return parse_only(case);
    }
    let ScriptedHost {
        host,
        mut launch,
        model,
        store,
        hang,
    } = ScriptedHost::new(case, guard.control().clone())?;
    launch.recorder = tape.map(|tape| Arc::clone(tape) as _);
    let (report, driven) = match prepare(&host, launch).await {
        Preparation::Ended(report) => (*report, Driven::default()),
        Preparation::Ready(prepared) => {
            guard.watch(prepared.run.cancel_flag());
            if cancels_at_start(case) {
                prepared.run.cancel_flag().cancel();
            }
            Driver::new(case, *prepared, model, hang, tape.cloned()).drive().await?
        }
    };
    let mut seen = Observed::from((report, driven));
    seen.files = store.files();
    if case.expect.looks_at_the_parse() {
        look_at_the_parse(case, &mut seen)?;
    }
    Ok(seen)
}

/// A case that wants its file to parse does not run it.
fn parse_only(case: &Case) -> Result<Observed, CaseError> {
    let mut seen = Observed {
        parse_error: None,
        frontmatter: Map::new(),
        outcome: RunOutcome::Cancelled,
        events: Vec::new(),
        requests: Vec::new(),
        tool_calls: Vec::new(),
        effects: 0,
        files: BTreeMap::new(),
        output: None,
    };
    look_at_the_parse(case, &mut seen)?;
    Ok(seen)
}

fn look_at_the_parse(case: &Case, seen: &mut Observed) -> Result<(), CaseError> {
    let source = case.prompt_bytes().map_err(CaseError::Broke)?;
    match Prompt::parse(&source, &case.host.name).result {
        Ok(prompt) => seen.frontmatter = as_map(&prompt)?,
        Err(error) => seen.parse_error = Some(error),
    }
    Ok(())
}

fn cancels_at_start(case: &Case) -> bool {
    case.host
        .actions
        .iter()
        .any(|action| action.on == ActionMoment::Start && action.r#do == ActionKind::Cancel)
}

fn as_map(prompt: &Prompt) -> Result<Map<String, Value>, CaseError> {
    match serde_json::to_value(&prompt.tree().frontmatter) {
        Ok(Value::Object(map)) => Ok(map),
        other => Err(CaseError::Broke(format!(
            "the frontmatter is no JSON object: {other:?}"
        ))),
    }
}

impl From<(RunReport, Driven)> for Observed {
    fn from((report, driven): (RunReport, Driven)) -> Self {
        Self {
            parse_error: None,
            frontmatter: Map::new(),
            outcome: report.outcome,
            events: report.events,
            requests: driven.requests,
            tool_calls: driven.tool_calls,
            effects: driven.effects,
            files: BTreeMap::new(),
            output: report.output.and_then(Result::ok),
        }
    }
}
