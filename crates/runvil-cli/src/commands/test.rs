//! `runvil test`: runs conformance cases.

use std::io::{self, Write};

use runvil_testkit::{Loaded, Report, RunOptions, load, run_paths};

use crate::{
    args::TestArgs,
    exit::{Exit, Fault},
    out,
};

pub(crate) fn test(args: &TestArgs) -> Result<Exit, Fault> {
    let options = RunOptions {
        filter: args.filter.clone(),
        ..RunOptions::default()
    };
    if args.list {
        let loaded = load(&args.paths, &options);
        some_case(args, loaded.cases.len() + loaded.refused.len())?;
        return list(&loaded).map_err(unwritten);
    }
    let report = run_paths(&args.paths, &options);
    some_case(args, report.cases.len() + report.refused.len())?;
    let printed = if args.json {
        print_json(&report)
    } else {
        print(&report, args.diff)
    };
    printed.map_err(unwritten)?;
    Ok(if report.is_success() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

/// That nothing was tested is no success. Only a filter can leave nothing to do: a path without cases is refused.
fn some_case(args: &TestArgs, found: usize) -> Result<(), Fault> {
    match &args.filter {
        Some(filter) if found == 0 => Err(Fault::usage(format_args!(
            "--filter {filter}: no case has an id that contains this"
        ))
        .with_help("`runvil test --list` shows the ids")),
        _ => Ok(()),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "`map_err` hands the error over")]
fn unwritten(error: io::Error) -> Fault {
    Fault::failure(format_args!("the report cannot be written to standard output: {error}"))
}

fn list(loaded: &Loaded) -> io::Result<Exit> {
    let mut out = io::stdout().lock();
    for case in &loaded.cases {
        writeln!(out, "{}", case.id)?;
    }
    for error in &loaded.refused {
        out::note(format_args!("error: {error}"));
    }
    Ok(if loaded.refused.is_empty() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

fn print_json(report: &Report) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}", report.to_json())
}

fn print(report: &Report, diff: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for error in &report.refused {
        writeln!(out, "FAIL {error}")?;
    }
    for case in &report.cases {
        let Some(line) = case.line() else { continue };
        writeln!(out, "{line}")?;
        for (what, diff) in case.diffs().filter(|_| diff) {
            writeln!(out, "    {what}")?;
            for line in diff.lines() {
                writeln!(out, "    {line}")?;
            }
        }
    }
    writeln!(out, "{}", report.summary())
}
