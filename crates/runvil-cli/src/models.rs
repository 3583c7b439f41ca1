//! Which endpoint serves the models, and which model is the current one.

use std::{env, ffi::OsString, sync::Arc, time::Duration};

use runvil_engine::{
    CompletionError, CompletionErrorKind, Limits, ModelId, ModelInfo, RAW_MODEL_CONTEXT, ThinkingMode,
};
use runvil_harness::ModelAccess;
use runvil_model::{
    Catalog, ChatCompletions, Endpoint, GATEWAY_API_KEY, GATEWAY_SERVER, GATEWAY_URL, Gateway, ModelBackend,
    RoundLimits,
};
use runvil_web::GatewaySearch;

use crate::{config::Config, exit::Fault, local};

/// How long the model list may take, at most.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// The endpoint that a run reaches models through.
pub(crate) struct Gate {
    backend: Arc<dyn ModelBackend>,
    /// The API root, for messages and for the search provider.
    root: String,
    key: Option<String>,
}

impl Gate {
    /// The endpoint that the gateway variables name, or else the configuration; `None` if neither does.
    pub(crate) fn open(config: &Config) -> Result<Option<Self>, Fault> {
        let settings = &config.endpoint;
        let lookup = |name: &str| match env::var_os(name) {
            None if name == GATEWAY_URL => settings.url.clone().map(OsString::from),
            value => value,
        };
        if lookup(GATEWAY_URL).is_none() {
            return Ok(None);
        }
        let gateway = Gateway::from_lookup(lookup).map_err(|error| {
            Fault::usage(error).with_help(
                "RUNVIL_GATEWAY_URL, or `url` under [endpoint] in runvil.toml, is an API root such as \
                 http://127.0.0.1:8081/v1; RUNVIL_GATEWAY_API_KEY holds its key",
            )
        })?;
        let root = gateway.root.to_string();
        let key = env::var(GATEWAY_API_KEY).ok().filter(|key| !key.is_empty());
        let mut endpoint = Endpoint::from(gateway);
        if let Some(dialect) = &settings.thinking_dialect {
            endpoint.thinking = dialect.parse().map_err(|error| {
                Fault::usage(format_args!(
                    "`thinking_dialect` under [endpoint] in runvil.toml: {error}"
                ))
            })?;
        }
        let backend = ChatCompletions::new(endpoint).map_err(Fault::failure)?;
        Ok(Some(Self {
            backend: Arc::new(backend),
            root,
            key,
        }))
    }

    /// The API root. It holds no secret: a root with a user, a password or a query is refused.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// The backend of model rounds.
    pub(crate) fn backend(&self) -> Arc<dyn ModelBackend> {
        Arc::clone(&self.backend)
    }

    /// The provider of web searches.
    pub(crate) fn search(gate: Option<&Self>) -> GatewaySearch {
        match gate {
            Some(Self { root, key, .. }) => GatewaySearch::new(root, key.as_deref()),
            None => GatewaySearch::without_gateway(),
        }
    }

    /// The address of the model list.
    pub(crate) fn list_url(&self) -> String {
        format!("{}/models", self.root)
    }

    /// The models that the endpoint lists, or why there is no list.
    pub(crate) async fn catalog(&self, limits: &Limits) -> Result<Catalog, String> {
        let catalog = self.list(limits).await.map_err(|error| match error.kind {
            CompletionErrorKind::Timeout => "the answer did not come in time".to_owned(),
            _ => error.to_string(),
        })?;
        for skipped in &catalog.skipped {
            tracing::warn!(url = %self.list_url(), "{skipped}");
        }
        Ok(catalog)
    }

    async fn list(&self, limits: &Limits) -> Result<Catalog, CompletionError> {
        let limits = RoundLimits {
            receive_timeout: LIST_TIMEOUT,
            ..RoundLimits::from(limits)
        };
        let listed = tokio::time::timeout(LIST_TIMEOUT, self.backend.models(limits)).await;
        listed.unwrap_or_else(|_| Err(CompletionError::new(CompletionErrorKind::Timeout)))
    }

