//! The models that a server lists (book: The model catalog and the current model, Model ids).

use std::collections::{BTreeMap, BTreeSet};

use runvil_engine::{InvalidModelId, ModelId, ModelInfo, RAW_MODEL_CONTEXT, ThinkingMode};
use serde_json::Value;

use crate::Malformed;

/// The server namespace of the models that the gateway serves.
pub const GATEWAY_SERVER: &str = "gateway";

/// The models of a server, in its own order, each id once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalog {
    /// The usable entries.
    pub models: Vec<ModelInfo>,
    /// What was passed over, for a Host to report.
    pub skipped: Vec<SkippedModel>,
    /// Of which entries something is taken for granted.
    pub assumed: BTreeMap<ModelId, Assumed>,
}

impl Catalog {
    /// The entry of a model.
    #[must_use]
    pub fn get(&self, id: &ModelId) -> Option<&ModelInfo> {
        self.models.iter().find(|model| model.id == *id)
    }
}

/// What the list does not say of a model, so that the [`CatalogDefaults`] stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assumed {
    /// The context window is assumed.
    pub context: bool,
    /// Whether it thinks is assumed.
    pub thinking: bool,
}

/// An entry of a model list that names no model of its own. Entries are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkippedModel {
    /// An entry without a string `id`.
    #[error("model list entry {entry} has no string `id`")]
    NoId {
        /// Its place in the list.
        entry: usize,
    },
    /// An id that is not a model name.
    #[error("model list entry {entry}: {reason}")]
    InvalidId {
        /// Its place in the list.
        entry: usize,
        /// The rule that its id breaks.
        reason: InvalidModelId,
    },
    /// An id that an earlier entry has.
    #[error("model list entry {entry} repeats {id}; the first one counts")]
    Repeated {
        /// Its place in the list.
        entry: usize,
        /// The id.
        id: ModelId,
    },
}

/// What is taken for granted of a model of which the list does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogDefaults {
    /// The context window in tokens: that of a raw model id, unless the Host knows better.
    pub context: u32,
    /// Whether it thinks: switchable, so that a role that asks for either setting can be served and the server is
    /// told which.
    pub thinking: ThinkingMode,
}

impl Default for CatalogDefaults {
    fn default() -> Self {
        Self {
            context: RAW_MODEL_CONTEXT,
            thinking: ThinkingMode::Switchable,
        }
    }
}

/// Reads the answer of `GET /models`: an object with the list under `data` or `models`, or the list itself.
pub(crate) fn parse(body: &[u8], defaults: CatalogDefaults) -> Result<Catalog, Malformed> {
    let body: Value = serde_json::from_slice(body).map_err(|_| Malformed::ModelList)?;
    let list = body.get("data").or_else(|| body.get("models")).unwrap_or(&body);
    let entries = list.as_array().ok_or(Malformed::ModelList)?;
    let mut catalog = Catalog::default();
    let mut ids = BTreeSet::new();
    for (entry, value) in (1..).zip(entries) {
        match model(entry, value, defaults) {
            Err(skipped) => catalog.skipped.push(skipped),
            Ok((model, assumed)) if ids.insert(model.id.clone()) => {
                if assumed != Assumed::default() {
                    catalog.assumed.insert(model.id.clone(), assumed);
                }
                catalog.models.push(model);
            }
            Ok((model, _)) => catalog.skipped.push(SkippedModel::Repeated { entry, id: model.id }),
        }
    }
    Ok(catalog)
}

