//! Runs case files: several cases at once, a deterministic report, no case that can hang or take the others down.

use std::{
    any::Any,
    collections::BTreeMap,
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use crate::{
    case::{Case, CaseFile, LoadError, Place},
    check::check,
    files::case_files,
    guard::CaseGuard,
    report::{CaseReport, Report, Verdict},
    run::{CaseError, run_case},
};

/// Stack of a case's thread: Lua and the JSON functions recurse deeper than a thread's default bears everywhere.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// How long a case that is out of time may take to end once it is cancelled, before its thread is left behind.
const GRACE: Duration = Duration::from_secs(2);

/// How case files are run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Only cases whose id contains this text are run.
    pub filter: Option<String>,
    /// How long one case may take by the wall clock.
    pub time_limit: Duration,
    /// How many cases run at once; as many as the machine has processors if not given.
    pub jobs: Option<NonZeroUsize>,
    /// Whether each run is recorded and replayed too; a replay that differs fails the case.
    pub replays: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            filter: None,
            time_limit: Duration::from_secs(20),
            jobs: None,
            replays: false,
        }
    }
}

/// Runs the cases of the files at the given paths; a directory stands for every `.yaml` file below it.
pub fn run_paths(paths: &[impl AsRef<Path>], options: &RunOptions) -> Report {
    let Loaded { cases, refused } = load(paths, options);
    Report {
        cases: run_all(cases, options),
        refused,
    }
}

/// The cases of the files at the given paths that the filter lets through, in order, and the files that cannot be used.
pub struct Loaded {
    /// The cases.
    pub cases: Vec<Case>,
    /// Why files are left out.
    pub refused: Vec<LoadError>,
}

/// Reads the case files without running them.
pub fn load(paths: &[impl AsRef<Path>], options: &RunOptions) -> Loaded {
    let mut loaded = Loaded {
        cases: Vec::new(),
        refused: Vec::new(),
    };
    let files = case_files(paths).unwrap_or_else(|error| {
        loaded.refused.push(error);
        Vec::new()
    });
    let mut known = BTreeMap::new();
    for path in files {
        match read(&path, &mut known) {
            Ok(file) => loaded.cases.extend(file.cases),
            Err(error) => loaded.refused.push(error),
        }
    }
    if let Some(filter) = &options.filter {
        loaded.cases.retain(|case| case.id.contains(filter.as_str()));
    }
    loaded
}

/// Reads a file and checks that its ids are unique over all files.
fn read(path: &Path, known: &mut BTreeMap<String, Place>) -> Result<CaseFile, LoadError> {
    let file = CaseFile::read(path)?;
    for case in &file.cases {
        if let Some(first) = known.insert(case.id.clone(), case.place.clone()) {
            return Err(LoadError {
                file: path.to_owned(),
                line: Some(case.place.line),
                case: Some(case.id.clone()),
                message: format!("the id is taken already, at {first}"),
            });
        }
    }
    Ok(file)
}

/// Runs the cases, and reports on them in their order.
fn run_all(cases: Vec<Case>, options: &RunOptions) -> Vec<CaseReport> {
    let jobs = options
        .jobs
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(vec![None; cases.len()]);
    thread::scope(|scope| {
        for _ in 0..jobs.min(cases.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    let verdict = run_guarded(case, options);
                    verdicts.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(verdict);
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let report = |(case, verdict): (Case, Option<Verdict>)| CaseReport {
        id: case.id,
        place: case.place,
        verdict: verdict.expect("every case was run"),
    };
    cases.into_iter().zip(verdicts).map(report).collect()
}

/// Runs one case on a thread of its own, so that neither a panic nor an endless case harms the others.
fn run_guarded(case: &Case, options: &RunOptions) -> Verdict {
    let &RunOptions {
        time_limit, replays, ..
    } = options;
    let guard = Arc::new(CaseGuard::default());
    let (done, verdict) = mpsc::channel();
    let work = {
        let (case, guard) = (case.clone(), Arc::clone(&guard));
        move || {
            let verdict = catch_unwind(AssertUnwindSafe(|| judge(&case, &guard, replays)));
            // Nobody listens any more when the case ran out of time.
            let _ = done.send(verdict.unwrap_or_else(|panic| Verdict::Broke(panicked(&*panic))));
        }
    };
    let name = format!("case {}", case.id);
    if let Err(error) = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(work) {
        return Verdict::Broke(format!("no thread for the case: {error}"));
    }
    match verdict.recv_timeout(time_limit) {
        Ok(verdict) => verdict,
        Err(RecvTimeoutError::Disconnected) => Verdict::Broke("the case's thread is gone".to_owned()),
        Err(RecvTimeoutError::Timeout) => {
            guard.cancel();
            let end = match verdict.recv_timeout(GRACE) {
                Ok(_) => "",
                Err(_) => ", not even when it was cancelled",
            };
            Verdict::Broke(format!(
                "the run did not end within {} s{end}",
                time_limit.as_secs_f64()
            ))
        }
    }
}

fn judge(case: &Case, guard: &CaseGuard, replays: bool) -> Verdict {
    match run_case(case, guard, replays) {
        Ok(seen) => match check(&case.expect, &seen) {
            found if found.is_empty() => Verdict::Passed,
            found => Verdict::Failed(found),
        },
        Err(CaseError::Unsupported(reason)) => Verdict::Skipped(reason),
        Err(CaseError::Broke(reason)) => Verdict::Broke(reason),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message");
    format!("the run panicked: {text}")
}
