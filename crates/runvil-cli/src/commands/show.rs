//! `runvil show`: what a recorded run did, and when.

use std::fmt::Write as _;

use runvil_engine::{RunError, RunOutcome};
use runvil_record::{Database, RecordedEvent, RecordedRun, RunId, RunSummary, Tokens};
use serde_json::{Map, Value, json};

use crate::{
    args::TimelineArgs,
    asked,
    budget::Budget,
    config::Config,
    exit::{Exit, Fault},
    out,
    progress::counted,
    record::{self, Settings},
    recorded,
    table::{Align, Table, cut, fitted, one_line, room},
    timeline::{self, Line, State, What},
    when,
};

/// The most characters of a result, an error or an event's fields on a line.
const SHOWN: usize = 160;

pub(crate) fn show(args: &TimelineArgs) -> Result<Exit, Fault> {
    let database = record::open_existing(&Config::load()?)?;
    let id = database.find(&args.run)?;
    let run = database.summary(id)?;
    let state = recorded::state(&database, &run)?;
    if args.json {
        let mut told = recorded::to_json(&run, state);
        let RecordedRun {
            outcome, host, cause, ..
        } = database.run(id)?;
        told["ending"] = json!(outcome);
        told["cause"] = json!(cause);
        told["budget"] = json!(Settings::of(&host).budget());
        if args.events {
            told["events"] = events_json(&database, id)?;
        } else if args.effects {
            told["effects"] = effects_json(&database, id)?;
        } else {
            told["timeline"] = json!(timeline::of(&database, id, micros(&run), outcome.as_ref())?);
        }
        out::list(format_args!("{told}\n"))?;
    } else if args.events {
        print_events(&database, &run)?;
    } else if args.effects {
        out::list(effects_table(&database, id)?)?;
    } else {
        let recorded = database.run(id)?;
        let lines = timeline::of(&database, id, micros(&run), recorded.outcome.as_ref())?;
        out::list(format_args!("{}\n{}", head(&run, state, &recorded), to_table(&lines)))?;
    }
    Ok(Exit::Success)
}

/// When the run started, in UTC microseconds since the Unix epoch.
fn micros(run: &RunSummary) -> i64 {
    run.started_at.saturating_mul(1_000)
}

/// What is to be known of the run as a whole.
fn head(run: &RunSummary, state: &str, recorded: &RecordedRun) -> String {
    let (mut text, room) = (String::new(), room());
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{}", fitted(&one_line(&format!("{key:<9}{value}")), room));
    };
    line("run", &run.id.to_string());
    let prompt = [run.prompt_name.as_deref(), run.file.as_deref(), Some(&run.prompt_hash)];
    line("prompt", &prompt.into_iter().flatten().collect::<Vec<_>>().join(", "));
    line("name", &run.name);
    line("started", &when::local(run.started_at));
    if let Some(took) = recorded::took(run) {
        line("took", &when::span(took));
    }
    match &recorded.cause {
        Some(cause) => line("outcome", &format!("{state}: {cause}")),
        None => line("outcome", state),
    }
    match &recorded.outcome {
        Some(RunOutcome::Completed { text }) => line("result", &cut(text, SHOWN)),
        Some(RunOutcome::Failed(RunError { kind, message, .. })) => {
            // Where Lua was, the command tells when the run fails.
            let message = message.split("\nstack traceback").next().unwrap_or_default();
            line("error", &cut(&format!("{kind}: {message}"), SHOWN));
        }
        Some(RunOutcome::Cancelled) | None => {}
    }
    if let (Some(rounds), Some(tokens)) = (run.rounds.filter(|rounds| *rounds > 0), run.tokens) {
        line("rounds", &usage(rounds, tokens));
    }
    let budget = Settings::of(&recorded.host).budget();
    if let Some(budget) = budget.filter(|budget| *budget != Budget::default()) {
        line("budget", &bounds(&budget));
    }
    if let Some(parent) = run.parent {
        line("forked", &format!("from {} at effect {}", parent.run, parent.effect.0));
    }
    if run.resumed > 0 {
        line("resumed", &times(run.resumed));
    }
    text
}

/// The limits of a budget.
fn bounds(budget: &Budget) -> String {
    let rounds = budget.max_rounds.map(|limit| counted(limit, "model round"));
    let tokens = budget.max_total_tokens.map(|limit| counted(limit, "token"));
    let seconds = budget.max_seconds.map(|limit| format!("{limit} s"));
    let limits: Vec<String> = [rounds, tokens, seconds].into_iter().flatten().collect();
    limits.join(", ")
}

fn times(count: u64) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}

fn usage(rounds: u64, tokens: Tokens) -> String {
    let Tokens {
        prompt,
        completion,
        unreported,
    } = tokens;
    let [input, output] = [prompt, completion].map(|count| recorded::tokens(count, unreported > 0));
    let mut text = format!("{rounds}, {input} tokens in, {output} out");
    if unreported > 0 {
        let _ = write!(text, " ({unreported} not reported by the server)");
    }
    text
}

