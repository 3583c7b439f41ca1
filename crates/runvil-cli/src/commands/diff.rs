//! `runvil diff`: the first event in which two recorded runs differ.

use std::fmt::Write as _;

use runvil_engine::RunOutcome;
use runvil_record::{Database, RecordedEvent, RecordedRun, RunId, RunSummary};
use serde_json::{Map, Value, json};
use similar::TextDiff;

use crate::{
    args::DiffArgs,
    config::Config,
    difference::{self, Difference},
    exit::{Exit, Fault},
    out, record, recorded,
    table::{cut, one_line},
    when,
};

/// The most characters of a value on a line.
const SHOWN: usize = 240;

/// How many lines around a change are shown.
const AROUND: usize = 2;

/// The most lines of a comparison.
const MOST_LINES: usize = 40;

pub(crate) fn diff(args: &DiffArgs) -> Result<Exit, Fault> {
    let database = record::open_existing(&Config::load()?)?;
    let (one, other) = (database.find(&args.one)?, database.find(&args.other)?);
    let setup = setup_differences(&database.run(one)?, &database.run(other)?);
    let difference = difference::first(&database, one, other)?;
    if args.json {
        out::list(format_args!("{}\n", to_json(one, other, &setup, difference.as_ref())))?;
    } else {
        out::list(told(&database, [one, other], &setup, difference.as_ref())?)?;
    }
    Ok(if difference.is_none() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

/// In what the runs started differently. That alone makes no difference between what they did.
fn setup_differences(one: &RecordedRun, other: &RecordedRun) -> Vec<&'static str> {
    let (a, b) = (&one.start, &other.start);
    [
        ("prompt", one.source != other.source),
        ("arguments", a.facts.args != b.facts.args),
        ("input", a.input != b.input),
        ("model", a.model != b.model),
        ("seed", a.facts.seed != b.facts.seed),
        ("limits", a.facts.limits != b.facts.limits),
        ("UI snapshot", a.facts.ui != b.facts.ui),
    ]
    .into_iter()
    .filter_map(|(what, differs)| differs.then_some(what))
    .collect()
}

fn told(
    database: &Database,
    runs: [RunId; 2],
    setup: &[&str],
    difference: Option<&Difference>,
) -> Result<String, Fault> {
    let mut text = String::new();
    for (mark, run) in ["-", "+"].into_iter().zip(runs) {
        let run = database.summary(run)?;
        let _ = writeln!(text, "{mark} {}", title(&run, recorded::state(database, &run)?));
    }
    if !setup.is_empty() {
        let _ = writeln!(text, "what they started from differs: {}", setup.join(", "));
    }
    match difference {
        None => text.push_str("no event differs, and they ended alike\n"),
        Some(Difference::Event { one, other }) => event_difference(&mut text, one.as_deref(), other.as_deref()),
        Some(Difference::Ending { one, other }) => {
            text.push_str("no event differs; they ended differently\n");
            let [one, other] = [one, other].map(|outcome| ending(outcome.as_ref()));
            value_difference(&mut text, "outcome", Some(&one), Some(&other));
        }
    }
    Ok(text)
}

fn title(run: &RunSummary, state: &str) -> String {
    let prompt = run.prompt_name.as_deref().or(run.file.as_deref()).unwrap_or("?");
    one_line(&format!("{} {prompt} {} {state}", run.id, when::local(run.started_at)))
}

fn ending(outcome: Option<&RunOutcome>) -> Value {
    match outcome {
        None => json!("did not end"),
        Some(RunOutcome::Completed { text }) => json!(text),
        Some(RunOutcome::Cancelled) => json!("cancelled"),
        Some(RunOutcome::Failed(error)) => json!(format!("failed ({}): {}", error.kind, error.message)),
    }
}

fn event_difference(text: &mut String, one: Option<&RecordedEvent>, other: Option<&RecordedEvent>) {
    let Some(present) = one.or(other) else { return };
    let provenance = &present.event.provenance;
    let _ = writeln!(
        text,
        "the first difference is event {} of task {}, in section {}",
        provenance.sequence,
        provenance.task,
        one_line(&present.event.section)
    );
    let [one, other] = [one, other].map(|event| event.map(fields));
    match (one, other) {
        (Some(one), Some(other)) => {
            for key in keys(&one, &other) {
                if one.get(key) != other.get(key) {
                    part_difference(text, key, one.get(key), other.get(key));
                }
            }
        }
        (one, other) => {
            for (mark, fields) in [("-", one), ("+", other)] {
                let shown = match fields {
                    Some(fields) => cut(&Value::Object(fields).to_string(), SHOWN),
                    None => "no event: the task ended before".to_owned(),
                };
                let _ = writeln!(text, "{mark} {shown}");
            }
        }
    }
}

/// Goes down to the first part in which two values differ, and shows that.
fn part_difference(text: &mut String, path: &str, one: Option<&Value>, other: Option<&Value>) {
    match (one, other) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let key = keys(one, other)
                .into_iter()
                .find(|key| one.get(*key) != other.get(*key));
            if let Some(key) = key {
                part_difference(text, &format!("{path}.{key}"), one.get(key), other.get(key));
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            let at = (0..).find(|at| one.get(*at) != other.get(*at)).unwrap_or_default();
            part_difference(text, &format!("{path}[{at}]"), one.get(at), other.get(at));
        }
        _ => value_difference(text, path, one, other),
    }
}

