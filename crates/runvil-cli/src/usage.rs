//! What a run uses of its models: counted where the requests leave, and held against the run's budget.

use std::{
    future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use runvil_engine::{CompletionError, ModelReply, ModelRound};
use runvil_harness::ModelAccess;
use runvil_model::{Catalog, ModelBackend, OnText, RoundLimits};
use serde::Serialize;

use crate::{
    budget::{Budget, Passed},
    cause::{Cause, Grip},
    out,
};

/// What was used so far. Tokens are as the server reported them: `None` where it never did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Usage {
    /// The rounds that were sent.
    pub(crate) rounds: u64,
    /// The rounds that ended and of which some tokens are unknown: the server did not say, or the round failed or was cut
    /// short.
    pub(crate) rounds_of_unknown_use: u64,
    pub(crate) prompt_tokens: Option<u64>,
    /// The tokens of replies, reasoning included.
    pub(crate) completion_tokens: Option<u64>,
    pub(crate) reasoning_tokens: Option<u64>,
}

impl Usage {
    /// The tokens that are known, of requests and replies together.
    pub(crate) fn known_tokens(&self) -> Option<u64> {
        match (self.prompt_tokens, self.completion_tokens) {
            (None, None) => None,
            (prompt, completion) => Some(prompt.unwrap_or(0).saturating_add(completion.unwrap_or(0))),
        }
    }

    /// Counts a round that was sent and has ended.
    pub(crate) fn count_round(&mut self, reported: runvil_engine::Usage) {
        self.rounds += 1;
        self.add(reported);
    }

    fn add(&mut self, reported: runvil_engine::Usage) {
        let add = |sum: &mut Option<u64>, tokens: Option<u64>| {
            if let Some(tokens) = tokens {
                *sum = Some(sum.unwrap_or(0).saturating_add(tokens));
            }
        };
        add(&mut self.prompt_tokens, reported.prompt_tokens);
        add(&mut self.completion_tokens, reported.completion_tokens);
        add(&mut self.reasoning_tokens, reported.reasoning_tokens);
        if reported.prompt_tokens.is_none() || reported.completion_tokens.is_none() {
            self.rounds_of_unknown_use += 1;
        }
    }
}

/// Counts what a run uses, and cancels it when it passes its budget.
pub(crate) struct Meter {
    budget: Budget,
    grip: Grip,
    usage: Mutex<Usage>,
}

impl Meter {
    /// `used` is what the run used before.
    pub(crate) fn new(budget: Budget, grip: Grip, used: Usage) -> Self {
        Self {
            budget,
            grip,
            usage: Mutex::new(used),
        }
    }

    /// What was used so far.
    pub(crate) fn usage(&self) -> Usage {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a round that is about to be sent; refuses the one that passes the budget.
    fn admit(&self) -> bool {
        let mut usage = self.lock();
        if let Some(limit) = self.budget.max_rounds.filter(|limit| usage.rounds >= *limit) {
            self.grip.unsent();
            self.pass(Passed::Rounds { limit });
            return false;
        }
        usage.rounds += 1;
        true
    }

    /// Counts the tokens of a round that ended.
    fn count(&self, reported: runvil_engine::Usage) {
        let mut usage = self.lock();
        let known = usage.rounds_of_unknown_use == 0;
        usage.add(reported);
        let Some(limit) = self.budget.max_total_tokens else {
            return;
        };
        if known && usage.rounds_of_unknown_use > 0 && !self.grip.is_cancelled() {
            out::note(
                "warning: how many tokens a model round used is unknown, since the server did not report it or the round \
                 did not end; the token budget counts only what is reported",
            );
        }
        if let Some(used) = usage.known_tokens().filter(|used| *used > limit) {
            self.pass(Passed::Tokens { limit, used });
        }
    }

    /// Cancels the run once its time is over.
    pub(crate) async fn watch_time(self: Arc<Self>) {
        if let Some(limit) = self.budget.max_seconds {
            tokio::time::sleep(limit.0).await;
            self.pass(Passed::Seconds { limit });
        }
    }

    fn pass(&self, passed: Passed) {
        self.grip.cancel(Cause::Budget(passed));
    }
}

/// A backend whose rounds are counted.
struct Metered {
    backend: Arc<dyn ModelBackend>,
    meter: Arc<Meter>,
}

/// The models, with every round counted.
pub(crate) fn metered(models: ModelAccess, meter: &Arc<Meter>) -> ModelAccess {
    let counted = |backend| -> Arc<dyn ModelBackend> {
        Arc::new(Metered {
            backend,
            meter: Arc::clone(meter),
        })
    };
    ModelAccess {
        backend: models.backend.map(counted),
        ..models
    }
}

#[async_trait]
impl ModelBackend for Metered {
    async fn complete(
        &self,
        round: &ModelRound,
        limits: RoundLimits,
        on_text: OnText<'_>,
    ) -> Result<ModelReply, CompletionError> {
        if !self.meter.admit() {
            // The run is being cancelled, which drops this call: nothing is sent, and nothing comes back.
            return future::pending().await;
        }
        let mut sent = Sent {
            meter: &self.meter,
            reported: runvil_engine::Usage::default(),
        };
        let reply = self.backend.complete(round, limits, on_text).await;
        if let Ok(reply) = &reply {
            sent.reported = reply.usage.unwrap_or_default();
        }
        reply
    }

    async fn models(&self, limits: RoundLimits) -> Result<Catalog, CompletionError> {
        self.backend.models(limits).await
    }
}

/// A round that was sent. It is counted when it ends, and also when it is cut short.
struct Sent<'a> {
    meter: &'a Meter,
    reported: runvil_engine::Usage,
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        self.meter.count(self.reported);
    }
}
