//! Preparing a run: everything that comes before its first step (book: The order prepare works in).

use std::sync::Arc;

use runvil_engine::{
    PackSnapshot, PreparedRoles, Run, RunError, RunErrorKind, RunFacts, RunOutcome, RunPrepared, RunSetup, RunStart,
    StoreAccess, prepare_roles,
    prompt::{Parsed, Prompt},
};
use runvil_model::RoundLimits;
use runvil_pack::Services;
use runvil_syntax::{Frontmatter, ParseEvent};
use runvil_vfs::Store;

use crate::{
    Host, Launch, ModelAccess, Recorded, RequirementsReport, RunControl, RunReport,
    blocking::blocking,
    drive::Staged,
    host::Shared,
    packs::{self, RunPacks, ToolTable},
    perform::Performer,
    recording::{Recording, Unrecordable, state},
    replay::RecordedAccess,
    report::RunRecord,
    staging,
    store::SessionAccess,
};

/// The largest prompt, in bytes, that is parsed where it stands: it takes less time than handing it to another thread.
const PARSED_IN_PLACE: usize = 64 * 1024;

/// A run that is ready for its first step.
pub struct Prepared {
    /// The run.
    pub run: Run,
    /// Who performs its effects.
    pub performer: Arc<Performer>,
    /// The launch's control.
    pub control: RunControl,
    /// What is to become its report. It holds the parse events.
    pub record: RunRecord,
}

/// What preparing a run comes to.
pub enum Preparation {
    /// The run can start.
    Ready(Box<Prepared>),
    /// The run ended before it was built: the prompt does not parse, its input cannot be put in place, the
    /// environment falls short of it, or the run was cancelled before one of these was found.
    Ended(Box<RunReport>),
}

/// Prepares a run.
///
/// A cancel while Packs start ends the wait for them. A prompt that has nothing to be refused for is then built all
/// the same, and ends at its first step.
pub async fn prepare(host: &Host, launch: Launch) -> Preparation {
    prepare_as(host, launch, None, None).await
}

/// Prepares a run that is to follow another, which was prepared with these Packs.
pub(crate) async fn prepare_forked(host: &Host, launch: Launch, packs: Option<&PackSnapshot>) -> Preparation {
    prepare_as(host, launch, None, packs).await
}

/// Prepares a run whose process died, of what was recorded. Its store access answers from `access`.
pub(crate) async fn prepare_resumed(
    host: &Host,
    launch: Launch,
    recorded: &Recorded,
    access: RecordedAccess,
) -> Preparation {
    let packs = recorded.prepared.as_ref().map(|prepared| &prepared.packs);
    prepare_as(host, launch, Some(Before { recorded, access }), packs).await
}

/// What a run that goes on has behind it.
struct Before<'a> {
    recorded: &'a Recorded,
    access: RecordedAccess,
}

async fn prepare_as(
    host: &Host,
    launch: Launch,
    before: Option<Before<'_>>,
    packs: Option<&PackSnapshot>,
) -> Preparation {
    let shared = host.shared();
    let (mut record, launch) = begin(shared, launch, before.as_ref());
    match build(shared, launch, &mut record, before.as_ref(), packs).await {
        Ok((run, performer, control)) => Preparation::Ready(Box::new(Prepared {
            run,
            performer: Arc::new(performer),
            control,
            record,
        })),
        Err(outcome) => Preparation::Ended(Box::new(record.finish(outcome).await)),
    }
}

/// What is left of a launch once its facts are in the record.
struct Rest {
    source: Vec<u8>,
    input: Option<String>,
    services: Services,
    models: ModelAccess,
    store: Option<Store>,
    control: RunControl,
}

/// Draws the seed and the start instant, and opens the record.
fn begin(shared: &Shared, launch: Launch, before: Option<&Before<'_>>) -> (RunRecord, Rest) {
    let Launch {
        source,
        name,
        args,
        input,
        services,
        ui,
        store,
        models,
        control,
        recorder,
    } = launch;
    let drawn = || RunFacts {
        name,
        seed: shared.origin.seed(),
        started_at: shared.starts.stamp(shared.origin.now()),
        args,
        limits: shared.limits.clone(),
        ui,
        debug: shared.debug,
    };
    let facts = before.map_or_else(drawn, |before| before.recorded.start.facts.clone());
    let store = store.resolve();
    let models = models.unwrap_or_else(|| shared.models.clone());
    let record = RunRecord::new(facts, Prompt::hash_of(&source), store.clone(), Recording::new(recorder));
    (
        record,
        Rest {
            source,
            input,
            services,
            models,
            store,
            control,
        },
    )
}

