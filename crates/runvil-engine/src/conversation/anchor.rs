//! What a list sent, and what a provider counted for it (book: The provider anchor).

use std::sync::Arc;

use super::{
    compose::{runs, same_message},
    estimate::estimate,
    record::Record,
};
use crate::{
    ModelId, Usage,
    wire::{Message, Role},
};

/// A list as it stood when it was sent. Its records are shared with the list.
pub(crate) type Snapshot = Arc<[Arc<Record>]>;

/// How many leading messages of a request are those that an earlier one sent.
pub(super) fn kept(earlier: &[Arc<Record>], now: &[Arc<Record>]) -> usize {
    runs(earlier)
        .zip(runs(now))
        .take_while(|(one, other)| same_message(&earlier[one.clone()], &now[other.clone()]))
        .count()
}

/// The token count that the provider reported for the latest served round of a list.
pub(crate) struct Measured {
    sent: Snapshot,
    model: ModelId,
    /// Of the request and its reply, without reasoning.
    tokens: u64,
}

impl Measured {
    /// Reads a round's usage, `None` where the provider did not report all of it.
    pub(super) fn new(sent: &Snapshot, model: &ModelId, usage: Usage) -> Option<Self> {
        let total = usage.prompt_tokens?.saturating_add(usage.completion_tokens?);
        Some(Self {
            sent: Arc::clone(sent),
            model: model.clone(),
            tokens: total.saturating_sub(usage.reasoning_tokens.unwrap_or_default()),
        })
    }

    /// The tokens of a request that extends the measured one and goes to the same model: the count, and the estimate
    /// of what follows the reply. `None` for any other request.
    pub(super) fn tokens(&self, records: &[Arc<Record>], messages: &[Message], model: &ModelId) -> Option<u64> {
        let sent = runs(&self.sent).count();
        let extends =
            self.model == *model && messages.get(sent)?.role == Role::Assistant && kept(&self.sent, records) == sent;
        extends.then(|| self.tokens.saturating_add(estimate(&messages[sent + 1..])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::compose::compose;

    fn list(records: &[(Role, &str)]) -> Vec<Arc<Record>> {
        records
            .iter()
            .map(|(role, text)| Arc::new(Record::text(*role, *text)))
            .collect()
    }

    fn usage(prompt: u64, completion: u64, reasoning: Option<u64>) -> Usage {
        Usage {
            prompt_tokens: Some(prompt),
            completion_tokens: Some(completion),
            reasoning_tokens: reasoning,
        }
    }

    fn id(name: &str) -> ModelId {
        ModelId::new("gateway", name).expect("a valid id")
    }

    fn tokens(measured: &Measured, records: &[Arc<Record>], model: &str) -> Option<u64> {
        measured.tokens(records, &compose(records), &id(model))
    }

    const SENT: [(Role, &str); 1] = [(Role::User, "xxxxx")];

    fn measured(usage: Usage) -> Measured {
        Measured::new(&list(&SENT).into(), &id("m"), usage).expect("a whole count")
    }

    #[test]
    fn reasoning_is_left_out_and_the_count_never_drops_below_zero() {
        assert_eq!(measured(usage(3000, 1200, Some(800))).tokens, 3400);
        assert_eq!(measured(usage(3000, 1200, None)).tokens, 4200);
        assert_eq!(measured(usage(1, 2, Some(800))).tokens, 0);
    }

    #[test]
    fn a_half_reported_usage_is_no_measurement() {
        let half = Usage {
            prompt_tokens: Some(3),
            ..Usage::default()
        };
        assert!(Measured::new(&list(&SENT).into(), &id("m"), half).is_none());
    }

    #[test]
    fn only_what_follows_the_reply_is_estimated() {
        let measured = measured(usage(3400, 100, None));
        let text = "y".repeat(400);
        let records = list(&[SENT[0], (Role::Assistant, "ok"), (Role::User, &text)]);
        assert_eq!(tokens(&measured, &records, "m"), Some(3500 + 104));
        assert_eq!(tokens(&measured, &records[..2], "m"), Some(3500));
    }

    #[test]
    fn any_other_list_and_any_other_model_is_estimated_whole() {
        let measured = measured(usage(3400, 100, None));
        let reply = (Role::Assistant, "ok");
        let cases = [
            list(&SENT),
            list(&[]),
            list(&[(Role::User, "other"), reply]),
            list(&[(Role::System, "s"), SENT[0], reply]),
            list(&[SENT[0], (Role::User, "more"), reply]),
        ];
        for records in cases {
            assert_eq!(tokens(&measured, &records, "m"), None);
        }
        assert_eq!(tokens(&measured, &list(&[SENT[0], reply]), "n"), None);
    }

    #[test]
    fn equal_messages_of_other_records_still_extend_the_sent_list() {
        let measured = measured(usage(3400, 100, None));
        let rebuilt = list(&[
            (Role::User, ""),
            SENT[0],
            (Role::Assistant, "o"),
            (Role::Assistant, "k"),
        ]);
        assert_eq!(tokens(&measured, &rebuilt, "m"), Some(3500));
    }
}
