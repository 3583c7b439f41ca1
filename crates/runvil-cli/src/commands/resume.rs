//! `runvil resume`: goes on with a run whose process died.

use std::{path::Path, sync::Arc};

use runvil_engine::{History as _, Landed, Outcome};
use runvil_harness::{Continuation, OnChanged, OnUnknown, ResumeError, Resumption};
use runvil_model::Catalog;
use runvil_record::{RecordError, RunId, RunWriter};

use crate::{
    args::{ChangedFiles, ResumeArgs, UnknownWork},
    changes::{Now, changes},
    config::Config,
    exit::{Exit, Fault},
    hold::{Hold, Left},
    local,
    models::Gate,
    out, output,
    question::{Choice, ask},
    record,
    repeat::{Known, on_runtime},
    taken_over,
};

pub(crate) fn resume(args: &ResumeArgs) -> Result<Exit, Fault> {
    let config = Config::load()?;
    let database = record::survive(record::open_existing(&config)?, &config, args.durable)?;
    let id = record::find(&database, &args.run)?;
    let known = Known::read(database, id)?;
    let resuming = Resuming {
        args,
        config: &config,
        gate: Gate::open(&config)?,
    };
    on_runtime(resuming.resume(known))
}

struct Resuming<'a> {
    args: &'a ResumeArgs,
    config: &'a Config,
    gate: Option<Gate>,
}

/// What somebody decided about what stands in the way of going on.
#[derive(Clone, Copy)]
struct Decided {
    unknown: OnUnknown,
    changed: OnChanged,
}

/// What can be decided about open work of which nobody knows whether it took effect; `None` leaves the run.
const UNKNOWN: [Choice<Option<OnUnknown>>; 3] = [
    Choice::new(&["repeat"], Some(OnUnknown::Repeat)),
    Choice::new(&["fail"], Some(OnUnknown::Fail)),
    Choice::new(&["leave"], None),
];

/// Whether to go on with files that are no longer as the run left them.
const CHANGED: [Choice<bool>; 2] = [Choice::new(&["go", "yes"], true), Choice::new(&["leave", "no"], false)];

impl Resuming<'_> {
    async fn resume(&self, known: Known) -> Result<Exit, Fault> {
        let show = &self.args.drive.show;
        known.check_settings()?;
        if known.run.outcome.is_some() {
            return Err(RecordError::Ended(known.id).into());
        }
        if known.database.is_live(known.id)? {
            return Err(RecordError::Live(known.id).into());
        }
        let output = known.settings.output.as_deref();
        known.spared(self.config).check(output, show.events.sink.as_ref())?;
        output::check_again(output)?;
        check_debug(&known, show.debug)?;
        taken_over::check(&known)?;
        check_directories(&known)?;
        let budget = known.budget(self.config, &self.args.drive.budget);
        let used = known.used(None)?;
        known.check_budget(&budget, &used, show.has_notes())?;
        let catalog = self.reach(&known).await?;
        if show.has_notes() {
            let now = Now {
                config: self.config,
                gate: self.gate.as_ref(),
                catalog: catalog.as_ref(),
                budget: &budget,
                prompt: None,
            };
            tell(changes(&known, &now));
        }
        let writer = Arc::new(known.database.resume(known.id)?);
        // Another process may have gone on with the run in the meantime.
        let known = Known::read(known.database, known.id)?;
        self.go_on(&known, &writer, &Hold::new(budget, used)).await
    }

    async fn go_on(&self, known: &Known, writer: &Arc<RunWriter>, hold: &Hold) -> Result<Exit, Fault> {
        hold.record(writer);
        let show = &self.args.drive.show;
        let mut decided = Decided {
            unknown: match self.args.on_unknown {
                UnknownWork::Ask => OnUnknown::Ask,
                UnknownWork::Repeat => OnUnknown::Repeat,
                UnknownWork::Fail => OnUnknown::Fail,
            },
            changed: OnChanged::Ask,
        };
        let continuation = loop {
            match self.attempt(known, writer, hold, decided).await? {
                Ok(continuation) => break continuation,
                Err(error) => decided = self.decide(known.id, &error, decided)?,
            }
        };
        if show.has_notes() {
            let kept = |change: &String| format!("{change}; the run keeps what was recorded");
            tell(continuation.changes().iter().map(kept).collect());
        }
        let prompt = runvil_syntax::parse_structure(&known.run.source).ok();
        let mut watched = hold.watch(show, prompt.as_ref(), &known.start().facts.name)?;
        let report = continuation.go_on(&mut watched.observer()).await;
        let shown = watched.end(report.as_ref().ok().map(|report| &report.outcome));
        let report = report.map_err(|error| refused(known.id, &error))?;
        let left = Left {
            path: known.file(),
            source: &known.run.source,
            prompt: prompt.as_ref(),
            report: &report,
            output: known.settings.output.as_deref(),
            lacks_model: false,
            recorded: Some(known.id),
        };
        let exit = hold.deliver(&left, show)?;
        shown.map(|()| exit)
    }

    /// Takes the run to where it can go on. A failure leaves the record as it was.
    async fn attempt(
        &self,
        known: &Known,
        writer: &Arc<RunWriter>,
        hold: &Hold,
        decided: Decided,
    ) -> Result<Result<Continuation, ResumeError>, Fault> {
        let mut launch = known.launch(known.run.source.clone(), hold.control.clone())?;
        launch.recorder = Some(Arc::clone(writer) as _);
        let resumption = Resumption {
            recorded: known.recorded()?,
            history: Box::new(known.database.history(known.id)?),
            unknown: decided.unknown,
            changed: decided.changed,
            taken: known.parent()?.map(|parent| parent.effect),
        };
        let host = known.host(self.config, self.gate.as_ref(), hold, false)?;
        Ok(host.resume(launch, resumption).await)
    }

    /// Has somebody decide about what stands in the way: the command line, or whoever sits at the terminal.
    fn decide(&self, run: RunId, error: &ResumeError, decided: Decided) -> Result<Decided, Fault> {
        match error {
            ResumeError::Unknown(_) => {
                let question = "Do it again (r), tell the run that it failed (f), or leave the run as it is (l)? ";
                let unknown = ask(error, question, &UNKNOWN).flatten();
                let unknown = unknown.ok_or_else(|| refused(run, error))?;
                Ok(Decided { unknown, ..decided })
            }
            ResumeError::Changed(_) => {
                let accepted = Decided {
                    changed: OnChanged::Accept,
                    ..decided
                };
                if self.args.on_changed == ChangedFiles::Accept {
                    if self.args.drive.show.has_notes() {
                        out::note(format_args!("note: {error}; the run goes on with them as they are"));
                    }
                    return Ok(accepted);
                }
                let question = "Go on with them as they are (g), or leave the run as it is (l)? ";
                if ask(error, question, &CHANGED) == Some(true) {
                    Ok(accepted)
                } else {
                    Err(refused(run, error))
                }
            }
            _ => Err(refused(run, error)),
        }
    }

    /// Refuses to go on with a run whose model nothing leads to: it would only fail, and so end.
    async fn reach(&self, known: &Known) -> Result<Option<Catalog>, Fault> {
        let Some(model) = &known.start().model else {
            return Ok(None);
        };
        let (run, name) = (known.id, model.id.name());
        if local::is_asked_for(&model.id.to_string()) {
            local::find(&model.id.to_string())?;
            return Ok(None);
        }
        let Some(gate) = &self.gate else {
            return Err(Fault::usage(format_args!(
                "run {run}: it asks the model {name}, and no endpoint is configured"
            ))
            .with_help("set RUNVIL_GATEWAY_URL, or `url` under [endpoint] in runvil.toml; the record is as it was"));
        };
        gate.reach(&self.config.limits).await.map_err(|error| {
            Fault::failure(format_args!(
                "run {run}: it asks the model {name}, and {} cannot be asked now: {error}",
                gate.root()
            ))
            .with_help("see that the endpoint answers, then resume the run; the record is as it was")
        })
    }
}

