//! Judging the answer of a model round (book: How the loop judges an answer; What an infer round reports).

use std::sync::Arc;

use runvil_lua::mlua::IntoLuaMulti;

use super::{
    PendingRound, RoundCall, RoundCalls,
    anchor::Measured,
    record::Record,
    report::Served,
    round::{SentRound, overflow},
    running::Reason,
};
use crate::{
    ChainId, CompletionError, CompletionErrorKind, EventKind, Failure, ModelReply, ReplyCall, ReplyOrigin, Usage,
    run::{Reply, Resume, Run},
    section::SectionContext,
    tools::Advertised,
    wire::Role,
};

/// The message of an empty reply that no backend phrased.
const EMPTY_REPLY: &str = "empty model reply";

/// What was wrong with a reply to an infer round that calls tools.
const UNADVERTISED_CALLS: &str = "the round sent tool calls, but no tools were advertised";

/// The finish reason of a reply that ended on purpose.
const STOP: &str = "stop";

impl Run {
    /// A round was answered, or stopped where there is no reply.
    pub(crate) fn round_answered(
        &mut self,
        id: &ChainId,
        round: PendingRound,
        reply: Option<Result<ModelReply, CompletionError>>,
    ) {
        let context = Arc::clone(self.chain(id).context());
        let outcome = match reply {
            Some(Err(error)) if error.kind == CompletionErrorKind::ContextOverflow => {
                self.round_overflowed(id, &context, &round, &error)
            }
            reply => {
                if round.of_loop.is_some() {
                    context.state().conversation.end_retry();
                }
                self.judge(id, &context, round, reply)
            }
        };
        self.ready.push_back((id.clone(), Resume::Lua(outcome)));
    }

    fn judge(
        &mut self,
        id: &ChainId,
        context: &SectionContext,
        round: PendingRound,
        reply: Option<Result<ModelReply, CompletionError>>,
    ) -> Reply {
        match reply {
            None => Reply::Raise(Failure::Interrupted),
            Some(Ok(reply)) if round.of_loop.is_none() && !reply.tool_calls.is_empty() => {
                self.round_failed(id, &round, CompletionError::malformed(UNADVERTISED_CALLS))
            }
            Some(Ok(reply)) => self.round_served(id, context, round, reply),
            Some(Err(error)) if error.kind == CompletionErrorKind::EmptyReply => {
                self.round_was_empty(id, context, &round, error)
            }
            Some(Err(error)) => self.round_failed(id, &round, error),
        }
    }

    fn round_failed(&mut self, id: &ChainId, round: &PendingRound, error: CompletionError) -> Reply {
        self.report_failed(id, round, &error);
        Failure::from_completion(error).into()
    }

    /// Takes a round that the provider found too large: a loop's compactor may mend it.
    fn round_overflowed(
        &mut self,
        id: &ChainId,
        context: &SectionContext,
        round: &PendingRound,
        error: &CompletionError,
    ) -> Reply {
        self.report_failed(id, round, error);
        match &round.of_loop {
            Some(sent) => overflow(context, Reason::Provider, sent.estimate),
            None => Reason::Provider.exhausted().into(),
        }
    }

    /// Judges a reply that the backend found empty. It completes its round all the same.
    fn round_was_empty(
        &mut self,
        id: &ChainId,
        context: &SectionContext,
        round: &PendingRound,
        error: CompletionError,
    ) -> Reply {
        measure(context, round, error.usage);
        let turn = self.count_turn(id);
        self.report(
            id,
            EventKind::ModelTurnCompleted {
                turn,
                round: round.round.clone(),
                finish_reason: error.finish_reason.clone(),
                message: Some(error.to_string()),
            },
        );
        judge_empty(context, round, Failure::from_completion(error))
    }

