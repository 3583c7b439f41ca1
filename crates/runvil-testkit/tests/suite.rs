//! The project's own conformance suite passes whole, and each of its runs replays to the same bytes.

use std::path::Path;

use runvil_testkit::{RunOptions, Summary, Verdict, run_paths};

#[test]
fn every_case_of_the_project_passes_and_replays_to_the_same_bytes() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let options = RunOptions {
        replays: true,
        ..RunOptions::default()
    };
    let report = run_paths(&[suite], &options);
    let unmet: Vec<_> = report
        .cases
        .iter()
        .filter(|case| case.verdict != Verdict::Passed)
        .collect();
    assert!(
        report.refused.is_empty() && unmet.is_empty(),
        "{:?} {unmet:#?}",
        report.refused
    );
    let Summary {
        passed,
        failed,
        skipped,
    } = report.summary();
    assert!(
        passed > 3000 && failed == 0 && skipped == 0,
        "{passed} {failed} {skipped}"
    );
}