fn tell(changes: Vec<String>) {
    for change in changes {
        out::note(format_args!("note: {change}"));
    }
}

/// Debug mode is a fact that a run starts with.
fn check_debug(known: &Known, debug: bool) -> Result<(), Fault> {
    if debug && !known.start().facts.debug {
        return Err(Fault::usage(format_args!(
            "--debug: run {} began without debug mode, which cannot be turned on in the middle of a run",
            known.id
        ))
        .with_help("leave --debug out, or fork the run with it"));
    }
    Ok(())
}

/// Refuses to go on without a directory that the run works in.
fn check_directories(known: &Known) -> Result<(), Fault> {
    let store = &known.settings.store;
    let gone = |directory: &Path| {
        Fault::failure(format_args!(
            "run {}: the directory {}, in which it keeps files, is gone",
            known.id,
            directory.display()
        ))
        .with_help("bring the directory back, or put a link to where it is now in its place; the record is as it was")
    };
    for directory in store.mounted() {
        if !directory.is_dir() {
            return Err(gone(directory));
        }
    }
    match &store.directory {
        Some(directory) if !directory.exists() && (known.settings.store_was_there || has_changed_files(known)?) => {
            Err(gone(directory))
        }
        _ => Ok(()),
    }
}

/// Whether anything that the run did to its files has landed.
fn has_changed_files(known: &Known) -> Result<bool, Fault> {
    let landed = known.database.history(known.id)?.landed();
    let landed = landed.map_err(|fault| Fault::failure(format_args!("run {}: {fault}", known.id)))?;
    let changes = |landed: &Landed| matches!(landed.reply, Outcome::Ok(_)) && landed.op.name().policy_op().is_change();
    Ok(landed.iter().any(changes))
}

fn refused(run: RunId, error: &ResumeError) -> Fault {
    let help = match error {
        ResumeError::Unknown(_) => {
            "find out whether it did, then resume with --on-unknown repeat to do it again, or --on-unknown fail to tell the \
             run that it failed"
        }
        ResumeError::Changed(_) => {
            "bring the files back to what they were, or resume with --on-changed accept to go on with them as they are"
        }
        ResumeError::MissingTool(_) => "resume the run where the tool's Pack is installed",
        ResumeError::Diverged(_) => "resume it with the version of the program that recorded it, or fork it",
        ResumeError::Store(_) => "check the directory of the store",
        ResumeError::Ended => "replay it, or fork it from one of its effects",
        _ => "check the disk that holds the records",
    };
    Fault::failure(format_args!("run {run}: {error}")).with_help(help)
}