fn to_table(lines: &[Line]) -> Table<5> {
    let mut table = Table::new([
        ("START", Align::Right),
        ("EFFECT", Align::Right),
        ("WHAT", Align::Left),
        ("TIME", Align::Right),
        ("", Align::Left),
    ]);
    for line in lines {
        table.row([
            offset(line.at),
            line.effect.map(|effect| effect.to_string()).unwrap_or_default(),
            format!("{}{}", "  ".repeat(line.depth), what(&line.what)),
            line.took.map(when::span).unwrap_or_default(),
            detail(line),
        ]);
    }
    table
}

/// Seconds since the start of the run.
fn offset(micros: i64) -> String {
    let millis = micros.max(0) / 1_000;
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

fn what(what: &What) -> String {
    match what {
        What::Section { name } => format!("section {name}"),
        What::Task { id, target, .. } => format!("task {id} {target}"),
        What::Round { model, .. } => format!("chat {model}"),
        What::Tool { tool, .. } => format!("tool {tool}"),
        What::Store { operation, path, .. } => format!("store {operation} {}", cut(path, 60)),
        What::Timer { millis } => format!("sleep {millis}ms"),
        What::Log { message } => format!("log {}", cut(message, 80)),
    }
}

/// What there is to say of a line beyond its name and time.
fn detail(line: &Line) -> String {
    let state = match line.state {
        State::Done => None,
        State::Failed => Some("failed"),
        State::Cancelled => Some("cancelled"),
        State::Abandoned => Some("abandoned"),
        State::Open => Some("not answered"),
    };
    match &line.what {
        What::Round { error: Some(error), .. } => format!("failed: {error}"),
        What::Round {
            input_tokens,
            output_tokens,
            finish_reason,
            ..
        } if line.state == State::Done => {
            let [input, output] = [*input_tokens, *output_tokens].map(|count| recorded::tokens(count, false));
            let reason = finish_reason.as_deref().map(|reason| format!(", {reason}"));
            format!("{input} in, {output} out{}", reason.unwrap_or_default())
        }
        What::Tool { error: Some(error), .. } => format!("failed: {}", cut(error, SHOWN)),
        What::Store { error: Some(error), .. } => format!("failed: {error}"),
        What::Section { .. } | What::Task { .. } if line.state == State::Open => "not ended".to_owned(),
        _ => state.unwrap_or_default().to_owned(),
    }
}

fn print_events(database: &Database, run: &RunSummary) -> Result<(), Fault> {
    let room = room();
    for recorded in database.events(run.id)? {
        let recorded = recorded?;
        let RecordedEvent { number, at, event, .. } = &recorded;
        let (kind, fields) = parts(&recorded);
        let fields = if fields.is_empty() {
            String::new()
        } else {
            cut(&Value::Object(fields).to_string(), SHOWN)
        };
        let line = format!(
            "{number:>6}  {:>9}  {:<5} {:<16} {kind} {fields}",
            offset(at.saturating_sub(micros(run))),
            event.provenance.task.to_string(),
            event.section,
        );
        out::list(format_args!("{}\n", fitted(&one_line(&line), room)))?;
    }
    Ok(())
}

/// The most characters of what was asked, and of its answer, on a line.
const ASKED: usize = 48;

fn effects_table(database: &Database, run: RunId) -> Result<Table<5>, Fault> {
    let mut table = Table::new([
        ("EFFECT", Align::Right),
        ("KIND", Align::Left),
        ("ASKED", Align::Left),
        ("TIME", Align::Right),
        ("ANSWER", Align::Left),
    ]);
    for recorded in database.effects(run)? {
        let recorded = recorded?;
        let took = recorded
            .answered_at
            .map(|answered| answered.saturating_sub(recorded.at));
        table.row([
            recorded.effect.id.to_string(),
            asked::kind(&recorded.effect.kind).to_owned(),
            cut(&asked::question(&recorded.effect.kind), ASKED),
            took.map(when::span).unwrap_or_default(),
            cut(&asked::reply(&recorded), ASKED),
        ]);
    }
    Ok(table)
}

fn effects_json(database: &Database, run: RunId) -> Result<Value, Fault> {
    let mut list = Vec::new();
    for recorded in database.effects(run)? {
        list.push(asked::to_json(&recorded?));
    }
    Ok(Value::Array(list))
}

/// An event's kind, and the fields that only its kind has.
pub(crate) fn parts(recorded: &RecordedEvent) -> (String, Map<String, Value>) {
    let mut fields = match serde_json::to_value(&recorded.event.kind) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let kind = fields.remove("kind");
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    (kind, fields)
}

fn events_json(database: &Database, run: RunId) -> Result<Value, Fault> {
    let mut list = Vec::new();
    for recorded in database.events(run)? {
        let RecordedEvent {
            number,
            step,
            at,
            event,
        } = recorded?;
        let mut told = json!(event);
        told["number"] = json!(number);
        told["step"] = json!(step);
        told["at"] = json!(when::utc(at));
        list.push(told);
    }
    Ok(Value::Array(list))
}
