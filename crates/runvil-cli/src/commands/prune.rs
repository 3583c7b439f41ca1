//! `runvil prune`: deletes the records of older runs.

use jiff::Timestamp;
use runvil_record::{Database, Deleted, RecordError, RunFilter, RunId};
use serde_json::json;

use crate::{
    args::PruneArgs,
    config::Config,
    exit::{Exit, Fault},
    out, record, when,
};

/// How many runs are looked up at once.
const PAGE: usize = 500;

pub(crate) fn prune(args: &PruneArgs) -> Result<Exit, Fault> {
    let (deleted, kept_space) = match record::open_if_any(&Config::load()?)? {
        Some(database) => {
            let runs = all(&database, args.older_than.before(Timestamp::now()))?;
            if args.dry_run {
                (look(&database, &runs)?, false)
            } else {
                delete(&database, &runs)?
            }
        }
        None => (Deleted::default(), false),
    };
    if args.json {
        let ids = |runs: &[RunId]| runs.iter().map(ToString::to_string).collect::<Vec<_>>();
        out::print(format_args!(
            "{}\n",
            json!({
                "dry_run": args.dry_run,
                "deleted": ids(&deleted.runs),
                "running": ids(&deleted.live),
                "bytes": deleted.bytes,
            })
        ))?;
    } else {
        out::print(told(&deleted, args.dry_run))?;
    }
    if kept_space {
        out::note("the space stays in the database, for the runs to come: another process uses it");
    }
    Ok(Exit::Success)
}

/// Every run that began before this instant.
fn all(database: &Database, before: i64) -> Result<Vec<RunId>, RecordError> {
    let filter = RunFilter {
        before: Some(before),
        ..RunFilter::default()
    };
    let (mut runs, mut after) = (Vec::new(), None);
    loop {
        let page = database.runs(&filter, after.as_ref(), PAGE)?;
        runs.extend(page.runs.iter().map(|run| run.id));
        after = page.next;
        if after.is_none() {
            return Ok(runs);
        }
    }
}

/// What deleting the runs would come to.
fn look(database: &Database, runs: &[RunId]) -> Result<Deleted, RecordError> {
    let mut found = Deleted::default();
    for &run in runs {
        if database.is_live(run)? {
            found.live.push(run);
        } else {
            found.bytes += database.size(run)?;
            found.runs.push(run);
        }
    }
    Ok(found)
}

/// Deletes the runs and gives their space back to the disk. Tells, too, whether the database had to keep it.
fn delete(database: &Database, runs: &[RunId]) -> Result<(Deleted, bool), RecordError> {
    let deleted = database.delete_runs(runs)?;
    if deleted.runs.is_empty() {
        return Ok((deleted, false));
    }
    match database.shrink() {
        Ok(()) => Ok((deleted, false)),
        // The runs are gone all the same.
        Err(RecordError::Busy(_) | RecordError::Full(_)) => Ok((deleted, true)),
        Err(error) => Err(error),
    }
}

fn told(deleted: &Deleted, dry_run: bool) -> String {
    let runs = |count: usize| {
        if count == 1 {
            "1 run".to_owned()
        } else {
            format!("{count} runs")
        }
    };
    let (gone, size) = (runs(deleted.runs.len()), when::size(deleted.bytes));
    let mut text = if dry_run {
        format!("{gone} would be deleted, which frees about {size}\n")
    } else {
        format!("{gone} deleted, which frees about {size}\n")
    };
    if !deleted.live.is_empty() {
        let stays = if deleted.live.len() == 1 { "stays" } else { "stay" };
        text.push_str(&format!("{} still going {stays}\n", runs(deleted.live.len())));
    }
    text
}
