//! `runvil run`: runs one prompt.

use std::{path::Path, sync::Arc};

use runvil_engine::prompt::Prompt;
use runvil_harness::{Host, Launch, ModelAccess};
use runvil_pack::{INPUT_BROKER, InputBroker, SEARCH_PROVIDER, SearchProvider, Services};
use runvil_syntax::Frontmatter;
use runvil_web::TOKIO_RUNTIME;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::{
    args::RunArgs,
    budget::Budget,
    config::Config,
    exit::{Exit, Fault},
    files::{self, MAX_INPUT_BYTES, MAX_PROMPT_BYTES},
    hold::{Hold, Left},
    models::{self, Gate},
    operator::StdinOperator,
    output,
    overwrite::Spared,
    packs, record, runtime,
    store::{self, StoreSpec},
    usage::Usage,
};

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Fault> {
    let source = files::read(&args.file, MAX_PROMPT_BYTES)?;
    // The run parses the file again, for its record. This parse tells what the command has to get ready.
    let program = Program {
        args,
        prompt: runvil_syntax::parse_structure(&source).ok(),
        source,
    };
    output::check(args.output.as_deref(), &args.file, program.declared())?;
    let config = Config::load()?;
    program.check_places(&config)?;
    let runtime = runtime::start()?;
    let exit = runtime.block_on(program.run(&config));
    // A thread that waits for standard input, or for Lua that does not come back, must not hold up the end.
    runtime.shutdown_background();
    exit
}

/// The prompt, and how it is to be run.
struct Program<'a> {
    args: &'a RunArgs,
    source: Vec<u8>,
    /// The tree, where there is one. Its Lua may still not compile.
    prompt: Option<runvil_syntax::Prompt>,
}

impl Program<'_> {
    fn declared(&self) -> Option<&Frontmatter> {
        self.prompt.as_ref().map(|prompt| &prompt.frontmatter)
    }

    /// What the run reads is not written over.
    fn check_places(&self, config: &Config) -> Result<(), Fault> {
        let args = self.args;
        let mut spared = Spared::of(config);
        spared.add("the prompt file", Some(&args.file));
        spared.add("the input file", args.input.as_deref());
        spared.add("the UI file", args.ui.as_deref());
        spared.check(args.output.as_deref(), args.drive.show.events.sink.as_ref())
    }

    async fn run(&self, config: &Config) -> Result<Exit, Fault> {
        let args = self.args;
        let gate = Gate::open(config)?;
        // A prompt whose Lua does not compile asks for no model.
        let declares_roles = self
            .declared()
            .is_some_and(|frontmatter| !frontmatter.models.is_empty())
            && Prompt::parse(&self.source, &args.name).result.is_ok();
        let models = models::access(gate.as_ref(), config, args.model.as_deref(), declares_roles).await?;
        let lacks_model = declares_roles && models.current.is_none();

        let budget = config.budget.under(Budget::from(&args.drive.budget));
        let hold = Hold::new(budget, Usage::default());
        let host = host(args, config, gate.as_ref(), hold.metered(models))?;
        let writer = record::recorder(args, config, gate.as_ref())?;
        let recorded = writer.as_ref().map(|writer| writer.id());
        writer.iter().for_each(|writer| hold.record(writer));
        let launch = Launch {
            args: args.args.clone(),
            input: args.input.as_deref().map(files::read_text).transpose()?,
            services: services(args),
            ui: args.ui.as_deref().map(read_ui).transpose()?,
            store: store::open(&StoreSpec::from(args))?,
            recorder: writer.map(|writer| writer as _),
            control: hold.control.clone(),
            ..Launch::new(self.source.as_slice(), &args.name)
        };
        let show = &args.drive.show;
        let mut watched = hold.watch(show, self.prompt.as_ref(), &args.name)?;
        let report = host.run(launch, &mut watched.observer()).await;
        let shown = watched.end(Some(&report.outcome));
        let left = Left {
            path: &args.file,
            source: &self.source,
            prompt: self.prompt.as_ref(),
            report: &report,
            output: args.output.as_deref(),
            lacks_model,
            recorded,
        };
        let exit = hold.deliver(&left, show)?;
        shown.map(|()| exit)
    }
}

fn host(args: &RunArgs, config: &Config, gate: Option<&Gate>, models: ModelAccess) -> Result<Host, Fault> {
    let search: Arc<dyn SearchProvider> = Arc::new(Gate::search(gate));
    packs::add_to(Host::builder())
        .service(SEARCH_PROVIDER, search)
        .service(TOKIO_RUNTIME, Arc::new(Handle::current()))
        .models(models)
        .limits(config.limits.clone())
        .debug(args.drive.show.debug)
        .build()
        .map_err(Fault::usage)
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

/// The UI snapshot that a file holds.
pub(crate) fn read_ui(path: &Path) -> Result<Value, Fault> {
    let bytes = files::read(path, MAX_INPUT_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Fault::failure(format_args!("{}: the file is not JSON: {error}", path.display()))
            .with_help("--ui takes a JSON file")
    })
}
