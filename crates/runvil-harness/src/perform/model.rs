//! Performing a model round.

use runvil_engine::{CompletionError, CompletionErrorKind, ModelReply, ModelRound, Outcome};

use super::Performer;

impl Performer {
    pub(super) async fn complete(
        &self,
        round: ModelRound,
        mut live: impl FnMut(&str) + Send,
    ) -> Outcome<ModelReply, CompletionError> {
        let Some(backend) = &self.models.backend else {
            return Outcome::Err(CompletionError::new(CompletionErrorKind::Unavailable));
        };
        // An infer round's reply comes whole, so none of its text is live.
        let mut on_text = |text: &str| {
            if round.live {
                live(text);
            }
        };
        backend.complete(&round, self.limits, &mut on_text).await.into()
    }
}
