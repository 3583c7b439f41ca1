//! The `prose` global: the pending prose above a block (book: Pending prose and the `prose` global).

/// The prose above the running block.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingProse {
    text: String,
}

impl PendingProse {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
        }
    }
}
