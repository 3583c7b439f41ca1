//! `runvil runs`: lists the recorded runs.

use std::path::Path;

use jiff::Timestamp;
use runvil_record::{Database, Page, RecordError, RunFilter, RunId, RunSummary, Tokens};
use serde_json::{Value, json};

use crate::{
    args::{DEFAULT_NAME, EndedAs, RunsArgs},
    config::Config,
    exit::{Exit, Fault},
    out, record, recorded,
    table::{Align, Table},
    when,
};

pub(crate) fn runs(args: &RunsArgs) -> Result<Exit, Fault> {
    let config = Config::load()?;
    let Some(database) = record::open_if_any(&config)? else {
        return none(args, &config);
    };
    let after = args.after.as_deref().map(|run| database.find(run)).transpose()?;
    let (page, states) = listed(&database, args, after)?;
    if args.json {
        out::list(format_args!("{}\n", to_json(&page, &states)))?;
    } else if page.runs.is_empty() {
        out::note("no run is recorded that fits");
    } else {
        out::list(to_table(&page.runs, &states))?;
        if let Some(next) = page.next {
            out::note(format_args!("older runs: add `--after {}`", name_of(&database, next)));
        }
    }
    Ok(Exit::Success)
}

/// Before the first run there is no database.
fn none(args: &RunsArgs, config: &Config) -> Result<Exit, Fault> {
    if args.json {
        out::list(format_args!("{}\n", json!({ "runs": [], "next": null })))?;
    } else {
        out::note(format_args!(
            "no run is recorded yet in {}",
            record::place(config)?.display()
        ));
    }
    Ok(Exit::Success)
}

/// The page of runs that is asked for, with the state of each.
fn listed(
    database: &Database,
    args: &RunsArgs,
    mut after: Option<RunId>,
) -> Result<(Page, Vec<&'static str>), RecordError> {
    let filter = filter(database, args)?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let (mut runs, mut states): (Vec<RunSummary>, Vec<_>) = (Vec::new(), Vec::new());
    loop {
        let page = database.runs(&filter, after.as_ref(), limit)?;
        for run in page.runs {
            let state = recorded::state(database, &run)?;
            // The records do not tell a run that goes on from one that died.
            if args.outcome.is_some_and(|meant| !meant.includes(state)) {
                continue;
            }
            if runs.len() == limit {
                let next = runs.last().map(|run| run.id);
                return Ok((Page { runs, next }, states));
            }
            runs.push(run);
            states.push(state);
        }
        after = page.next;
        if after.is_none() {
            return Ok((Page { runs, next: None }, states));
        }
    }
}

fn filter(database: &Database, args: &RunsArgs) -> Result<RunFilter, RecordError> {
    let prompt = args.prompt.as_deref().map(|prompt| recorded_as(database, prompt));
    Ok(RunFilter {
        name: args.name.clone(),
        prompt: prompt.transpose()?,
        outcome: args.outcome.map(EndedAs::outcome),
        since: args.since.map(|since| since.millis(Timestamp::now())),
        before: None,
    })
}

/// What the records have a prompt under: the name or path as it is given, or else the path from the root on.
fn recorded_as(database: &Database, prompt: &str) -> Result<String, RecordError> {
    let as_given = RunFilter {
        prompt: Some(prompt.to_owned()),
        ..RunFilter::default()
    };
    let absolute = std::path::absolute(prompt).ok();
    match absolute.as_deref().and_then(Path::to_str) {
        Some(absolute) if database.runs(&as_given, None, 1)?.runs.is_empty() => Ok(absolute.to_owned()),
        _ => Ok(prompt.to_owned()),
    }
}

/// The shortest text that names this run and no other, if the usual one does.
fn name_of(database: &Database, run: RunId) -> String {
    let short = recorded::short(run);
    match database.find(&short) {
        Ok(_) => short,
        Err(_) => run.to_string(),
    }
}

fn to_table(runs: &[RunSummary], states: &[&str]) -> Table<9> {
    let mut table = Table::new([
        ("RUN", Align::Whole),
        ("STARTED", Align::Whole),
        ("OUTCOME", Align::Whole),
        ("TIME", Align::Right),
        ("ROUNDS", Align::Right),
        ("IN", Align::Right),
        ("OUT", Align::Right),
        ("PROMPT", Align::Left),
        ("NAME", Align::Left),
    ]);
    table.can_spare(&[&["IN", "OUT"], &["ROUNDS"], &["TIME"], &["NAME"], &["STARTED"]]);
    if runs.iter().all(|run| run.name == DEFAULT_NAME) {
        table.leave_out("NAME");
    }
    let ids = ids(runs);
    for ((run, state), id) in runs.iter().zip(states).zip(ids) {
        let [input, output] = token_cells(run);
        table.row([
            id,
            when::local(run.started_at),
            (*state).to_owned(),
            recorded::took(run).map(when::span).unwrap_or_default(),
            run.rounds.map(|rounds| rounds.to_string()).unwrap_or_default(),
            input,
            output,
            run.prompt_name.clone().or_else(|| run.file.clone()).unwrap_or_default(),
            run.name.clone(),
        ]);
    }
    table
}

/// The ids of a page, short where that tells its runs apart.
fn ids(runs: &[RunSummary]) -> Vec<String> {
    let short: Vec<String> = runs.iter().map(|run| recorded::short(run.id)).collect();
    let alone = |id: &String| short.iter().filter(|other| *other == id).count() == 1;
    let id = |(run, short): (&RunSummary, &String)| {
        if alone(short) {
            short.clone()
        } else {
            run.id.to_string()
        }
    };
    runs.iter().zip(&short).map(id).collect()
}

/// A run without rounds has no tokens to tell of.
fn token_cells(run: &RunSummary) -> [String; 2] {
    match (run.tokens, run.rounds) {
        (
            Some(Tokens {
                prompt,
                completion,
                unreported,
            }),
            Some(rounds),
        ) if rounds > 0 => [prompt, completion].map(|count| recorded::tokens(count, unreported > 0)),
        _ => [String::new(), String::new()],
    }
}

fn to_json(page: &Page, states: &[&str]) -> Value {
    let runs: Vec<Value> = page
        .runs
        .iter()
        .zip(states)
        .map(|(run, state)| recorded::to_json(run, state))
        .collect();
    json!({ "runs": runs, "next": page.next.map(|run| run.to_string()) })
}