/// Goes through the checks of prepare and builds the run, or tells how it ended.
async fn build(
    shared: &Shared,
    launch: Rest,
    record: &mut RunRecord,
    before: Option<&Before<'_>>,
    recorded_packs: Option<&PackSnapshot>,
) -> Result<(Run, Performer, RunControl), RunOutcome> {
    let Rest {
        source,
        input,
        services,
        models,
        store,
        control,
    } = launch;
    let ended = |error: RunError| {
        if control.is_cancelled() {
            RunOutcome::Cancelled
        } else {
            RunOutcome::Failed(error)
        }
    };

    let start = RunStart {
        facts: record.facts.clone(),
        prompt_hash: record.prompt_hash.clone(),
        input: input.clone(),
        model: models.current.clone(),
        has_store: store.is_some(),
    };
    if before.is_none() {
        let started = record.keep(|recorder| recorder.started(&start, &source));
        started.map_err(unrecordable)?;
    }
    let parsed = parse(source, record).await;
    let name = parsed
        .as_ref()
        .ok()
        .map(|prompt| prompt.tree().frontmatter.name.clone());
    if before.is_none_or(|before| before.recorded.parse_events.is_empty()) {
        record.keep_parse(name.as_deref()).map_err(unrecordable)?;
    }
    let prompt = parsed.map_err(ended)?;
    let known = before.and_then(|before| before.recorded.prepared.as_ref());
    let is_staged = known.is_some() && store.as_ref().is_some_and(Store::is_lasting);
    if is_staged {
        let declared = prompt.tree().frontmatter.input.as_ref();
        record.staged = declared.zip(input).map(|(declared, text)| Staged {
            path: declared.path.clone(),
            state: state(text.as_bytes()),
        });
    } else {
        let staged = stage(&prompt.tree().frontmatter, input, store.clone()).await;
        staged.map_err(ended)?;
    }
    let (snapshot, tools) = take_packs(shared, &prompt, &services, &control, record).await;
    if let Some(recorded) = recorded_packs {
        record.pack_changes = packs::changes(recorded, &snapshot);
    }
    let PreparedRoles { roles, unmet } = prepare_roles(&prompt, models.current.as_ref());
    record.requirements.merge(RequirementsReport {
        unmet,
        ..RequirementsReport::default()
    });
    if known.is_none() && !record.requirements.is_satisfied() {
        let notice = record.requirements.to_string();
        return Err(ended(RunError::new(RunErrorKind::RequirementsUnmet, notice)));
    }

    let prepared = match known {
        Some(known) => known.clone(),
        None => {
            let prepared = RunPrepared {
                packs: snapshot,
                roster: serde_json::to_value(&record.roster).expect("a roster is JSON"),
            };
            let kept = record.keep(|recorder| recorder.prepared(&prepared));
            kept.map_err(unrecordable)?;
            prepared
        }
    };
    let session = store.map(|store| store.session());
    record.session.clone_from(&session);
    let access = session.clone().map(|session| match before {
        Some(before) => Box::new(before.access.clone()) as Box<dyn StoreAccess>,
        None => Box::new(SessionAccess(session)),
    });
    let setup = RunSetup {
        prompt,
        facts: record.facts.clone(),
        packs: prepared.packs,
        roles,
        store: access,
    };
    let run = Run::new(setup).map_err(ended)?;
    let performer = Performer {
        models,
        limits: RoundLimits::from(&record.facts.limits),
        tools,
        run_services: services,
        host_services: shared.services.clone(),
        store: session,
        recording: record.recording.clone(),
    };
    Ok((run, performer, control.clone()))
}

/// The end of a run whose record cannot be kept, whether it is cancelled or not.
fn unrecordable(error: Unrecordable) -> RunOutcome {
    RunOutcome::Failed(error.into())
}

/// Parses the prompt and compiles its Lua. The record gets the parse events in any case.
async fn parse(source: Vec<u8>, record: &mut RunRecord) -> Result<Arc<Prompt>, RunError> {
    let execution = record.facts.name.clone();
    let Parsed { events, result } = if source.len() <= PARSED_IN_PLACE {
        Prompt::parse(&source, &execution)
    } else {
        blocking(move || Prompt::parse(&source, &execution)).await
    };
    record.events = events;
    let prompt = result.map_err(|error| RunError::from(&error))?;
    record.title.clone_from(&prompt.tree().h1.title);
    record.output = prompt.tree().frontmatter.output.as_ref().map(|file| file.path.clone());
    Ok(Arc::new(prompt))
}

async fn stage(frontmatter: &Frontmatter, input: Option<String>, store: Option<Store>) -> Result<(), RunError> {
    let Some(declared) = frontmatter.input.clone() else {
        return staging::stage(None, input, None).map_err(|refusal| RunError::from(&refusal));
    };
    let staged = blocking(move || staging::stage(Some(&declared), input, store.as_ref())).await;
    staged.map_err(|refusal| RunError::from(&refusal))
}

/// Picks the run's Packs, waits for them and takes the snapshot. The record gets the roster and what declared Packs
/// lack.
async fn take_packs(
    shared: &Shared,
    prompt: &Prompt,
    services: &Services,
    control: &RunControl,
    record: &mut RunRecord,
) -> (PackSnapshot, ToolTable) {
    let mut picked = packs::pick(&prompt.tree().frontmatter.uses, &shared.packs);
    packs::wait(&mut picked, control).await;
    let RunPacks {
        snapshot,
        tools,
        roster,
        report,
    } = RunPacks::take(picked, |service| {
        services.provides(service) || shared.services.provides(service)
    });
    record.roster = roster;
    record.requirements = report;
    (snapshot, tools)
}

impl RunRecord {
    fn new(facts: RunFacts, prompt_hash: String, store: Option<Store>, recording: Recording) -> Self {
        Self {
            facts,
            prompt_hash,
            events: Vec::new(),
            requirements: RequirementsReport::default(),
            roster: Vec::new(),
            store,
            session: None,
            title: ParseEvent::PROMPT.to_owned(),
            output: None,
            staged: None,
            pack_changes: Vec::new(),
            recording,
            lost: Vec::new(),
            broken: false,
        }
    }
}
