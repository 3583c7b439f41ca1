//! `runvil resume`: goes on with a run whose process died.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    sync::Arc,
};

use runvil_harness::{OnUnknown, ResumeError, Resumption, RunReport};
use runvil_record::{RunId, RunWriter};

use crate::{
    args::{ResumeArgs, UnknownWork},
    config::Config,
    exit::{Exit, Fault},
    models::Gate,
    out, record,
    repeat::{Hold, Known, on_runtime},
    screen::screen,
};

pub(crate) fn resume(args: &ResumeArgs) -> Result<Exit, Fault> {
    let config = Config::load()?;
    let database = record::survive(record::open_existing(&config)?, &config, args.durable)?;
    let id = record::find(&database, &args.run)?;
    let known = Known::read(database, id)?;
    let gate = Gate::open(&config)?;
    known.check_reach(gate.as_ref())?;
    let writer = Arc::new(known.database.resume(id)?);
    on_runtime(go_on(args, &config, &known, gate.as_ref(), &writer))
}

async fn go_on(
    args: &ResumeArgs,
    config: &Config,
    known: &Known,
    gate: Option<&Gate>,
    writer: &Arc<RunWriter>,
) -> Result<Exit, Fault> {
    known.tell_changes(config, gate, true);
    let unknown = match args.on_unknown {
        UnknownWork::Ask => OnUnknown::Ask,
        UnknownWork::Repeat => OnUnknown::Repeat,
        UnknownWork::Fail => OnUnknown::Fail,
    };
    let hold = Hold::new(config.budget);
    let report = match attempt(known, gate, writer, &hold, unknown).await? {
        Ok(report) => report,
        Err(error @ ResumeError::Unknown(_)) => {
            let unknown = ask(&error).ok_or_else(|| refused(known.id, &error))?;
            let again = attempt(known, gate, writer, &hold, unknown).await?;
            again.map_err(|error| refused(known.id, &error))?
        }
        Err(error) => return Err(refused(known.id, &error)),
    };
    let output = known.settings.output.as_deref();
    known.deliver(known.file(), &known.run.source, &report, &hold, output)
}

/// Tries to go on. A failure leaves the record as it was.
async fn attempt(
    known: &Known,
    gate: Option<&Gate>,
    writer: &Arc<RunWriter>,
    hold: &Hold,
    unknown: OnUnknown,
) -> Result<Result<RunReport, ResumeError>, Fault> {
    let mut launch = known.launch(known.run.source.clone(), hold.control.clone())?;
    launch.recorder = Some(Arc::clone(writer) as _);
    let resumption = Resumption {
        recorded: known.recorded()?,
        history: Box::new(known.database.history(known.id)?),
        unknown,
    };
    let host = known.host(gate, hold)?;
    let mut watched = hold.watch(&known.run.source, &known.start().facts.name)?;
    let report = host.resume(launch, resumption, &mut watched.observer()).await;
    watched.end(report.as_ref().ok().map(|report| &report.outcome))?;
    Ok(report)
}

/// Asks whoever sits at the terminal what becomes of open work; `None` where nobody does, or the run is to stay as it is.
fn ask(error: &ResumeError) -> Option<OnUnknown> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    out::note(error);
    loop {
        screen().part("Do it again (r), tell the run that it failed (f), or leave the run as it is (l)? ");
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).ok()? == 0 {
            return None;
        }
        // The terminal shows what is typed, the end of the line with it.
        screen().answered(true);
        match line.trim() {
            "r" | "repeat" => return Some(OnUnknown::Repeat),
            "f" | "fail" => return Some(OnUnknown::Fail),
            "l" | "leave" => return None,
            _ => {}
        }
    }
}

fn refused(run: RunId, error: &ResumeError) -> Fault {
    let help = match error {
        ResumeError::Unknown(_) => {
            "find out whether it did, then resume with --on-unknown repeat to do it again, or --on-unknown fail to tell the \
             run that it failed"
        }
        ResumeError::MissingTool(_) => "resume the run where the tool's Pack is installed",
        ResumeError::Diverged(_) => "resume it with the version of the program that recorded it, or fork it",
        ResumeError::Store(_) => "check the directory of the store",
        ResumeError::Ended => "replay it, or fork it from one of its effects",
        _ => "check the disk that holds the records",
    };
    Fault::failure(format_args!("run {run}: {error}")).with_help(help)
}
