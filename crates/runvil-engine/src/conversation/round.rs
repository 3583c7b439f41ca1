//! Sending a model round (book: What each round sends; Running a round with `models.infer`).

use std::sync::Arc;

use runvil_lua::mlua::IntoLuaMulti;

use super::{
    Conversation, Snapshot,
    anchor::kept,
    compose::compose,
    estimate::{estimate, fits},
    record::Record,
    rules,
    running::Reason,
};
use crate::{
    ChainId, EffectKind, EventKind, Failure, ModelRound, RoundId,
    models::Model,
    request::Asked,
    run::{Purpose, Reply, Run},
    section::SectionContext,
    tasks::Waiting,
    tools::{self, Advertised},
    wire::{ChatRequest, Message, Role, ToolSchema},
};

/// A model round that a block asks for.
pub(crate) enum RoundRequest {
    /// One prompt on a fresh conversation.
    Infer {
        /// The handle's own model; `None` for the section's current one.
        model: Option<Arc<Model>>,
        prompt: String,
    },
    /// The next round of the section's loop, or the retry of one that was compacted.
    Loop,
}

/// A model round that is out.
pub(crate) struct PendingRound {
    pub(super) round: RoundId,
    pub(super) model: Arc<Model>,
    /// What a loop round keeps for its answer; `None` for an infer round.
    pub(super) of_loop: Option<SentRound>,
}

/// What a loop round sent.
pub(super) struct SentRound {
    pub(super) advertised: Arc<Advertised>,
    pub(super) sent: Snapshot,
    pub(super) estimate: u64,
}

/// A loop round that may leave.
struct Prepared {
    model: Arc<Model>,
    messages: Vec<Message>,
    sent: Snapshot,
    estimate: u64,
    /// How many messages the last request had in front, which this one repeats.
    kept: usize,
}

/// Why a loop round does not leave.
enum Refusal {
    /// Nothing was built yet.
    Early(Failure),
    /// The list breaks a rule.
    List(Failure),
    /// It does not fit the model. Holds the estimate.
    TooLarge(u64),
}

impl Run {
    /// Starts a model round of a block.
    pub(crate) fn start_round(&mut self, id: &ChainId, request: RoundRequest) -> Asked {
        let context = Arc::clone(self.chain(id).context());
        match request {
            RoundRequest::Infer { model, prompt } => match model.or_else(|| context.section_model()) {
                Some(model) => self.send_infer(id, model, prompt),
                None => Reply::Raise(no_model(&context)).into(),
            },
            RoundRequest::Loop => self.start_loop_round(id, &context),
        }
    }

    fn send_infer(&mut self, id: &ChainId, model: Arc<Model>, prompt: String) -> Asked {
        let round = self.next_round(id);
        let messages = vec![Message::text(Role::User, prompt)];
        self.report_chat(id, &round, &model, 0, &messages);
        let pending = PendingRound {
            round,
            model,
            of_loop: None,
        };
        self.send(id, messages, Vec::new(), pending)
    }

    fn start_loop_round(&mut self, id: &ChainId, context: &Arc<SectionContext>) -> Asked {
        let prepared = self.prepare_round(id, context);
        let failure = match prepared {
            Ok((prepared, advertised)) => return self.send_loop_round(id, context, prepared, advertised),
            Err(Refusal::Early(failure)) => failure,
            Err(Refusal::List(failure)) => {
                self.refuse_round(id, &failure);
                failure
            }
            Err(Refusal::TooLarge(estimate)) => {
                self.refuse_round(id, &Reason::Precheck.exhausted());
                return overflow(context, Reason::Precheck, estimate).into();
            }
        };
        context.state().conversation.end_retry();
        Reply::Raise(failure).into()
    }

    /// Reports a round that does not leave as a failed one.
    fn refuse_round(&mut self, id: &ChainId, failure: &Failure) {
        let round = self.next_round(id);
        let message = failure.to_string();
        self.report(id, EventKind::ModelTurnFailed { round, message });
    }

    /// Chooses the model, delivers the notices, renders the tools, checks and composes the list, and prechecks it.
    fn prepare_round(
        &mut self,
        id: &ChainId,
        context: &Arc<SectionContext>,
    ) -> Result<(Prepared, Arc<Advertised>), Refusal> {
        let model = context.state().conversation.loop_model();
        let model = model
            .or_else(|| context.section_model())
            .ok_or_else(|| Refusal::Early(no_model(context)))?;
        let notices = self.take_notices(id);
        if context.state().conversation.begin_round(notices) == 0 {
            return Err(Refusal::Early(Failure::lua("messages must not be empty")));
        }
        let advertised = tools::advertise(context).map_err(Refusal::Early)?;
        let prepared = context.state().conversation.prepare(model)?;
        Ok((prepared, advertised))
    }

    fn send_loop_round(
        &mut self,
        id: &ChainId,
        context: &SectionContext,
        prepared: Prepared,
        advertised: Arc<Advertised>,
    ) -> Asked {
        let Prepared {
            model,
            messages,
            sent,
            estimate,
            kept,
        } = prepared;
        context.state().conversation.sent = Some(Arc::clone(&sent));
        let round = self.next_round(id);
        self.report_chat(id, &round, &model, kept, &messages);
        let tools = advertised.schemas().to_vec();
        let of_loop = Some(SentRound {
            advertised,
            sent,
            estimate,
        });
        self.send(id, messages, tools, PendingRound { round, model, of_loop })
    }

