//! `runvil replay`: repeats a recorded run.

use runvil_harness::{Observer, Replayed, replay_watched};
use serde_json::json;

use crate::{
    args::ReplayArgs,
    config::Config,
    event_lines::EventLines,
    exit::{Exit, Fault},
    out,
    progress::counted,
    record,
    repeat::{Known, read_prompt},
};

pub(crate) fn replay(args: &ReplayArgs) -> Result<Exit, Fault> {
    let config = Config::load()?;
    let database = record::open_existing(&config)?;
    let id = record::find(&database, &args.run)?;
    let known = Known::read(database, id)?;
    let edited = if args.recorded { None } else { known.edited() };
    let source = match (&args.file, edited) {
        (Some(file), _) => read_prompt(file)?,
        (None, Some(source)) => {
            let file = known.run.file.as_deref().unwrap_or_default();
            if !args.quiet && !args.events.are_alone() {
                out::note(format_args!(
                    "note: {file} was edited since, and is run as it is now; --recorded runs the recorded text"
                ));
            }
            source
        }
        (None, None) => known.run.source.clone(),
    };
    let mut spared = known.spared(&config);
    spared.add("the prompt file", args.file.as_deref());
    spared.check(None, args.events.sink.as_ref())?;
    let replayed = repeat(&known, &source, args)?;
    if args.json {
        print_json(&known, &replayed)?;
    } else if !args.quiet {
        print(&known, &replayed)?;
    }
    Ok(if replayed.divergence.is_none() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

fn repeat(known: &Known, source: &[u8], args: &ReplayArgs) -> Result<Replayed, Fault> {
    let (id, recorded) = (known.id, known.recorded()?);
    let mut history = known.database.history(id)?;
    let mut events = args.events.sink.as_ref().map(EventLines::open).transpose()?;
    let mut nobody = ();
    let observer: &mut dyn Observer = match &mut events {
        Some(events) => events,
        None => &mut nobody,
    };
    let replayed = replay_watched(&recorded, source, &mut history, observer).map_err(|error| {
        Fault::failure(format_args!("run {id}: {error}")).with_help("check the disk that holds the records")
    })?;
    events.map_or(Ok(()), EventLines::finish)?;
    Ok(replayed)
}

fn print(known: &Known, replayed: &Replayed) -> Result<(), Fault> {
    let Replayed {
        steps, effects, events, ..
    } = replayed;
    let id = known.id;
    match &replayed.divergence {
        None => {
            let open = if known.run.outcome.is_none() {
                ", as far as it is recorded"
            } else {
                ""
            };
            out::print(format_args!(
                "run {id}: the same in {}, {} and {}{open}\n",
                counted(*steps, "step"),
                counted(*effects, "effect"),
                counted(*events, "event"),
            ))
        }
        Some(divergence) => out::print(format_args!("run {id}: the replay differs at {divergence}\n")),
    }
}

fn print_json(known: &Known, replayed: &Replayed) -> Result<(), Fault> {
    let divergence = replayed.divergence.as_ref().map(|divergence| {
        let (path, recorded, now) = divergence.place();
        json!({
            "step": divergence.step,
            "part": divergence.part.as_str(),
            "path": path,
            "recorded": recorded,
            "replayed": now,
        })
    });
    let object = json!({
        "run": known.id.to_string(),
        "same": replayed.divergence.is_none(),
        "steps": replayed.steps,
        "effects": replayed.effects,
        "events": replayed.events,
        "divergence": divergence,
    });
    out::print(format_args!("{object}\n"))
}
