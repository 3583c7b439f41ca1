//! Setting a recorded run up again, for resuming and forking it.

use std::{path::Path, sync::Arc};

use runvil_engine::{Answer, EffectId, EffectKind, Outcome, RunStart, prompt::Prompt};
use runvil_harness::{GivenOrigin, Host, Launch, ModelAccess, Recorded, RunControl};
use runvil_pack::{INPUT_BROKER, InputBroker, SEARCH_PROVIDER, SearchProvider, Services};
use runvil_record::{Database, Parent, RecordedEffect, RecordedRun, RunId};
use runvil_web::TOKIO_RUNTIME;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::{
    args::BudgetArgs,
    budget::Budget,
    config::Config,
    exit::Fault,
    files::{self, MAX_PROMPT_BYTES},
    hold::Hold,
    local,
    models::Gate,
    operator::StdinOperator,
    out,
    overwrite::Spared,
    packs,
    progress::{counted, tokens},
    record::Settings,
    runtime, store,
    usage::Usage,
};

/// A recorded run, and what the command line is to know of it.
pub(crate) struct Known {
    pub(crate) id: RunId,
    pub(crate) run: RecordedRun,
    pub(crate) settings: Settings,
    pub(crate) database: Database,
    /// Why the settings are the usual ones in place of those that are recorded.
    unreadable: Option<String>,
}

impl Known {
    /// Reads what is recorded of the run that an argument means.
    pub(crate) fn read(database: Database, id: RunId) -> Result<Self, Fault> {
        let run = database.run(id)?;
        // A run that another Host recorded may have none.
        let (settings, unreadable) = match &run.host {
            Value::Null => (Settings::default(), None),
            host => match serde_json::from_value(host.clone()) {
                Ok(settings) => (settings, None),
                Err(error) => (Settings::default(), Some(error.to_string())),
            },
        };
        Ok(Self {
            id,
            run,
            settings,
            database,
            unreadable,
        })
    }

    /// Refuses to set a run up of which it is not known how: on which store, for one.
    pub(crate) fn check_settings(&self) -> Result<(), Fault> {
        match &self.unreadable {
            Some(problem) => Err(Fault::failure(format_args!(
                "run {}: how it was set up cannot be read: {problem}",
                self.id
            ))
            .with_help("use the version of the program that recorded it")),
            None => Ok(()),
        }
    }

    /// Where the prompt file was.
    pub(crate) fn file(&self) -> &Path {
        Path::new(self.run.file.as_deref().unwrap_or("<prompt>"))
    }

    /// The run that this one forked from.
    pub(crate) fn parent(&self) -> Result<Option<Parent>, Fault> {
        Ok(self.database.summary(self.id)?.parent)
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
        // A pipe was read once and for all.
        let path = Path::new(self.run.file.as_deref()?);
        if !path.is_file() {
            return None;
        }
        let source = files::read(path, MAX_PROMPT_BYTES).ok()?;
        (Prompt::hash_of(&source) != self.run.start.prompt_hash).then_some(source)
    }

    /// The budget that the command drives the run under: what its own arguments say, else what held for the run.
    pub(crate) fn budget(&self, config: &Config, args: &BudgetArgs) -> Budget {
        let recorded = self.settings.budget().unwrap_or(config.budget);
        recorded.under(Budget::from(args))
    }

    /// What the model rounds used whose answers are recorded, up to the effect `until`. A round that was open is sent again,
    /// and counts then.
    pub(crate) fn used(&self, until: Option<EffectId>) -> Result<Usage, Fault> {
        let mut used = Usage::default();
        for recorded in self.database.effects(self.id)? {
            let RecordedEffect {
                effect,
                answer,
                dropped,
                ..
            } = recorded?;
            if until.is_some_and(|until| effect.id > until) {
                break;
            }
            if !matches!(effect.kind, EffectKind::ModelRound(_)) {
                continue;
            }
            match answer {
                Some(Answer::Model(reply)) => used.count_round(
                    match *reply {
                        Outcome::Ok(reply) => reply.usage,
                        Outcome::Err(error) => error.usage,
                    }
                    .unwrap_or_default(),
                ),
                _ if dropped => used.count_round(runvil_engine::Usage::default()),
                _ => {}
            }
        }
        Ok(used)
    }

    /// Says what counts against the budget before anything runs; refuses where that has passed it.
    pub(crate) fn check_budget(&self, budget: &Budget, used: &Usage, notes: bool) -> Result<(), Fault> {
        if let Some(passed) = budget.passed_by(used) {
            return Err(
                Fault::usage(format_args!("run {}: with what it used before, {passed}", self.id))
                    .with_help(passed.help()),
            );
        }
        if notes && budget.counts_use() && used.rounds > 0 {
            let tokens = tokens(used).map(|tokens| format!(" and {tokens}"));
            out::note(format_args!(
                "note: {}{} from before count against the budget",
                counted(used.rounds, "model round"),
                tokens.unwrap_or_default()
            ));
        }
        Ok(())
    }

    /// What the command reads of the run is not written over.
    pub(crate) fn spared(&self, config: &Config) -> Spared {
        let mut spared = Spared::of(config);
        spared.add("the prompt file", self.run.file.as_deref().map(Path::new));
        spared.add("the input file", self.settings.input.as_deref());
        spared.add("the UI file", self.settings.ui.as_deref());
        spared
    }

    /// A Host like the one that the run was recorded on.
    pub(crate) fn host(&self, config: &Config, gate: Option<&Gate>, hold: &Hold, debug: bool) -> Result<Host, Fault> {
        let facts = &self.start().facts;
        let search: Arc<dyn SearchProvider> = Arc::new(Gate::search(gate));
        let models = ModelAccess {
            backend: local::backend(gate.map(Gate::backend), config)?,
            current: self.start().model.clone(),
        };
        packs::add_to(Host::builder())
            .service(SEARCH_PROVIDER, search)
            .service(TOKIO_RUNTIME, Arc::new(Handle::current()))
            .models(hold.metered(models))
            .limits(facts.limits.clone())
            .debug(facts.debug || debug)
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
}

/// Runs a future on a runtime of its own.
pub(crate) fn on_runtime<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = runtime::start()?;
    let done = runtime.block_on(work);
    // A thread that waits for standard input, or for Lua that does not come back, must not hold up the end.
    runtime.shutdown_background();
    done
}

/// Reads a prompt file that an argument names.
pub(crate) fn read_prompt(path: &Path) -> Result<Vec<u8>, Fault> {
    Ok(files::read(path, MAX_PROMPT_BYTES)?)
}
