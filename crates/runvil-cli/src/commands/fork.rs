//! `runvil fork`: a new run that leaves the course of a recorded one.

use std::{path::Path, sync::Arc};

use runvil_engine::{Answer, EffectId, History as _};
use runvil_harness::{Fork, ResumeError, RunReport};
use runvil_model::Catalog;
use runvil_record::{HostFacts, Parent, RecordedEffect, RunId, RunWriter};
use runvil_syntax::Prompt;

use crate::{
    answer,
    args::ForkArgs,
    budget::Budget,
    changes::{Now, changes},
    config::Config,
    exit::{Exit, Fault},
    hold::{Hold, Left, Watched},
    local,
    models::Gate,
    out, output,
    record::{self, Settings},
    repeat::{Known, on_runtime, read_prompt},
};

pub(crate) fn fork(args: &ForkArgs) -> Result<Exit, Fault> {
    let config = Config::load()?;
    let database = record::survive(record::open_existing(&config)?, &config, args.durable)?;
    let id = record::find(&database, &args.run)?;
    let known = Known::read(database, id)?;
    known.check_settings()?;
    let effect = last_effect(args, &known)?;
    let answer = args
        .answer
        .as_deref()
        .map(|path| answer::read(path, &effect.effect))
        .transpose()?;
    let source = match &args.prompt {
        Some(path) => read_prompt(path)?,
        None => known.run.source.clone(),
    };
    check_places(args, &config, &known)?;
    let prompt = runvil_syntax::parse_structure(&source).ok();
    let path = args.prompt.as_deref().unwrap_or_else(|| known.file());
    let declared = prompt.as_ref().map(|prompt| &prompt.frontmatter);
    output::check(args.output.as_deref(), path, declared)?;
    let gate = Gate::open(&config)?;
    on_runtime(
        Forking {
            args,
            config: &config,
            gate: gate.as_ref(),
            known: &known,
            path,
            source: &source,
            prompt: prompt.as_ref(),
        }
        .fork(answer),
    )
}

/// The effect that the fork leaves the course behind.
fn last_effect(args: &ForkArgs, known: &Known) -> Result<RecordedEffect, Fault> {
    let (id, until) = (known.id, EffectId(args.at));
    let effect = known.database.effects_from(id, until)?.next().transpose()?;
    let Some(effect) = effect.filter(|recorded| recorded.effect.id == until) else {
        return Err(Fault::usage(format_args!("--at {until}: run {id} has no such effect"))
            .with_help(format_args!("`runvil show {id} --effects` lists the effects")));
    };
    if effect.answer.is_none() && !effect.dropped && args.answer.is_none() {
        return Err(Fault::usage(format_args!("--at {until}: the effect was not answered"))
            .with_help("leave the course behind an effect that was, or give the answer with --answer FILE"));
    }
    if effect.dropped && args.answer.is_some() && !was_stopped(known, until)? {
        return Err(Fault::usage(format_args!(
            "--answer: the run gave effect {until} up, so that no answer to it reaches it"
        ))
        .with_help("give an answer to an effect that has one"));
    }
    Ok(effect)
}

fn was_stopped(known: &Known, effect: EffectId) -> Result<bool, Fault> {
    let stopped = known.database.history(known.id)?.stopped();
    let stopped = stopped.map_err(|fault| Fault::failure(format_args!("run {}: {fault}", known.id)))?;
    Ok(stopped.contains(&effect))
}

/// What the fork reads is not written over.
fn check_places(args: &ForkArgs, config: &Config, known: &Known) -> Result<(), Fault> {
    let mut spared = known.spared(config);
    spared.add("the prompt file", args.prompt.as_deref());
    spared.add("the file with the answer", args.answer.as_deref());
    spared.check(args.output.as_deref(), args.drive.show.events.sink.as_ref())
}

struct Forking<'a> {
    args: &'a ForkArgs,
    config: &'a Config,
    gate: Option<&'a Gate>,
    known: &'a Known,
    /// Where the prompt is that is run.
    path: &'a Path,
    source: &'a [u8],
    prompt: Option<&'a Prompt>,
}

