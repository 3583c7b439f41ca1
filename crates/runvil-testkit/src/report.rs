//! What running case files gave.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    case::{LoadError, Place},
    mismatch::{Mismatch, Want},
};

/// The verdicts over all cases, in the order of the files and of the cases in them.
#[derive(Debug, Default)]
pub struct Report {
    /// One entry for each case that was run.
    pub cases: Vec<CaseReport>,
    /// The case files that cannot be used, none of whose cases were run. Each counts as one failure.
    pub refused: Vec<LoadError>,
}

/// The verdict on one case.
#[derive(Debug)]
pub struct CaseReport {
    /// The case's id.
    pub id: String,
    /// Where it stands.
    pub place: Place,
    /// How it went.
    pub verdict: Verdict,
}

/// How one case went.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Every expectation is met.
    Passed,
    /// Some expectations are not met.
    Failed(Vec<Mismatch>),
    /// The case did not get so far as to be compared, for this reason.
    Broke(String),
    /// The case was not run, for this reason.
    Skipped(String),
}

/// How many cases went which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed, and case files that cannot be used.
    pub failed: usize,
    /// Cases that were not run.
    pub skipped: usize,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

impl Report {
    /// The counts.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            failed: self.refused.len(),
            ..Summary::default()
        };
        for case in &self.cases {
            match case.verdict {
                Verdict::Passed => summary.passed += 1,
                Verdict::Failed(_) | Verdict::Broke(_) => summary.failed += 1,
                Verdict::Skipped(_) => summary.skipped += 1,
            }
        }
        summary
    }

    /// Whether nothing failed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.summary().failed == 0
    }

    /// The report as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let refused: Vec<_> = self
            .refused
            .iter()
            .map(
                |error| json!({ "file": error.file, "line": error.line, "case": error.case, "message": error.message }),
            )
            .collect();
        json!({
            "summary": self.summary(),
            "cases": self.cases.iter().map(CaseReport::to_json).collect::<Vec<_>>(),
            "refused": refused,
        })
    }
}

impl CaseReport {
    /// One line for a case that did not pass; `None` for one that did.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        let (word, why) = match &self.verdict {
            Verdict::Passed => return None,
            Verdict::Failed(found) => {
                let found: Vec<_> = found.iter().map(ToString::to_string).collect();
                ("FAIL", found.join("; "))
            }
            Verdict::Broke(why) => ("FAIL", why.clone()),
            Verdict::Skipped(why) => ("SKIP", why.clone()),
        };
        Some(format!(
            "{word} {} ({}): {}",
            self.id,
            self.place,
            why.replace('\n', " ")
        ))
    }

    /// The line-by-line comparisons of a failed case.
    pub fn diffs(&self) -> impl Iterator<Item = (&str, String)> {
        let found = match &self.verdict {
            Verdict::Failed(found) => found.as_slice(),
            _ => &[],
        };
        found
            .iter()
            .filter_map(|mismatch| Some((mismatch.what.as_str(), mismatch.diff()?)))
    }

    fn to_json(&self) -> Value {
        let mut entry = json!({
            "id": self.id,
            "file": self.place.file,
            "line": self.place.line,
            "verdict": match self.verdict {
                Verdict::Passed => "passed",
                Verdict::Failed(_) | Verdict::Broke(_) => "failed",
                Verdict::Skipped(_) => "skipped",
            },
        });
        match &self.verdict {
            Verdict::Passed => {}
            Verdict::Failed(found) => entry["mismatches"] = found.iter().map(mismatch_json).collect(),
            Verdict::Broke(why) | Verdict::Skipped(why) => entry["reason"] = why.as_str().into(),
        }
        entry
    }
}

fn mismatch_json(mismatch: &Mismatch) -> Value {
    let (asked, expected) = match &mismatch.want {
        Want::Be(value) => ("equals", value.clone()),
        Want::Contain(text) => ("contains", text.as_str().into()),
        Want::Lack(text) => ("lacks", text.as_str().into()),
        Want::Match(pattern) => ("matches", pattern.as_str().into()),
        Want::Include(part) => ("includes", part.clone()),
    };
    json!({ "what": mismatch.what, "asked": asked, "expected": expected, "actual": mismatch.actual })
}