/// What counts of an event, but for its place.
fn fields(event: &RecordedEvent) -> Map<String, Value> {
    match difference::comparable(event) {
        Value::Object(mut fields) => {
            fields.remove("provenance");
            fields
        }
        _ => Map::new(),
    }
}

/// The keys of both, the kind of event first.
fn keys<'a>(one: &'a Map<String, Value>, other: &'a Map<String, Value>) -> Vec<&'a str> {
    let more = other.keys().filter(|key| !one.contains_key(*key));
    let mut keys: Vec<&str> = one.keys().chain(more).map(String::as_str).collect();
    keys.sort_by_key(|key| *key != "kind");
    keys
}

fn value_difference(text: &mut String, key: &str, one: Option<&Value>, other: Option<&Value>) {
    let _ = writeln!(text, "{key}:");
    if let (Some(Value::String(one)), Some(Value::String(other))) = (one, other)
        && (one.contains('\n') || other.contains('\n'))
    {
        return line_difference(text, one, other);
    }
    for (mark, value) in [("-", one), ("+", other)] {
        let shown = match value {
            None => "nothing".to_owned(),
            Some(Value::String(value)) => cut(value, SHOWN),
            Some(value) => cut(&value.to_string(), SHOWN),
        };
        let _ = writeln!(text, "{mark} {}", one_line(&shown));
    }
}

/// The lines that differ, with a few around them.
fn line_difference(text: &mut String, one: &str, other: &str) {
    let diff = TextDiff::from_lines(one, other);
    let unified = diff
        .unified_diff()
        .context_radius(AROUND)
        .missing_newline_hint(false)
        .to_string();
    let mut lines = unified.lines();
    for line in lines.by_ref().take(MOST_LINES) {
        let _ = writeln!(text, "{}", one_line(line));
    }
    let rest = lines.count();
    if rest > 0 {
        let _ = writeln!(text, "… and {rest} more lines");
    }
}

fn to_json(one: RunId, other: RunId, setup: &[&str], difference: Option<&Difference>) -> Value {
    let event = |event: &Option<Box<RecordedEvent>>| event.as_deref().map(|event| json!(event.event));
    let difference = match difference {
        None => Value::Null,
        Some(Difference::Event { one, other }) => {
            json!({ "in": "event", "one": event(one), "other": event(other) })
        }
        Some(Difference::Ending { one, other }) => json!({ "in": "outcome", "one": one, "other": other }),
    };
    json!({
        "one": one.to_string(),
        "other": other.to_string(),
        "same": difference.is_null(),
        "setup": setup,
        "difference": difference,
    })
}