impl Forking<'_> {
    async fn fork(&self, answer: Option<Answer>) -> Result<Exit, Fault> {
        let (args, known) = (self.args, self.known);
        let until = EffectId(args.at);
        let show = &args.drive.show;
        let budget = known.budget(self.config, &args.drive.budget);
        let used = known.used(Some(until))?;
        known.check_budget(&budget, &used, show.has_notes())?;
        if show.has_notes() {
            self.tell_changes(&budget).await;
        }
        let hold = Hold::new(budget, used);
        let host = known.host(self.config, self.gate, &hold, show.debug)?;
        let mut launch = known.launch(self.source.to_vec(), hold.control.clone())?;
        let fork = Fork {
            history: Box::new(known.database.history(known.id)?),
            until,
            answer,
            packs: known.run.prepared.as_ref().map(|prepared| prepared.packs.clone()),
        };
        let mut watched = hold.watch(show, self.prompt, &known.start().facts.name)?;
        let writer = Arc::new(self.writer()?);
        let id = writer.id();
        hold.record(&writer);
        launch.recorder = Some(writer);
        let continuation = host.fork(launch, fork).await;
        if show.has_notes() {
            for change in continuation.changes() {
                out::note(format_args!("note: {change}; the fork has what is there now"));
            }
        }
        let report = continuation.go_on(&mut watched.observer()).await;
        let (report, shown) = self.end(id, report, watched)?;
        if show.has_notes() {
            out::note(format_args!("note: forked as run {id}"));
        }
        let left = Left {
            path: self.path,
            source: self.source,
            prompt: self.prompt,
            report: &report,
            output: args.output.as_deref(),
            lacks_model: false,
            recorded: Some(id),
        };
        let exit = hold.deliver(&left, show)?;
        shown.map(|()| exit)
    }

    /// Ends what is shown of the fork. One that could not follow the recorded course leaves no run behind.
    fn end(
        &self,
        id: RunId,
        report: Result<RunReport, ResumeError>,
        watched: Watched,
    ) -> Result<(RunReport, Result<(), Fault>), Fault> {
        let shown = watched.end(report.as_ref().ok().map(|report| &report.outcome));
        match report {
            Ok(report) => Ok((report, shown)),
            Err(error) => {
                let help = match self.known.database.delete_runs(&[id]) {
                    Ok(_) => "check the disk that holds the records; no run was begun".to_owned(),
                    Err(_) => format!("check the disk that holds the records; what was begun stays as run {id}"),
                };
                Err(Fault::failure(format_args!("run {}: {error}", self.known.id)).with_help(help))
            }
        }
    }

    async fn tell_changes(&self, budget: &Budget) {
        let (args, known) = (self.args, self.known);
        let catalog = self.catalog().await;
        let now = Now {
            config: self.config,
            gate: self.gate,
            catalog: catalog.as_ref(),
            budget,
            prompt: args.prompt.as_deref(),
        };
        for change in changes(known, &now) {
            out::note(format_args!("note: {change}"));
        }
        if let Some(directory) = &known.settings.store.directory {
            out::note(format_args!(
                "note: the files in {} are as they are now, not as they were at effect {}",
                directory.display(),
                args.at
            ));
        }
    }

    /// What the endpoint lists. A fork that asks no model any more needs none.
    async fn catalog(&self) -> Option<Catalog> {
        let model = self.known.start().model.as_ref()?;
        let gate = self.gate.filter(|_| !local::is_asked_for(&model.id.to_string()))?;
        match gate.reach(&self.config.limits).await {
            Ok(catalog) => catalog,
            Err(error) => {
                out::note(format_args!("note: {} cannot be asked now: {error}", gate.root()));
                None
            }
        }
    }

    /// The record of the new run.
    fn writer(&self) -> Result<RunWriter, Fault> {
        let (args, known) = (self.args, self.known);
        let whole = |path: &Path| std::path::absolute(path).ok();
        let settings = Settings {
            version: record::VERSION.to_owned(),
            endpoint: self.gate.map(|gate| gate.root().to_owned()),
            // The file that the recorded run wrote to belongs to that run.
            output: args.output.as_deref().and_then(whole),
            store_was_there: known.settings.store.directory.as_deref().is_some_and(Path::is_dir),
            configured_budget: Some(known.settings.configured_budget.unwrap_or(self.config.budget)),
            given_budget: known.settings.given_budget.under(Budget::from(&args.drive.budget)),
            ..known.settings.clone()
        };
        let file = match &args.prompt {
            Some(path) => record::prompt_file(path)?,
            None => known.run.file.clone(),
        };
        let facts = HostFacts {
            file,
            host: settings.to_json()?,
            parent: Some(Parent {
                run: known.id,
                effect: EffectId(args.at),
            }),
        };
        Ok(known.database.record(facts)?)
    }
}
