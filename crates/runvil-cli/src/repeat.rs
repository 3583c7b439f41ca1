//! Setting a recorded run up again, for resuming and forking it.

use std::{path::Path, sync::Arc};

use runvil_engine::{RunOutcome, RunStart, prompt::Prompt};
use runvil_harness::{GivenOrigin, Host, Launch, ModelAccess, Recorded, RunControl, RunReport};
use runvil_pack::{
    Configuration, INPUT_BROKER, InputBroker, SEARCH_PROVIDER, SearchProvider, Services, shipped::UserInputPlugin,
};
use runvil_record::{Database, RecordedRun, RunId};
use runvil_trace::{Beside, RunSpans};
use runvil_web::{TOKIO_RUNTIME, WebPlugin};
use tokio::runtime::Handle;

use crate::{
    args::ShowArgs,
    budget::Budget,
    cause::Grip,
    config::Config,
    ending::Ending,
    exit::{Exit, Fault},
    files::{self, MAX_PROMPT_BYTES},
    local,
    models::{Gate, without_server},
    operator::StdinOperator,
    out,
    record::{self, Settings},
    runtime,
    signals::{self, Signals},
    store,
    usage::{Meter, metered},
    watch::Watch,
};

/// A recorded run, and what the command line is to know of it.
pub(crate) struct Known {
    pub(crate) id: RunId,
    pub(crate) run: RecordedRun,
    pub(crate) settings: Settings,
    pub(crate) database: Database,
}

impl Known {
    /// Reads what is recorded of the run that an argument means.
    pub(crate) fn read(database: Database, id: RunId) -> Result<Self, Fault> {
        let run = database.run(id)?;
        // A run that another Host recorded is set up with the defaults.
        let settings = serde_json::from_value(run.host.clone()).unwrap_or_default();
        Ok(Self {
            id,
            run,
            settings,
            database,
        })
    }

    /// Where the prompt file was.
    pub(crate) fn file(&self) -> &Path {
        Path::new(self.run.file.as_deref().unwrap_or("<prompt>"))
    }