    /// Reports a served round and judges its reply.
    fn round_served(
        &mut self,
        id: &ChainId,
        context: &SectionContext,
        round: PendingRound,
        reply: ModelReply,
    ) -> Reply {
        measure(context, &round, reply.usage);
        let calls = match decode(&reply.tool_calls) {
            Ok(calls) => calls,
            Err(error) => return self.round_failed(id, &round, error),
        };
        self.report_exchange(id, &round.round, reply.raw);
        let is_empty = calls.is_empty() && reply.text.trim().is_empty();
        let served = Served {
            turn: self.count_turn(id),
            origin: round.origin(),
            model: reply.sent_to.unwrap_or_else(|| round.model.name().to_owned()),
            round: round.round.clone(),
            finish_reason: reply.finish_reason,
            metrics: reply.metrics,
        };
        let message = is_empty.then(|| EMPTY_REPLY.to_owned());
        self.report_served(id, &served, message, &reply.metadata_problems, reply.reasoning);
        if is_empty {
            let failure = Failure::EmptyModelReply {
                message: EMPTY_REPLY.to_owned(),
                finish_reason: served.finish_reason,
            };
            return judge_empty(context, &round, failure);
        }
        match round.of_loop {
            Some(sent) if !calls.is_empty() => self.round_called(id, context, served, &sent.advertised, calls),
            of_loop => {
                self.report_reply(id, served, &reply.text);
                take_text(context, of_loop.as_ref(), reply.text)
            }
        }
    }

    /// Reports the calls of a tool round, and hands them to the loop if the round advertised each.
    fn round_called(
        &mut self,
        id: &ChainId,
        context: &SectionContext,
        served: Served,
        advertised: &Advertised,
        calls: Vec<RoundCall>,
    ) -> Reply {
        let turn = served.turn;
        self.report_calls(id, served, advertised, &calls);
        match advertised.admit(context, &calls) {
            Ok(()) => Reply::build(move |lua| {
                let calls = lua.create_userdata(RoundCalls { turn, calls })?;
                ("calls", calls).into_lua_multi(lua)
            }),
            Err(failure) => failure.into(),
        }
    }

    /// Counts a served round of the chain's task, and gives its number.
    fn count_turn(&mut self, id: &ChainId) -> u32 {
        let shared = Arc::clone(&self.shared);
        shared.count_turn(&self.chain(id).task)
    }
}

impl PendingRound {
    fn origin(&self) -> ReplyOrigin {
        if self.of_loop.is_some() {
            ReplyOrigin::Chat
        } else {
            ReplyOrigin::Infer
        }
    }
}

/// Keeps what the provider counted for a loop round.
fn measure(context: &SectionContext, round: &PendingRound, usage: Option<Usage>) {
    let measured = round
        .of_loop
        .as_ref()
        .zip(usage)
        .and_then(|(sent, usage)| Measured::new(&sent.sent, &round.model.id, usage));
    if measured.is_some() {
        context.state().conversation.measured = measured;
    }
}

/// What an empty reply is: a loop that answered tool calls ends cleanly on `stop`, anything else fails.
fn judge_empty(context: &SectionContext, round: &PendingRound, failure: Failure) -> Reply {
    let Failure::EmptyModelReply { finish_reason, .. } = &failure else {
        return failure.into();
    };
    let conversation = &mut context.state().conversation;
    let is_clean =
        round.of_loop.is_some() && finish_reason.as_deref() == Some(STOP) && conversation.has_answered_calls();
    if is_clean {
        conversation.push(Record::text(Role::Assistant, ""));
        done()
    } else {
        failure.into()
    }
}

/// Hands a text reply over: to the list for a loop round, to the caller for an infer round.
fn take_text(context: &SectionContext, of_loop: Option<&SentRound>, text: String) -> Reply {
    if of_loop.is_none() {
        return Reply::Text(text);
    }
    let record = Record::text(Role::Assistant, text);
    context.state().conversation.push(record);
    done()
}

/// The loop has its terminal record.
fn done() -> Reply {
    Reply::Text("done".to_owned())
}

/// Decodes the calls of a reply. A backend judges them first, so that a batch it passes on always decodes.
fn decode(calls: &[ReplyCall]) -> Result<Vec<RoundCall>, CompletionError> {
    let decode = |call: &ReplyCall| match serde_json::from_str(&call.arguments) {
        Ok(arguments) => Ok(RoundCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments,
        }),
        Err(_) => Err(CompletionError::malformed(format!(
            "the arguments of tool call {:?} are no JSON object",
            call.id
        ))),
    };
    calls.iter().map(decode).collect()
}