    /// Finds out whether the endpoint can be asked anything at the moment. Its list comes along, where it has one: not every
    /// endpoint does.
    pub(crate) async fn reach(&self, limits: &Limits) -> Result<Option<Catalog>, CompletionError> {
        use CompletionErrorKind as Kind;
        match self.list(limits).await {
            Ok(catalog) => Ok(Some(catalog)),
            Err(error) => match error.kind {
                Kind::Transport
                | Kind::Timeout
                | Kind::RateLimited
                | Kind::QuotaExhausted
                | Kind::Overloaded
                | Kind::Unavailable => Err(error),
                Kind::MalformedResponse
                | Kind::ServerError
                | Kind::Refused
                | Kind::ContextOverflow
                | Kind::Rejected
                | Kind::EmptyReply => Ok(None),
            },
        }
    }

    /// What the endpoint says of a model; of the first one that it lists, where none is asked for.
    async fn look_up(&self, name: Option<&str>, limits: &Limits) -> Result<ModelInfo, Fault> {
        let problem = match self.catalog(limits).await {
            Err(problem) => problem,
            Ok(catalog) => {
                let wanted = |model: &&ModelInfo| name.is_none_or(|name| model.id.name() == name);
                match catalog.models.iter().find(wanted) {
                    Some(model) => return Ok(model.clone()),
                    None if name.is_some() => "the model is not listed".to_owned(),
                    None => "the list is empty".to_owned(),
                }
            }
        };
        Err(Fault::failure(format_args!(
            "no model can be picked from {}: {problem}",
            self.list_url()
        ))
        .with_help("start the endpoint, or name the model with --model or under [model] in runvil.toml"))
    }
}

/// The models of a run. `declares_roles` tells whether the prompt has any use for one.
pub(crate) async fn access(
    gate: Option<&Gate>,
    config: &Config,
    named: Option<&str>,
    declares_roles: bool,
) -> Result<ModelAccess, Fault> {
    let backend = local::backend(gate.map(|gate| Arc::clone(&gate.backend)), config)?;
    let name = named.or(config.model.id.as_deref()).map(without_server);
    let current = match (gate, name) {
        // Without roles nothing of the prompt can ask for a model.
        _ if !declares_roles => None,
        (_, Some(name)) if local::is_asked_for(name) => Some(local::find(name)?),
        (None, None) => local::list()?.into_iter().next(),
        (None, Some(name)) => Some(assumed(name)?),
        (Some(gate), None) => Some(gate.look_up(None, &config.limits).await?),
        (Some(gate), Some(name)) => Some(known(gate, config, name).await?),
    };
    Ok(ModelAccess {
        backend,
        current: current.map(|model| configured(model, config)),
    })
}

/// What is known of a model that is asked for by name. An endpoint that does not list it may serve it all the same.
async fn known(gate: &Gate, config: &Config, name: &str) -> Result<ModelInfo, Fault> {
    let told = config.model.context.is_some() && config.model.thinking.is_some();
    if told {
        return assumed(name);
    }
    match gate.look_up(Some(name), &config.limits).await {
        Ok(model) => Ok(model),
        Err(fault) => {
            tracing::info!("{fault}");
            assumed(name)
        }
    }
}

/// A model of which only the name is known.
pub(crate) fn assumed(name: &str) -> Result<ModelInfo, Fault> {
    let id = ModelId::new(GATEWAY_SERVER, name)
        .map_err(|error| Fault::usage(error).with_help("name a model as the endpoint lists it"))?;
    Ok(ModelInfo {
        id,
        context: RAW_MODEL_CONTEXT,
        thinking: ThinkingMode::Switchable,
        description: String::new(),
        provider: None,
    })
}

/// The model with what the configuration says of it.
pub(crate) fn configured(model: ModelInfo, config: &Config) -> ModelInfo {
    let said = &config.model;
    // What is said of another model than the one in use says nothing.
    if said
        .id
        .as_deref()
        .is_some_and(|id| without_server(id) != model.id.name() && id != model.id.to_string())
    {
        return model;
    }
    ModelInfo {
        id: model.id,
        context: said.context.unwrap_or(model.context),
        thinking: said.thinking.unwrap_or(model.thinking),
        description: said.description.clone().unwrap_or(model.description),
        provider: said.provider.clone().or(model.provider),
    }
}

/// A model's name, whether it is given alone or as a full id.
pub(crate) fn without_server(id: &str) -> &str {
    id.strip_prefix(GATEWAY_SERVER)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(id)
}