    /// Reports what a request adds to the last one on its list.
    fn report_chat(&mut self, id: &ChainId, round: &RoundId, model: &Model, kept: usize, messages: &[Message]) {
        self.report(
            id,
            EventKind::Chat {
                round: round.clone(),
                model: model.name().to_owned(),
                kept,
                messages: messages[kept..].to_vec(),
            },
        );
    }

    /// Issues a round; the chain waits for its answer.
    fn send(&mut self, id: &ChainId, messages: Vec<Message>, tools: Vec<ToolSchema>, pending: PendingRound) -> Asked {
        let model = &pending.model;
        let effect = ModelRound {
            round: pending.round.clone(),
            model: model.id.clone(),
            live: pending.of_loop.is_some(),
            request: ChatRequest {
                model: model.name().to_owned(),
                messages,
                tools,
                temperature: model.sampling.temperature,
                max_tokens: model.sampling.max_tokens,
                thinking: model.thinking,
            },
            debug: self.shared.facts.debug,
        };
        self.chain(id).waiting = Some(Waiting::Chat);
        let purpose = Purpose::Round(Box::new(pending));
        self.issue(id, EffectKind::ModelRound(effect), purpose);
        Asked::Later
    }

    /// Takes the id of a chain's next request.
    fn next_round(&mut self, id: &ChainId) -> RoundId {
        let chain = self.chain(id);
        let round = RoundId::new(id, chain.requests);
        chain.requests += 1;
        round
    }
}

/// What an overflow is to the loop: work for its compactor, or its end.
pub(super) fn overflow(context: &SectionContext, reason: Reason, estimate: u64) -> Reply {
    let taken = context.state().conversation.overflowed(reason, estimate);
    match taken {
        Ok(()) => Reply::build(move |lua| ("overflow", reason.as_str()).into_lua_multi(lua)),
        Err(failure) => failure.into(),
    }
}

fn no_model(context: &SectionContext) -> Failure {
    Failure::Binding {
        section: context.name.clone(),
    }
}

impl Conversation {
    /// The model of the handle that the loop runs on.
    fn loop_model(&self) -> Option<Arc<Model>> {
        self.running.as_ref()?.model.clone()
    }

    /// Counts the round, unless it is a retry, and delivers the notices, which stay whatever becomes of it. Gives the
    /// number of records that the round then sends.
    fn begin_round(&mut self, notices: Vec<String>) -> usize {
        if !self.is_retry()
            && let Some(running) = &mut self.running
        {
            running.rounds += 1;
        }
        for notice in notices {
            let record = Arc::new(Record::text(Role::User, notice));
            if let Some(before) = self.overflow().and_then(|it| it.before.as_mut()) {
                before.push(Arc::clone(&record));
            }
            self.records.push(record);
        }
        self.records.len()
    }

    /// Checks and composes the list for a round, and judges whether it fits.
    fn prepare(&self, model: Arc<Model>) -> Result<Prepared, Refusal> {
        rules::check(&self.records).map_err(|error| Refusal::List(error.into()))?;
        let messages = compose(&self.records);
        let estimate = estimate(&messages);
        let measured = self
            .measured
            .as_ref()
            .and_then(|measured| measured.tokens(&self.records, &messages, &model.id));
        if !fits(measured.unwrap_or(estimate), &model) {
            return Err(Refusal::TooLarge(estimate));
        }
        let kept = match &self.sent {
            Some(sent) => kept(sent, &self.records),
            None => 0,
        };
        Ok(Prepared {
            model,
            messages,
            sent: self.records.as_slice().into(),
            estimate,
            kept,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: usize = 10_000;

    fn conversation(records: usize) -> Conversation {
        let mut conversation = Conversation::default();
        for index in 0..records {
            let role = if index % 2 == 0 { Role::User } else { Role::Assistant };
            conversation.push(Record::text(role, "x".repeat(TEXT)));
        }
        conversation
    }

    fn model() -> Arc<Model> {
        let mut model = Model::of_raw_id("m").expect("a valid id");
        model.context = u32::MAX;
        Arc::new(model)
    }

    fn prepare(conversation: &Conversation) -> Prepared {
        match conversation.prepare(model()) {
            Ok(prepared) => prepared,
            Err(_) => panic!("the list is sound and fits"),
        }
    }

    #[test]
    fn a_round_copies_the_text_of_the_list_once() {
        let mut conversation = conversation(200);
        conversation.sent = Some(prepare(&conversation).sent);
        conversation.push(Record::text(Role::User, "more"));
        let mut prepared = None;
        let allocated = allocation_counter::measure(|| prepared = Some(prepare(&conversation)));
        assert_eq!(prepared.map(|prepared| prepared.kept), Some(200));
        assert!(allocated.bytes_total < 200 * TEXT as u64 * 11 / 10, "{allocated:?}");
    }

    #[test]
    fn an_edit_and_a_compaction_copy_no_text() {
        let mut conversation = conversation(200);
        let allocated = allocation_counter::measure(|| {
            conversation.begin_compaction();
            let range = conversation.replace_range(3, 3).expect("a valid range");
            let edited = conversation.replace(range, vec![Record::text(Role::User, "short")]);
            edited.expect("a sound list");
            assert!(conversation.end_compaction(false).is_ok());
        });
        assert!(allocated.bytes_total < TEXT as u64, "{allocated:?}");
        assert_eq!(conversation.len(), 200);
    }
}
