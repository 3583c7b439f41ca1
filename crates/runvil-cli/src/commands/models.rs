//! `runvil models`: the endpoint's catalog, and which model is current.

use runvil_engine::{ModelId, ModelInfo, ThinkingMode};
use runvil_model::{Assumed, Catalog};
use serde_json::{Value, json};

use crate::{
    args::ModelsArgs,
    config::Config,
    exit::{Exit, Fault},
    local,
    models::{self, Gate},
    out, runtime,
    table::{Align, Table},
};

pub(crate) fn models(args: &ModelsArgs) -> Result<Exit, Fault> {
    let config = Config::load()?;
    let gate = Gate::open(&config)?;
    let local = local::list()?;
    if gate.is_none() && local.is_empty() {
        return Err(
            Fault::usage("no endpoint is configured, so there are no models to list").with_help(
                "set RUNVIL_GATEWAY_URL, or `url` under [endpoint] in runvil.toml, to an API root such as \
                 http://127.0.0.1:8081/v1",
            ),
        );
    }
    let url = gate.as_ref().map(Gate::list_url);
    let mut catalog = match &gate {
        Some(gate) => endpoint_catalog(gate, &config)?,
        None => Catalog::default(),
    };
    catalog.models.extend(local);
    let list = entries(catalog, &config)?;
    if args.json {
        let list: Vec<Value> = list.iter().map(Entry::to_json).collect();
        out::print(format_args!("{}\n", json!({ "url": url, "models": list })))?;
    } else if let (true, Some(url)) = (list.is_empty(), &url) {
        out::note(format_args!("{url} lists no models"));
    } else {
        out::print(to_table(&list))?;
    }
    Ok(Exit::Success)
}

fn endpoint_catalog(gate: &Gate, config: &Config) -> Result<Catalog, Fault> {
    let listed = runtime::start()?.block_on(gate.catalog(&config.limits));
    listed.map_err(|problem| {
        let url = gate.list_url();
        Fault::failure(format_args!("the models cannot be listed from {url}: {problem}"))
            .with_help("start the endpoint, or correct RUNVIL_GATEWAY_URL or `url` under [endpoint] in runvil.toml")
    })
}

/// The name by which a person asks for a model: an embedded one's has its server in front.
fn name(model: &ModelInfo) -> String {
    let id = model.id.to_string();
    if local::is_asked_for(&id) {
        id
    } else {
        model.id.name().to_owned()
    }
}

/// One model, as a run would use it.
struct Entry {
    model: ModelInfo,
    assumed: Assumed,
    current: bool,
    /// Whether the endpoint lists it; a model that the configuration names may be served all the same.
    listed: bool,
}

/// The models of the list in its own order. A current model that is not listed comes first.
fn entries(catalog: Catalog, config: &Config) -> Result<Vec<Entry>, Fault> {
    let Catalog { models, assumed, .. } = catalog;
    let current: Option<ModelId> = match config.model.id.as_deref() {
        Some(id) if local::is_asked_for(id) => Some(local::find(id)?.id),
        Some(id) => Some(models::assumed(models::without_server(id))?.id),
        None => models.first().map(|model| model.id.clone()),
    };
    let unlisted = current
        .as_ref()
        .filter(|id| models.iter().all(|model| model.id != **id))
        .map(|id| models::assumed(id.name()))
        .transpose()?;
    let everything = Assumed {
        context: true,
        thinking: true,
    };
    let listed = models.into_iter().map(|model| {
        let assumed = assumed.get(&model.id).copied().unwrap_or_default();
        (model, assumed, true)
    });
    let all = unlisted
        .map(|model| (model, everything, false))
        .into_iter()
        .chain(listed);
    Ok(all
        .map(|(model, assumed, listed)| {
            if current.as_ref() == Some(&model.id) {
                used(model, assumed, listed, config)
            } else {
                Entry {
                    model,
                    assumed,
                    current: false,
                    listed,
                }
            }
        })
        .collect())
}

/// The current model, with what the configuration says of it.
fn used(model: ModelInfo, assumed: Assumed, listed: bool, config: &Config) -> Entry {
    let said = &config.model;
    Entry {
        model: models::configured(model, config),
        assumed: Assumed {
            context: assumed.context && said.context.is_none(),
            thinking: assumed.thinking && said.thinking.is_none(),
        },
        current: true,
        listed,
    }
}

fn to_table(list: &[Entry]) -> Table<6> {
    let mut table = Table::new([
        ("", Align::Left),
        ("MODEL", Align::Left),
        ("CONTEXT", Align::Right),
        ("THINKING", Align::Left),
        ("PROVIDER", Align::Left),
        ("DESCRIPTION", Align::Left),
    ]);
    for entry in list {
        let Entry { model, assumed, .. } = entry;
        let unsure = |text: String, assumed: bool| if assumed { text + "?" } else { text };
        let note = if entry.listed { "" } else { "(not listed) " };
        table.row([
            if entry.current { "*" } else { " " }.to_owned(),
            name(model),
            unsure(model.context.to_string(), assumed.context),
            unsure(thinking(model.thinking).to_owned(), assumed.thinking),
            model.provider.clone().unwrap_or_default(),
            format!("{note}{}", model.description),
        ]);
    }
    table
}

fn thinking(mode: ThinkingMode) -> &'static str {
    match mode {
        ThinkingMode::Never => "never",
        ThinkingMode::Switchable => "switchable",
        ThinkingMode::Always => "always",
    }
}

impl Entry {
    fn to_json(&self) -> Value {
        let Self { model, assumed, .. } = self;
        json!({
            "id": model.id,
            "name": name(model),
            "context": model.context,
            "context_assumed": assumed.context,
            "thinking": model.thinking,
            "thinking_assumed": assumed.thinking,
            "description": model.description,
            "provider": model.provider,
            "current": self.current,
            "listed": self.listed,
        })
    }
}
