//! What a model round reports (book: The round counter and what each round reports).

use serde_json::Value;

use super::{PendingRound, RoundCall};
use crate::{
    ChainId, CompletionError, EventKind, RawExchange, ReplyOrigin, RequestedCall, RoundId, run::Run, tools::Advertised,
};

/// The finish reason of a reply that was cut off.
const LENGTH: &str = "length";

/// A served round on its way into events.
pub(super) struct Served {
    pub(super) round: RoundId,
    pub(super) turn: u32,
    pub(super) origin: ReplyOrigin,
    /// The name of the model that the request was really sent to.
    pub(super) model: String,
    pub(super) finish_reason: Option<String>,
    pub(super) metrics: Option<Value>,
}

impl Run {
    /// Reports that a round failed.
    pub(super) fn report_failed(&mut self, id: &ChainId, round: &PendingRound, error: &CompletionError) {
        self.report(
            id,
            EventKind::ModelTurnFailed {
                round: round.round.clone(),
                message: error.to_string(),
            },
        );
    }

    /// Reports the raw bodies that debug mode captured.
    pub(super) fn report_exchange(&mut self, id: &ChainId, round: &RoundId, raw: Option<RawExchange>) {
        if let Some(RawExchange { request, response }) = raw {
            let round = round.clone();
            self.report(
                id,
                EventKind::Request {
                    round: round.clone(),
                    body: request,
                },
            );
            self.report(id, EventKind::Response { round, body: response });
        }
    }

    /// Reports that a round completed, what its metadata lacked, and what the model thought.
    pub(super) fn report_served(
        &mut self,
        id: &ChainId,
        served: &Served,
        message: Option<String>,
        problems: &[String],
        reasoning: Option<String>,
    ) {
        let turn = served.turn;
        self.report(
            id,
            EventKind::ModelTurnCompleted {
                turn,
                round: served.round.clone(),
                finish_reason: served.finish_reason.clone(),
                message,
            },
        );
        for problem in problems {
            let message = problem.clone();
            self.report(id, EventKind::ModelMetadataDegraded { turn, message });
        }
        if let Some(text) = reasoning.filter(|text| !text.is_empty()) {
            self.report(
                id,
                EventKind::Thinking {
                    text,
                    turn,
                    round: served.round.clone(),
                    origin: served.origin,
                    model: served.model.clone(),
                },
            );
        }
    }

    /// Reports a text reply, and that it was cut off.
    pub(super) fn report_reply(&mut self, id: &ChainId, served: Served, text: &str) {
        if served.finish_reason.as_deref() == Some(LENGTH) {
            self.report(
                id,
                EventKind::ModelTurnTruncated {
                    turn: served.turn,
                    round: served.round.clone(),
                },
            );
        }
        self.report(
            id,
            EventKind::AssistantReply {
                text: text.to_owned(),
                turn: served.turn,
                round: served.round,
                origin: served.origin,
                model: served.model,
                finish_reason: served.finish_reason,
                metrics: served.metrics,
            },
        );
    }

    /// Reports the calls of a tool round, before any of them runs.
    pub(super) fn report_calls(&mut self, id: &ChainId, served: Served, advertised: &Advertised, calls: &[RoundCall]) {
        let requested = |call: &RoundCall| RequestedCall {
            id: call.id.clone(),
            name: call.name.clone(),
            tool: advertised.tool_id(&call.name).map(str::to_owned),
            arguments: Value::Object(call.arguments.clone()),
        };
        self.report(
            id,
            EventKind::AssistantToolCalls {
                turn: served.turn,
                round: served.round,
                origin: served.origin,
                model: served.model,
                calls: calls.iter().map(requested).collect(),
                finish_reason: served.finish_reason,
                metrics: served.metrics,
            },
        );
    }
}
