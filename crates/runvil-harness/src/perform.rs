//! Performing effects (book: Effects and Harness work).

mod files;
mod model;
mod tool;

use std::time::Duration;

use runvil_engine::{AccessId, Answer, EffectId, EffectKind, StoreCall};
use runvil_model::RoundLimits;
use runvil_pack::{Cancellation, Services};
use runvil_vfs::{Change, Session, StoreFailure};

use crate::{ModelAccess, blocking::blocking, packs::ToolTable, recording::Recording};

/// Performs the effects of one run, one call for each. It keeps no state between them, so they may be performed in
/// any order and at the same time, but for store operations: they are to land in the order in which the run issued
/// them.
pub struct Performer {
    pub(crate) models: ModelAccess,
    pub(crate) limits: RoundLimits,
    pub(crate) tools: ToolTable,
    pub(crate) run_services: Services,
    pub(crate) host_services: Services,
    pub(crate) store: Option<Session>,
    pub(crate) recording: Recording,
}

impl Performer {
    /// Performs one effect and gives its answer. `live` hears the text of a live model round as it comes.
    ///
    /// Dropping the future gives the work up, except for a store operation that has begun. Raise `cancellation`
    /// too, for a tool that works on a thread of its own.
    pub async fn perform(
        &self,
        id: EffectId,
        effect: EffectKind,
        live: impl FnMut(&str) + Send,
        cancellation: Cancellation,
    ) -> Answer {
        match effect {
            EffectKind::ModelRound(round) => Answer::Model(Box::new(self.complete(round, live).await)),
            EffectKind::ToolCall(call) => Answer::Tool(self.call_tool(id, call, cancellation).await),
            EffectKind::Store(call) => self.perform_store(id, call).await,
            EffectKind::Timer { millis } => {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                Answer::Timer
            }
        }
    }

    async fn perform_store(&self, effect: EffectId, call: StoreCall) -> Answer {
        let Some(session) = self.store.clone() else {
            return Answer::Store(Err(StoreFailure::NoStore).into());
        };
        let recording = self.recording.clone();
        let reply = blocking(move || {
            if !recording.is_on() {
                return session.perform(&call.identity, call.op);
            }
            let access = AccessId { effect, nth: 0 };
            let mut watch = |change: Change<'_>| recording.changing(access, change);
            session.perform_watched(&call.identity, call.op, &mut watch)
        });
        Answer::Store(reply.await.into())
    }
}