fn model(entry: usize, value: &Value, defaults: CatalogDefaults) -> Result<(ModelInfo, Assumed), SkippedModel> {
    let name = text(value, "id").ok_or(SkippedModel::NoId { entry })?;
    let id = ModelId::new(GATEWAY_SERVER, name).map_err(|reason| SkippedModel::InvalidId { entry, reason })?;
    let (context, thinking) = (context(value), thinking(value));
    let assumed = Assumed {
        context: context.is_none(),
        thinking: thinking.is_none(),
    };
    let model = ModelInfo {
        id,
        context: context.unwrap_or(defaults.context),
        thinking: thinking.unwrap_or(defaults.thinking),
        description: text(value, "description").unwrap_or_default().to_owned(),
        provider: text(value, "provider")
            .or_else(|| text(value, "owned_by"))
            .map(str::to_owned),
    };
    Ok((model, assumed))
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

/// Where servers put the context window, what is served before what the model could take.
const CONTEXT: [&[&str]; 10] = [
    &["loaded_context_length"],
    &["max_model_len"],
    &["n_ctx"],
    &["meta", "n_ctx"],
    &["context_length"],
    &["context_window"],
    &["max_context_length"],
    &["max_input_tokens"],
    &["top_provider", "context_length"],
    &["meta", "n_ctx_train"],
];

/// The context window, at most the largest that a catalog holds. A window of no token is none.
fn context(value: &Value) -> Option<u32> {
    CONTEXT.iter().find_map(|path| {
        let tokens = path.iter().try_fold(value, |value, field| value.get(field))?.as_u64()?;
        (tokens > 0).then(|| u32::try_from(tokens).unwrap_or(u32::MAX))
    })
}

/// Whether the model thinks, as far as the list says it.
fn thinking(value: &Value) -> Option<ThinkingMode> {
    if let Some(mode) = text(value, "thinking").and_then(mode) {
        return Some(mode);
    }
    if let Some(mandatory) = value
        .get("reasoning")
        .and_then(|reasoning| reasoning.get("mandatory")?.as_bool())
    {
        return Some(if mandatory {
            ThinkingMode::Always
        } else {
            ThinkingMode::Switchable
        });
    }
    let named = ["supported_parameters", "capabilities"]
        .iter()
        .find_map(|field| names_thinking(value.get(*field)?))?;
    Some(if named {
        ThinkingMode::Switchable
    } else {
        ThinkingMode::Never
    })
}

fn mode(text: &str) -> Option<ThinkingMode> {
    match text {
        "never" => Some(ThinkingMode::Never),
        "switchable" => Some(ThinkingMode::Switchable),
        "always" => Some(ThinkingMode::Always),
        _ => None,
    }
}

/// Whether a list of abilities names thinking; `None` when it leaves that open.
fn names_thinking(abilities: &Value) -> Option<bool> {
    const NAMES: [&str; 4] = ["reasoning", "thinking", "reasoning_effort", "include_reasoning"];
    match abilities {
        Value::Array(list) => Some(list.iter().filter_map(Value::as_str).any(|name| NAMES.contains(&name))),
        Value::Object(flags) => NAMES.iter().find_map(|name| flags.get(*name)?.as_bool()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalog(body: &Value) -> Catalog {
        parse(body.to_string().as_bytes(), CatalogDefaults::default()).expect("a model list")
    }

    fn only(entry: &Value) -> ModelInfo {
        let mut catalog = catalog(&json!({ "data": [entry] }));
        assert_eq!((catalog.models.len(), catalog.skipped.len()), (1, 0));
        catalog.models.remove(0)
    }

    #[test]
    fn what_the_list_leaves_unsaid_is_the_stated_default() {
        let model = only(&json!({ "id": "qwen/qwen3-8b", "object": "model", "created": 1, "owned_by": "library" }));
        assert_eq!(model.id.to_string(), "gateway/qwen/qwen3-8b");
        assert_eq!((model.context, model.thinking), (8192, ThinkingMode::Switchable));
        assert_eq!(
            (model.description.as_str(), model.provider.as_deref()),
            ("", Some("library"))
        );
    }

    #[test]
    fn what_is_taken_for_granted_is_told_apart_from_what_the_list_says() {
        let catalog = catalog(&json!([
            { "id": "told", "context_length": 5, "thinking": "never" },
            { "id": "half", "context_length": 5 },
            { "id": "bare" },
        ]));
        let assumed = |at: usize| catalog.assumed.get(&catalog.models[at].id).copied();
        let half = Assumed {
            context: false,
            thinking: true,
        };
        let all = Assumed {
            context: true,
            thinking: true,
        };
        assert_eq!([assumed(0), assumed(1), assumed(2)], [None, Some(half), Some(all)]);
    }

    #[test]
    fn the_context_window_goes_by_many_names_and_the_served_one_wins() {
        let context = |entry: Value| {
            let mut entry = entry;
            entry["id"] = json!("m");
            only(&entry).context
        };
        assert_eq!(
            context(json!({ "meta": { "n_ctx_train": 131_072, "n_vocab": 5 } })),
            131_072
        );
        assert_eq!(
            context(json!({ "meta": { "n_ctx_train": 131_072, "n_ctx": 4096 } })),
            4096
        );
        assert_eq!(context(json!({ "max_model_len": 32_768 })), 32_768);
        assert_eq!(
            context(json!({ "context_length": 200_000, "top_provider": { "context_length": 1 } })),
            200_000
        );
        assert_eq!(context(json!({ "context_window": 131_072 })), 131_072);
        assert_eq!(
            context(json!({ "max_context_length": 40_960, "loaded_context_length": 4096 })),
            4096
        );
        assert_eq!(context(json!({ "context_length": u64::MAX })), u32::MAX);
        for none in [json!(0), json!(-1), json!("8k"), json!(null)] {
            assert_eq!(context(json!({ "context_length": none, "max_model_len": 5 })), 5);
        }
    }

    #[test]
    fn thinking_is_told_by_mode_parameters_or_capabilities() {
        use ThinkingMode::{Always, Never, Switchable};
        let thinking = |field: &str, value: Value| only(&json!({ "id": "m", field: value })).thinking;
        assert_eq!(thinking("thinking", json!("always")), Always);
        assert_eq!(thinking("thinking", json!("sometimes")), Switchable);
        assert_eq!(
            thinking("supported_parameters", json!(["tools", "reasoning"])),
            Switchable
        );
        assert_eq!(thinking("supported_parameters", json!(["tools", "temperature"])), Never);
        assert_eq!(thinking("reasoning", json!({ "mandatory": true })), Always);
        assert_eq!(thinking("capabilities", json!(["completion", "thinking"])), Switchable);
        assert_eq!(thinking("capabilities", json!(["completion"])), Never);
        assert_eq!(thinking("capabilities", json!({ "reasoning": false })), Never);
        assert_eq!(thinking("capabilities", json!({ "vision": true })), Switchable);
    }

    #[test]
    fn unusable_and_repeated_entries_are_passed_over_and_told() {
        let catalog = catalog(&json!({ "object": "list", "data": [
            { "id": "b", "provider": "xai", "description": "Quick." }, { "id": "" }, { "id": "a\nb" },
            { "id": "b", "context_length": 5 }, { "name": "c" }, 7, { "id": "a" },
        ] }));
        let ids: Vec<String> = catalog.models.iter().map(|model| model.id.to_string()).collect();
        assert_eq!(ids, ["gateway/b", "gateway/a"]);
        assert_eq!(catalog.models[0].provider.as_deref(), Some("xai"));
        assert_eq!(catalog.models[0].description, "Quick.");
        let skipped: Vec<String> = catalog.skipped.iter().map(ToString::to_string).collect();
        assert_eq!(
            skipped,
            [
                "model list entry 2: invalid model id: name must not be empty",
                "model list entry 3: invalid model id: name must not contain a control character",
                "model list entry 4 repeats gateway/b; the first one counts",
                "model list entry 5 has no string `id`",
                "model list entry 6 has no string `id`",
            ]
        );
        assert!(catalog.get(&catalog.models[1].id.clone()).is_some());
    }

    #[test]
    fn the_list_may_stand_alone_or_under_another_name() {
        for body in [json!([{ "id": "m" }]), json!({ "models": [{ "id": "m" }] })] {
            assert_eq!(catalog(&body).models.len(), 1);
        }
        for body in ["", "{}", "{\"data\":5}", "null", "[{\"id\":"] {
            assert_eq!(
                parse(body.as_bytes(), CatalogDefaults::default()),
                Err(Malformed::ModelList)
            );
        }
    }
}
