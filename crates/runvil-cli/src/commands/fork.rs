//! `runvil fork`: a new run that leaves the course of a recorded one.

use std::{path::Path, sync::Arc};

use runvil_engine::{Answer, EffectId, EffectKind};
use runvil_harness::Fork;
use runvil_record::{HostFacts, Parent, RecordedEffect};

use crate::{
    args::ForkArgs,
    config::Config,
    exit::{Exit, Fault},
    files::{self, MAX_INPUT_BYTES},
    models::Gate,
    out, record,
    repeat::{Hold, Known, on_runtime, read_prompt},
};

pub(crate) fn fork(args: &ForkArgs) -> Result<Exit, Fault> {
    let config = Config::load()?;
    let database = record::survive(record::open_existing(&config)?, &config, false)?;
    let id = record::find(&database, &args.run)?;
    let known = Known::read(database, id)?;
    let until = EffectId(args.at);
    let effect = known.database.effects_from(id, until)?.next().transpose()?;
    let effect = effect.filter(|recorded| recorded.effect.id == until).ok_or_else(|| {
        Fault::usage(format_args!("--at {}: run {id} has no such effect", args.at))
            .with_help("effects are counted from 1; `runvil show` lists them")
    })?;
    let answer = args
        .answer
        .as_deref()
        .map(|path| read_answer(path, &effect))
        .transpose()?;
    let source = match &args.prompt {
        Some(path) => read_prompt(path)?,
        None => known.run.source.clone(),
    };
    on_runtime(start(args, &config, &known, source, answer))
}

async fn start(
    args: &ForkArgs,
    config: &Config,
    known: &Known,
    source: Vec<u8>,
    answer: Option<Answer>,
) -> Result<Exit, Fault> {
    let gate = Gate::open(config)?;
    known.tell_changes(config, gate.as_ref(), args.prompt.is_none());
    let until = EffectId(args.at);
    if let Some(directory) = &known.settings.store.directory {
        out::note(format_args!(
            "note: the files in {} are as they are now, not as they were at effect {until}",
            directory.display()
        ));
    }
    let file = args.prompt.as_deref().and_then(|path| std::path::absolute(path).ok());
    let facts = HostFacts {
        file: file
            .map(|path| path.display().to_string())
            .or_else(|| known.run.file.clone()),
        host: known.run.host.clone(),
        parent: Some(Parent {
            run: known.id,
            effect: until,
        }),
    };
    let writer = known.database.record(facts)?;
    let id = writer.id();
    let hold = Hold::new(config.budget);
    let mut launch = known.launch(source.clone(), hold.control.clone())?;
    launch.recorder = Some(Arc::new(writer));
    let fork = Fork {
        history: Box::new(known.database.history(known.id)?),
        until,
        answer,
    };
    let host = known.host(gate.as_ref(), &hold)?;
    let mut watched = hold.watch(&source, &known.start().facts.name)?;
    let report = host.fork(launch, fork, &mut watched.observer()).await;
    watched.end(report.as_ref().ok().map(|report| &report.outcome))?;
    let report = report.map_err(|error| {
        Fault::failure(format_args!("run {}: {error}", known.id)).with_help("check the disk that holds the records")
    })?;
    out::note(format_args!("note: forked as run {id}"));
    // The output file belongs to the run that this one left.
    let path = args.prompt.as_deref().unwrap_or_else(|| known.file());
    known.deliver(path, &source, &report, &hold, None)
}

/// Another answer for an effect, of the effect's own kind.
fn read_answer(path: &Path, effect: &RecordedEffect) -> Result<Answer, Fault> {
    let bytes = files::read(path, MAX_INPUT_BYTES)?;
    let answer: Answer = serde_json::from_slice(&bytes).map_err(|error| {
        Fault::usage(format_args!("--answer {}: this is no answer: {error}", path.display()))
            .with_help("an answer is JSON as `runvil show --json` prints it for an effect")
    })?;
    let fits = matches!(
        (&effect.effect.kind, &answer),
        (_, Answer::Dropped)
            | (EffectKind::ModelRound(_), Answer::Model(_))
            | (EffectKind::ToolCall(_), Answer::Tool(_))
            | (EffectKind::Store(_), Answer::Store(_))
            | (EffectKind::Timer { .. }, Answer::Timer)
    );
    if fits {
        Ok(answer)
    } else {
        let id = effect.effect.id;
        Err(Fault::usage(format_args!(
            "--answer {}: the answer is of another kind than effect {id}",
            path.display()
        ))
        .with_help("give an answer of the kind that the recorded one has"))
    }
}
