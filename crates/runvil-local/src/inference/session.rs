//! A loaded model and the conversation that it read last.

use std::time::Instant;

use runvil_engine::{ModelReply, ModelRound, RawExchange, Usage};
use runvil_model::{Malformed, RoundLimits};
use serde_json::json;

use super::{
    failure::Failure,
    generation::{Generation, Limits, Progress},
    network::{Memory, Network},
    sampling::Sampling,
    template::Template,
    vocabulary::Vocabulary,
    weights::Weights,
};
use crate::{InstalledModel, Library, architecture::Dimensions, facts::TEMPLATE_KEY, gguf::Gguf};

/// A loaded model.
pub(super) struct Session {
    model: InstalledModel,
    template: Template,
    pub(super) vocabulary: Vocabulary,
    pub(super) network: Network,
    pub(super) memory: Memory,
    /// The tokens that the memory holds.
    pub(super) read: Vec<u32>,
}

impl Session {
    /// Loads a model. `go_on` is asked between its tensors.
    pub(super) fn load(
        library: &Library,
        model: InstalledModel,
        go_on: &mut dyn FnMut() -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let path = library.model_file(&model.name);
        let unusable = |error| Failure::File {
            path: path.clone(),
            error,
        };
        let (gguf, file) = Gguf::open(&path).map_err(|error| unusable(error.into()))?;
        let sizes = Dimensions::read(&gguf).map_err(|error| unusable(error.into()))?;
        let network = Network::load(sizes, &mut Weights::new(&gguf, file, go_on))?;
        Ok(Self {
            template: Template::new(gguf.text(TEMPLATE_KEY).unwrap_or_default())?,
            vocabulary: Vocabulary::read(&gguf)?,
            memory: network.memory(),
            read: Vec::new(),
            network,
            model,
        })
    }

    /// Whether this is that model, as it is installed now.
    pub(super) fn serves(&self, model: &InstalledModel) -> bool {
        self.model == *model
    }

    /// Answers a round. `progress` hears of every step and can end it.
    pub(super) fn answer(
        &mut self,
        round: &ModelRound,
        sampling: Sampling,
        stops: &[String],
        limits: RoundLimits,
        progress: &mut dyn FnMut(Progress) -> Result<(), Failure>,
    ) -> Result<ModelReply, Failure> {
        let request = &round.request;
        if !request.tools.is_empty() && !self.template.knows_tools {
            tracing::warn!(model = %round.model, "the chat template of this model has no place for tools; it is told of none");
        }
        let prompt = self.template.render(request, &self.vocabulary)?;
        let tokens = self.vocabulary.encode(&prompt)?;
        let context = self.network.sizes().context;
        if tokens.len() >= context {
            return Err(Failure::Overflow {
                tokens: tokens.len(),
                context,
            });
        }
        let sampling = Sampling {
            temperature: request.temperature.unwrap_or(sampling.temperature),
            max_tokens: request.max_tokens.or(sampling.max_tokens),
            ..sampling
        };
        let began = Instant::now();
        let told = Generation::run(
            self,
            &tokens,
            Limits {
                sampling,
                stops,
                max_bytes: limits.max_response_bytes,
            },
            progress,
        )?;
        let raw = round.debug.then(|| RawExchange {
            request: json!({ "request": request, "prompt": prompt }),
            response: json!({ "text": told.text, "finish_reason": told.finish_reason }),
        });
        let usage = Usage {
            prompt_tokens: Some(tokens.len() as u64),
            completion_tokens: Some(told.tokens),
            reasoning_tokens: None,
        };
        let prompt_ms = told.began_writing.duration_since(began).as_secs_f64() * 1e3;
        let predicted_ms = told.began_writing.elapsed().as_secs_f64() * 1e3;
        Ok(ModelReply {
            text: told.text,
            finish_reason: Some(told.finish_reason.to_owned()),
            usage: Some(usage),
            metrics: Some(json!({
                "usage": { "prompt_tokens": tokens.len(), "completion_tokens": told.tokens },
                "timings": {
                    "cached_tokens": told.reused,
                    "prompt_ms": prompt_ms,
                    "predicted_ms": predicted_ms,
                },
            })),
            raw,
            ..ModelReply::default()
        })
    }
}

/// The failure of a reply that is larger than the response cap.
pub(super) fn too_long(max_bytes: u64) -> Failure {
    Failure::ReplyTooLong(Malformed::StreamTooLong { max_bytes })
}
