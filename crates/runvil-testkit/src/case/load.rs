//! Reads case files, strictly.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_saphyr::{Options, Spanned};

use super::{Case, Place};

/// One case file.
#[derive(Debug, Clone)]
pub struct CaseFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its cases in order.
    pub cases: Vec<Case>,
}

/// Why a case file cannot be used. Its cases are not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The case file.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<u64>,
    /// The id of the case that the problem is in, where it is known.
    pub case: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if let Some(case) = &self.case {
            write!(f, "case {case}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for LoadError {}

/// As much of a case as is needed to name it.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<String>,
}

impl CaseFile {
    /// Reads the file.
    ///
    /// # Errors
    /// The file cannot be read, is no list of cases or an empty one, or one of its cases cannot be meant.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let text = fs::read_to_string(path).map_err(|error| LoadError {
            file: path.to_owned(),
            line: None,
            case: None,
            message: format!("cannot read the case file: {error}"),
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of the file at `path`.
    ///
    /// # Errors
    /// As [`CaseFile::read`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, LoadError> {
        let text = &without_separators(text);
        let decoded: Vec<Spanned<Case>> = decode(text).map_err(|error| refused(path, text, &error))?;
        let mut cases = Vec::with_capacity(decoded.len());
        for Spanned {
            value: mut case,
            referenced,
            ..
        } in decoded
        {
            case.place = Place {
                file: path.to_owned(),
                line: referenced.line(),
            };
            case.validate().map_err(|message| LoadError {
                file: path.to_owned(),
                line: Some(case.place.line),
                case: Some(case.id.clone()),
                message,
            })?;
            cases.push(case);
        }
        if cases.is_empty() {
            return Err(LoadError {
                file: path.to_owned(),
                line: None,
                case: None,
                message: "the file holds no case".to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            cases,
        })
    }
}

/// The text with a comment in place of the empty line that separates two cases. YAML would count it to a text that keeps
/// its line breaks (`|+`) and ends the case before. Every line keeps its number.
fn without_separators(text: &str) -> String {
    text.replace("\n\n- id:", "\n#\n- id:")
}

fn decode<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, options())
}

/// A case file is the developer's own, so its size has no budget. `yes` and `on` are texts.
fn options() -> Options {
    serde_saphyr::options! {
        budget: None,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn refused(path: &Path, text: &str, error: &serde_saphyr::Error) -> LoadError {
    let line = error
        .location()
        .map(|location| location.line())
        .filter(|line| *line > 0);
    LoadError {
        file: path.to_owned(),
        line,
        case: line.and_then(|line| case_at(text, line)),
        message: error.without_snippet().to_string(),
    }
}

/// The id of the case that the line belongs to.
fn case_at(text: &str, line: u64) -> Option<String> {
    let heads: Vec<Spanned<Head>> = decode(text).ok()?;
    heads.into_iter().rfind(|head| head.referenced.line() <= line)?.value.id
}
