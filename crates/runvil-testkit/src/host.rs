//! The scripted Host: everything that a case's run can reach answers from the case.

mod hang;
mod http;
mod model;
mod operator;
mod origin;
mod packs;
mod search;
mod store;

use std::sync::Arc;

use runvil_harness::{Host, HostBuilder, Launch, ModelAccess, RunControl};
use runvil_pack::{
    Configuration, INPUT_BROKER, InputBroker, PackName, SEARCH_PROVIDER, SearchProvider, Services,
    shipped::UserInputPlugin,
};
use runvil_web::{TOKIO_RUNTIME, WebPlugin};
use tokio::runtime::Handle;

pub(crate) use hang::Hang;
pub(crate) use model::{ReplyTime, ScriptedModel};
pub(crate) use store::ScriptedStore;

use self::{
    http::ScriptedWeb, operator::ScriptedOperator, origin::ScriptedOrigin, packs::ScriptedPlugin,
    search::ScriptedSearch,
};
use crate::{
    case::{Case, HostSpec, PackSpec},
    run::CaseError,
};

/// Everything of one case's Host that its driver has a hand in.
pub(crate) struct ScriptedHost {
    pub(crate) host: Host,
    pub(crate) launch: Launch,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) store: ScriptedStore,
    pub(crate) hang: Hang,
}

impl ScriptedHost {
    /// # Errors
    /// The case asks for what no Host can be.
    pub(crate) fn new(case: &Case, control: RunControl) -> Result<Self, CaseError> {
        let spec = &case.host;
        let broke = CaseError::Broke;
        let hang = Hang::default();
        let model = Arc::new(ScriptedModel::new(&spec.replies));
        let store = ScriptedStore::new(spec).map_err(broke)?;
        let builder = Host::builder()
            .origin(Arc::new(ScriptedOrigin {
                seed: spec.seed().map_err(broke)?,
                now: spec.started_at,
            }))
            .limits(spec.limits.clone())
            .debug(spec.debug)
            .models(ModelAccess {
                backend: if spec.model_access { Some(model.clone()) } else { None },
                current: spec
                    .model
                    .as_ref()
                    .map(crate::case::ModelSpec::info)
                    .transpose()
                    .map_err(broke)?,
            });
        let builder = with_packs(builder, spec, &hang)?;
        let host = builder.build().map_err(|error| broke(error.to_string()))?;
        let source = case.prompt_bytes().map_err(broke)?;
        let launch = Launch {
            args: spec.args.clone(),
            input: spec.input.clone(),
            services: run_services(spec, &hang),
            ui: spec.ui.clone(),
            store: store.launch(),
            control,
            ..Launch::new(source, &spec.name)
        };
        Ok(Self {
            host,
            launch,
            model,
            store,
            hang,
        })
    }
}

fn with_packs(mut builder: HostBuilder, spec: &HostSpec, hang: &Hang) -> Result<HostBuilder, CaseError> {
    if let Some(answers) = &spec.search {
        let provider: Arc<dyn SearchProvider> = Arc::new(ScriptedSearch::new(answers));
        builder = builder.service(SEARCH_PROVIDER, provider);
    }
    for (name, pack) in &spec.packs {
        let malformed = |error| CaseError::Broke(format!("Pack {name}: {error}"));
        let name: PackName = name.parse().map_err(malformed)?;
        builder = match pack {
            PackSpec::Scripted(pack) => {
                builder.plugin(&ScriptedPlugin::new(name.clone(), pack, hang).map_err(malformed)?)
            }
            PackSpec::Builtin => builtin(builder, &name, spec)?,
        };
    }
    Ok(builder)
}

fn builtin(builder: HostBuilder, name: &PackName, spec: &HostSpec) -> Result<HostBuilder, CaseError> {
    match name.as_str() {
        "runvil/user-input" => Ok(builder.plugin(&UserInputPlugin)),
        "runvil/web" => {
            let web = WebPlugin::new(Configuration::new()).with_transport(Arc::new(ScriptedWeb::new(spec)));
            // Fetches run on the case's own runtime, which is the current one.
            Ok(builder.service(TOKIO_RUNTIME, Arc::new(Handle::current())).plugin(&web))
        }
        // Every run holds it anyway.
        "runvil/subagents" => Ok(builder),
        other => Err(CaseError::Unsupported(format!("this build ships no Pack {other}"))),
    }
}

fn run_services(spec: &HostSpec, hang: &Hang) -> Services {
    match &spec.operator {
        None => Services::new(),
        Some(answers) => {
            let broker: Arc<dyn InputBroker> = Arc::new(ScriptedOperator::new(answers, hang.clone()));
            Services::new().with(INPUT_BROKER, broker)
        }
    }
}