    /// Refuses to go on with a run whose model nothing leads to: it would only fail, and so end.
    pub(crate) fn check_reach(&self, gate: Option<&Gate>) -> Result<(), Fault> {
        match &self.start().model {
            Some(model)
                if self.run.outcome.is_none() && gate.is_none() && !local::is_asked_for(&model.id.to_string()) =>
            {
                Err(Fault::usage(format_args!(
                    "run {}: it asks the model {}, and no endpoint is configured",
                    self.id,
                    model.id.name()
                ))
                .with_help("set RUNVIL_GATEWAY_URL, or `url` under [endpoint] in runvil.toml; the record is as it was"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn start(&self) -> &RunStart {
        &self.run.start
    }

    /// The run as the Harness replays it.
    pub(crate) fn recorded(&self) -> Result<Recorded, Fault> {
        Ok(Recorded {
            start: self.run.start.clone(),
            source: self.run.source.clone(),
            parse_events: self.database.parse_events(self.id)?,
            prepared: self.run.prepared.clone(),
            outcome: self.run.outcome.clone(),
        })
    }

    /// The prompt file as it is now, if it is there and differs from what was recorded.
    pub(crate) fn edited(&self) -> Option<Vec<u8>> {
        let path = Path::new(self.run.file.as_deref()?);
        let source = files::read(path, MAX_PROMPT_BYTES).ok()?;
        (Prompt::hash_of(&source) != self.run.start.prompt_hash).then_some(source)
    }

    /// Says what is not as it was when the run was recorded. `is_recorded_text` tells whether the recorded prompt is run.
    pub(crate) fn tell_changes(&self, config: &Config, gate: Option<&Gate>, is_recorded_text: bool) {
        if self.settings.version != record::VERSION {
            out::note(format_args!(
                "note: the run was recorded by version {}, this is version {}",
                self.settings.version,
                record::VERSION
            ));
        }
        if let Some(file) = self.run.file.as_ref().filter(|_| is_recorded_text) {
            if self.edited().is_some() {
                out::note(format_args!("note: {file} was edited since; the recorded text is run"));
            } else if !Path::new(file).exists() {
                out::note(format_args!("note: {file} is gone; the recorded text is run"));
            }
        }
        let was = |endpoint: &Option<String>| endpoint.clone().unwrap_or_else(|| "none".to_owned());
        let endpoint = gate.map(|gate| gate.root().to_owned());
        if endpoint != self.settings.endpoint {
            out::note(format_args!(
                "note: the endpoint was {} and is {} now",
                was(&self.settings.endpoint),
                was(&endpoint)
            ));
        }
        if let (Some(now), Some(was)) = (config.model.id.as_deref(), &self.start().model)
            && without_server(now) != was.id.name()
        {
            out::note(format_args!(
                "note: the model under [model] is {now} now; {} is asked",
                was.id.name()
            ));
        }
        if config.limits != self.start().facts.limits {
            out::note("note: the limits under [limits] have changed; the recorded ones hold");
        }
    }

    /// A Host like the one that the run was recorded on.
    pub(crate) fn host(&self, gate: Option<&Gate>, hold: &Hold) -> Result<Host, Fault> {
        let facts = &self.start().facts;
        let search: Arc<dyn SearchProvider> = Arc::new(Gate::search(gate));
        let models = ModelAccess {
            backend: local::backend(gate.map(Gate::backend))?,
            current: self.start().model.clone(),
        };
        Host::builder()
            .service(SEARCH_PROVIDER, search)
            .service(TOKIO_RUNTIME, Arc::new(Handle::current()))
            .plugin(&WebPlugin::new(Configuration::new()))
            .plugin(&UserInputPlugin)
            .models(metered(models, &hold.meter))
            .limits(facts.limits.clone())
            .debug(facts.debug)
            .origin(Arc::new(GivenOrigin {
                seed: facts.seed,
                now: facts.started_at,
            }))
            .build()
            .map_err(Fault::usage)
    }

    /// A launch like the recorded one, of this prompt.
    pub(crate) fn launch(&self, source: Vec<u8>, control: RunControl) -> Result<Launch, Fault> {
        let start = self.start();
        let services = if self.settings.operator {
            let operator: Arc<dyn InputBroker> = Arc::new(StdinOperator::new());
            Services::new().with(INPUT_BROKER, operator)
        } else {
            Services::new()
        };
        Ok(Launch {
            args: start.facts.args.clone(),
            input: start.input.clone(),
            services,
            ui: start.facts.ui.clone(),
            store: store::open(&self.settings.store)?,
            control,
            ..Launch::new(source, &start.facts.name)
        })
    }

    /// Hands out what the run of this prompt left, and the text of its declared output file where that is asked for.
    pub(crate) fn deliver(
        &self,
        path: &Path,
        source: &[u8],
        report: &RunReport,
        hold: &Hold,
        output: Option<&Path>,
    ) -> Result<Exit, Fault> {
        let prompt = runvil_syntax::parse_structure(source).ok();
        let cancelled = matches!(report.outcome, RunOutcome::Cancelled);
        let exit = Ending {
            path,
            source,
            prompt: prompt.as_ref(),
            outcome: &report.outcome,
            cause: cancelled.then(|| hold.grip.cause()).flatten(),
            usage: hold.meter.usage(),
            output: report.output.as_ref().and_then(|output| output.as_ref().err()),
            lacks_model: false,
        }
        .tell()?;
        if let (Some(Ok(text)), Some(path)) = (&report.output, output) {
            files::write(path, text)?;
        }
        Ok(exit)
    }
}

/// Runs a future on a runtime of its own.
pub(crate) fn on_runtime<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = runtime::start()?;
    let done = runtime.block_on(work);
    // A thread that waits for standard input, or for Lua that does not come back, must not hold up the end.
    runtime.shutdown_background();
    done
}

/// The command's hold on a run that goes on.
pub(crate) struct Hold {
    pub(crate) control: RunControl,
    grip: Grip,
    meter: Arc<Meter>,
}

impl Hold {
    /// The budget holds for what the run does from here on.
    pub(crate) fn new(budget: Budget) -> Self {
        let control = RunControl::new();
        let grip = Grip::new(control.clone());
        let meter = Arc::new(Meter::new(budget, grip.clone()));
        Self { control, grip, meter }
    }

    /// Shows the run from here on, and heeds signals while it goes.
    pub(crate) fn watch(&self, source: &[u8], name: &str) -> Result<Watched, Fault> {
        let prompt = runvil_syntax::parse_structure(source).ok();
        let prompt = prompt.as_ref().map_or("", |prompt| &prompt.frontmatter.name);
        let listening =
            Signals::listen().map_err(|error| Fault::failure(format_args!("signals cannot be heeded: {error}")))?;
        Ok(Watched {
            watch: Watch::begin(&ShowArgs::default(), &self.meter)?,
            spans: RunSpans::start(prompt, name),
            signals: tokio::spawn(signals::heed(listening, self.grip.clone())),
            clock: tokio::spawn(Arc::clone(&self.meter).watch_time()),
        })
    }
}

/// What a person sees of a run that goes on, with signals heeded while it does.
pub(crate) struct Watched {
    watch: Watch,
    spans: RunSpans,
    signals: tokio::task::JoinHandle<()>,
    clock: tokio::task::JoinHandle<()>,
}

impl Watched {
    /// Who is to hear the run.
    pub(crate) fn observer(&mut self) -> Beside<'_> {
        self.spans.beside(&mut self.watch)
    }

    /// Ends what is shown of a run that ended so, if it came that far.
    pub(crate) fn end(self, outcome: Option<&RunOutcome>) -> Result<(), Fault> {
        self.signals.abort();
        self.clock.abort();
        if let Some(outcome) = outcome {
            self.spans.end(outcome);
        }
        self.watch.finish()
    }
}

/// Reads a prompt file that an argument names.
pub(crate) fn read_prompt(path: &Path) -> Result<Vec<u8>, Fault> {
    Ok(files::read(path, MAX_PROMPT_BYTES)?)
}
