//! What the manual says beyond the command line: the exit status, the environment and the files.

use std::io::{self, Write};

use roff::{Roff, bold, roman};

/// Each with its meaning. A command has no other status.
const STATUS: [(&str, &str); 4] = [
    (
        "0",
        "The work is done: the run completed, the files parse, the cases passed, the runs are the same.",
    ),
    (
        "1",
        "The work failed: the run failed, a file does not parse, a case failed, the runs differ, or an endpoint or a file \
         let the command down.",
    ),
    ("2", "The command line or the configuration cannot be used."),
    (
        "130",
        "The run was cancelled: by Ctrl-C, by a signal, or by its budget.",
    ),
];

const ENVIRONMENT: [(&str, &str); 5] = [
    (
        "RUNVIL_GATEWAY_URL",
        "The endpoint that models are asked at: an API root such as http://127.0.0.1:8081/v1. It counts before `url` under \
         [endpoint] in runvil.toml.",
    ),
    (
        "RUNVIL_GATEWAY_API_KEY",
        "The key of the endpoint. It is required unless the endpoint is on this machine, and stands in no file.",
    ),
    (
        "RUNVIL_LOG",
        "What is logged to standard error: a level such as debug, or levels of parts such as runvil_model=debug,warn.",
    ),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "In a build with the feature otlp: the collector to which the spans of runs are sent.",
    ),
    ("NO_COLOR", "Where it is set, nothing is written in colour."),
];

const FILES: [(&str, &str); 4] = [
    (
        "runvil.toml",
        "The project's configuration: in the current directory, or else in the nearest directory above it.",
    ),
    (
        "~/.config/runvil/runvil.toml",
        "The user's own configuration, which the project's counts before, key by key. $XDG_CONFIG_HOME, if it is set, \
         stands for ~/.config; on Windows it is %APPDATA%\\runvil\\runvil.toml.",
    ),
    (
        "~/.local/share/runvil/runs.db",
        "The records of runs, unless `path` under [record] in runvil.toml names another file. $XDG_DATA_HOME, if it is set, \
         stands for ~/.local/share; on Windows it is %APPDATA%\\runvil\\runs.db.",
    ),
    (
        "~/.local/share/runvil/models",
        "The models that `runvil model add` installed.",
    ),
];

/// Writes the sections of a page. Those that hold for every command stand on the page of `runvil` itself, to which the page
/// of a command below leads.
pub(super) fn write(above: Option<&str>, page: &mut dyn Write) -> io::Result<()> {
    let mut roff = Roff::new();
    list(&mut roff, "EXIT STATUS", &STATUS);
    match above {
        None => {
            list(&mut roff, "ENVIRONMENT", &ENVIRONMENT);
            list(&mut roff, "FILES", &FILES);
        }
        Some(above) => {
            let mut others = vec![above];
            if above != "runvil" {
                others.insert(0, "runvil");
            }
            let others: Vec<_> = others.into_iter().map(|page| format!("{page}(1)")).collect();
            roff.control("SH", ["SEE ALSO"]);
            roff.text([roman(others.join(", "))]);
        }
    }
    roff.to_writer(page)
}

fn list(roff: &mut Roff, heading: &str, entries: &[(&str, &str)]) {
    roff.control("SH", [heading]);
    for (name, meaning) in entries {
        roff.control("TP", []);
        roff.text([bold(*name)]);
        roff.text([roman(*meaning)]);
    }
}
