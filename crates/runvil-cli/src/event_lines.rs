//! `--events jsonl`: each event of a run as one line of JSON, as soon as it happens.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    str::FromStr,
};

use runvil_engine::Event;
use runvil_harness::Observer;

use crate::{exit::Fault, out};

/// Where the lines go: `jsonl` for standard error, `jsonl:FILE` for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventSink {
    pub(crate) file: Option<PathBuf>,
}

impl FromStr for EventSink {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let file = match text.split_once(':') {
            Some(("jsonl", "-")) => {
                return Err("`jsonl` alone is standard error, and a file that is called `-` is `jsonl:./-`");
            }
            None if text == "jsonl" => None,
            Some(("jsonl", file)) if !file.is_empty() => Some(file.into()),
            _ => return Err("`jsonl` or `jsonl:FILE` is meant"),
        };
        Ok(Self { file })
    }
}

/// Writes the events of one run.
pub(crate) struct EventLines {
    /// Without one, standard error.
    file: Option<EventFile>,
}

struct EventFile {
    path: PathBuf,
    file: File,
    broken: Option<io::Error>,
}

impl EventLines {
    /// Opens the place. A file that exists is replaced.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn open(sink: &EventSink) -> Result<Self, Fault> {
        let open = |path: &PathBuf| match File::create(path) {
            Ok(file) => Ok(EventFile {
                path: path.clone(),
                file,
                broken: None,
            }),
            Err(error) => Err(unwritten(path, &error)),
        };
        let file = sink.file.as_ref().map(open).transpose()?;
        Ok(Self { file })
    }

    /// Whether every event was written. That nobody reads standard error does not concern the command.
    ///
    /// # Errors
    /// What kept the first that was not.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        match self.file {
            Some(EventFile {
                path,
                broken: Some(error),
                ..
            }) => Err(unwritten(&path, &error)),
            _ => Ok(()),
        }
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Fault {
    Fault::failure(format_args!("--events: {}: {error}", path.display()))
        .with_help("name a file that can be written, as in --events jsonl:events.jsonl")
}

impl Observer for EventLines {
    fn event(&mut self, event: &Event) {
        let line = serde_json::to_string(event).expect("an event has string keys and no value that JSON lacks");
        match &mut self.file {
            None => out::note(line),
            Some(EventFile { broken: Some(_), .. }) => {}
            // One unbuffered write for each line, so that whoever reads along sees whole lines at once.
            Some(EventFile { file, broken, .. }) => *broken = file.write_all(format!("{line}\n").as_bytes()).err(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_is_a_format_and_perhaps_a_file() {
        let file = |text: &str| text.parse::<EventSink>().map(|sink| sink.file);
        assert_eq!(file("jsonl"), Ok(None));
        assert_eq!(file("jsonl:C:\\e.jsonl"), Ok(Some("C:\\e.jsonl".into())));
        for text in ["", "json", "jsonl:", "e.jsonl", "jsonl:-"] {
            assert!(file(text).is_err(), "{text}");
        }
    }
}
