//! `runvil runs`: lists the recorded runs.

use jiff::Timestamp;
use runvil_record::{Database, Page, RunFilter, RunId, RunSummary, Tokens};
use serde_json::{Value, json};

use crate::{
    args::RunsArgs,
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
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let page = database.runs(&filter(args), after.as_ref(), limit)?;
    let states = page
        .runs
        .iter()
        .map(|run| recorded::state(&database, run))
        .collect::<Result<Vec<_>, _>>()?;
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

fn filter(args: &RunsArgs) -> RunFilter {
    RunFilter {
        name: args.name.clone(),
        prompt: args.prompt.clone(),
        outcome: args.outcome.map(crate::args::EndedAs::outcome),
        since: args.since.map(|since| since.millis(Timestamp::now())),
        before: None,
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
        ("STARTED", Align::Left),
        ("OUTCOME", Align::Left),
        ("TIME", Align::Right),
        ("ROUNDS", Align::Right),
        ("IN", Align::Right),
        ("OUT", Align::Right),
        ("PROMPT", Align::Left),
        ("NAME", Align::Left),
    ]);
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
