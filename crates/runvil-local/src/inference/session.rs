//! A loaded model and the conversation that it read last.

use std::time::Instant;

use runvil_engine::{ModelReply, ModelRound, RawExchange, ReplyCall, Usage};
use runvil_model::{Malformed, RoundLimits};
use serde_json::json;

use super::{
    calls::Call,
    failure::Failure,
    generation::{Generation, Limits},
    listener::Listener,
    network::Network,
    past::Past,
    sampling::Sampling,
    template::Template,
    vocabulary::Vocabulary,
    weights::Weights,
};
use crate::{InstalledModel, Library, ModelFileError, architecture::Dimensions, facts::TEMPLATE_KEY, gguf::Gguf};

/// A loaded model.
pub(super) struct Session {
    model: InstalledModel,
    template: Template,
    pub(super) vocabulary: Vocabulary,
    pub(super) network: Network,
    pub(super) past: Past,
    /// The tokens that the past holds.
    pub(super) read: Vec<u32>,
}

impl Session {
    /// Loads a model.
    pub(super) fn load(library: &Library, model: InstalledModel, listener: &Listener) -> Result<Self, Failure> {
        let path = library.model_file(&model.name);
        let unusable = |error: ModelFileError| Failure::of_file(&model.name, &path, error);
        let (gguf, file) = Gguf::open(&path).map_err(|error| unusable(error.into()))?;
        let sizes = Dimensions::read(&gguf).map_err(|error| unusable(error.into()))?;
        let (network, same) = rayon::join(
            || Network::load(sizes, &mut Weights::new(&gguf, &path, file, listener)),
            || library.verify(&model, &mut || listener.check().is_ok()),
        );
        // A file that is not the one that was added explains whatever else is wrong with it.
        same?;
        let network = network?;
        Ok(Self {
            template: Template::new(gguf.text(TEMPLATE_KEY).unwrap_or_default())?,
            vocabulary: Vocabulary::read(&gguf)?,
            past: network.past(),
            read: Vec::new(),
            network,
            model,
        })
    }

    /// Whether this is that model, as it is installed now.
    pub(super) fn serves(&self, model: &InstalledModel) -> bool {
        self.model == *model
    }

    /// Answers a round.
    pub(super) fn answer(
        &mut self,
        round: &ModelRound,
        sampling: &Sampling,
        limits: RoundLimits,
        listener: &Listener,
    ) -> Result<ModelReply, Failure> {
        let request = &round.request;
        if !request.tools.is_empty() && !self.template.knows_tools {
            return Err(Failure::NoTools(self.model.name.clone()));
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
            ..sampling.clone()
        };
        let began = Instant::now();
        let told = Generation::run(
            self,
            &tokens,
            Limits {
                sampling: &sampling,
                tools: &request.tools,
                max_bytes: limits.max_response_bytes,
            },
            listener,
        )?;
        let tool_calls = reply_calls(round, told.calls);
        let raw = round.debug.then(|| RawExchange {
            request: json!({ "request": request, "prompt": prompt }),
            response: json!({
                "text": told.text,
                "tool_calls": tool_calls,
                "finish_reason": told.finish_reason,
            }),
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
            tool_calls,
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

/// The calls of a reply. The model gives them no ids; so each is told by its round, which is the only one of its run.
fn reply_calls(round: &ModelRound, calls: Vec<Call>) -> Vec<ReplyCall> {
    let with_id = |(at, call): (usize, Call)| ReplyCall {
        id: format!("call_{}_{at}", round.round.as_str()),
        name: call.name,
        arguments: call.arguments,
    };
    calls.into_iter().enumerate().map(with_id).collect()
}

/// The failure of a reply that is larger than the response cap.
pub(super) fn too_long(max_bytes: u64) -> Failure {
    Failure::ReplyTooLong(Malformed::StreamTooLong { max_bytes })
}
