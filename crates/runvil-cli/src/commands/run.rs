//! `runvil run`: runs one prompt.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::Arc,
};

use runvil_engine::{RunError, RunErrorKind, RunOutcome, prompt::Prompt};
use runvil_harness::{Host, Launch, RunControl, RunReport};
use runvil_pack::{
    Configuration, INPUT_BROKER, InputBroker, SEARCH_PROVIDER, SearchProvider, Services, shipped::UserInputPlugin,
};
use runvil_syntax::Frontmatter;
use runvil_web::{TOKIO_RUNTIME, WebPlugin};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::{
    args::RunArgs,
    config::Config,
    diagnostic,
    exit::{Exit, Fault},
    files::{self, MAX_INPUT_BYTES, MAX_PROMPT_BYTES},
    live::LiveOutput,
    models::{self, Gate},
    operator::StdinOperator,
    out, record, runtime,
    signals::{self, Signals},
    store::{self, StoreSpec},
};

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Fault> {
    let source = files::read(&args.file, MAX_PROMPT_BYTES)?;
    // The run parses the file again, for its record. This parse tells what the command has to get ready.
    let parsed = runvil_syntax::parse_structure(&source).ok();
    let declared = parsed.as_ref().map(|prompt| &prompt.frontmatter);
    check_output(args, declared)?;
    let config = Config::load()?;
    let runtime = runtime::start()?;
    let exit = runtime.block_on(run_prompt(args, source, declared, &config));
    // A thread that waits for standard input, or for Lua that does not come back, must not hold up the end.
    runtime.shutdown_background();
    exit
}

/// An output file is asked for where the prompt declares one.
fn check_output(args: &RunArgs, declared: Option<&Frontmatter>) -> Result<(), Fault> {
    let declares_none = declared.is_some_and(|frontmatter| frontmatter.output.is_none());
    match &args.output {
        Some(path) if declares_none => Err(Fault::usage(format_args!(
            "--output {}: the prompt {} declares no `output:` file",
            path.display(),
            args.file.display()
        ))
        .with_help("leave --output out, or declare an `output:` file in the frontmatter; the run result goes to standard output")),
        Some(path) if path.is_dir() => {
            Err(Fault::usage(format_args!("--output {}: this is a directory, not a file", path.display())))
        }
        _ => Ok(()),
    }
}

async fn run_prompt(
    args: &RunArgs,
    source: Vec<u8>,
    declared: Option<&Frontmatter>,
    config: &Config,
) -> Result<Exit, Fault> {
    let gate = Gate::open(config)?;
    // A prompt whose Lua does not compile asks for no model.
    let declares_roles = declared.is_some_and(|frontmatter| !frontmatter.models.is_empty())
        && Prompt::parse(&source, &args.name).result.is_ok();
    let models = models::access(gate.as_ref(), config, args.model.as_deref(), declares_roles).await?;
    let lacks_model = declares_roles && models.current.is_none();
    let search: Arc<dyn SearchProvider> = Arc::new(Gate::search(gate.as_ref()));
    let host = Host::builder()
        .service(SEARCH_PROVIDER, search)
        .service(TOKIO_RUNTIME, Arc::new(Handle::current()))
        .plugin(&WebPlugin::new(Configuration::new()))
        .plugin(&UserInputPlugin)
        .models(models)
        .limits(config.limits.clone())
        .build()
        .map_err(Fault::usage)?;
    let control = RunControl::new();
    let launch = Launch {
        args: args.args.clone(),
        input: args.input.as_deref().map(files::read_text).transpose()?,
        services: services(args),
        ui: args.ui.as_deref().map(read_ui).transpose()?,
        store: store::open(&StoreSpec::from(args))?,
        recorder: record::recorder(args, config, gate.as_ref())?,
        control: control.clone(),
        ..Launch::new(source.clone(), &args.name)
    };
    // From here on a signal ends the run and no longer the process.
    let listening =
        Signals::listen().map_err(|error| Fault::failure(format_args!("signals cannot be heeded: {error}")))?;
    let signals = tokio::spawn(signals::heed(listening, control));
    let mut live = LiveOutput::new();
    let report = host.run(launch, &mut live).await;
    signals.abort();
    live.end_line();
    let exit = deliver(args, &source, report)?;
    if exit == Exit::Failure && lacks_model {
        out::note(
            "  help: the prompt declares model roles, and no model is configured; set RUNVIL_GATEWAY_URL, or `url` under \
             [endpoint] in runvil.toml",
        );
    }
    Ok(exit)
}

/// The services of the run: its operator, unless nobody is there or standard input holds the input text.
fn services(args: &RunArgs) -> Services {
    let input_is_stdin = args.input.as_deref().is_some_and(files::is_stdin);
    if args.no_operator || input_is_stdin {
        return Services::new();
    }
    let operator: Arc<dyn InputBroker> = Arc::new(StdinOperator::new());
    Services::new().with(INPUT_BROKER, operator)
}

fn read_ui(path: &Path) -> Result<Value, Fault> {
    let bytes = files::read(path, MAX_INPUT_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Fault::failure(format_args!("{}: the file is not JSON: {error}", path.display()))
            .with_help("--ui takes a JSON file")
    })
}

/// Hands out what the run left.
fn deliver(args: &RunArgs, source: &[u8], report: RunReport) -> Result<Exit, Fault> {
    match report.outcome {
        RunOutcome::Completed { text } => {
            print_result(&text)?;
            match report.output {
                Some(Ok(text)) => {
                    if let Some(path) = &args.output {
                        files::write(path, &text)?;
                    }
                }
                Some(Err(error)) => out::note(format_args!("warning: {}", with_causes(&error))),
                None => {}
            }
            Ok(Exit::Success)
        }
        RunOutcome::Cancelled => {
            out::note("the run was cancelled");
            Ok(Exit::Cancelled)
        }
        RunOutcome::Failed(error) => {
            out::note(failure(&args.file, source, &error));
            Ok(Exit::Failure)
        }
    }
}

/// Writes the run result, byte for byte.
fn print_result(text: &str) -> Result<(), Fault> {
    out::print(text)?;
    if io::stdout().is_terminal() && io::stderr().is_terminal() && !text.ends_with('\n') {
        // The shell's own prompt is to start on a line of its own; the result itself stays as it is.
        out::note("");
    }
    Ok(())
}

/// A failed run's error for a reader. A parse failure shows its place in the file.
fn failure(path: &Path, source: &[u8], error: &RunError) -> String {
    let mut text = match &error.location {
        Some(location) if error.kind == RunErrorKind::Parse => {
            diagnostic::render_located(path, source, &error.message, location)
        }
        _ => format!("error: the run failed ({}): {}", error.kind, error.message),
    };
    if error.retryable {
        text.push_str("\n  help: the failure may pass; run the prompt again");
    }
    text
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
