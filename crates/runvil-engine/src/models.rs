//! Model roles, their binding, and what a section selected (book: Models).

mod prepare;

use std::collections::BTreeMap;

use runvil_syntax::{Keyword, RoleDeclaration};

pub use prepare::{PreparedRoles, RoleCheck, UnmetRole, prepare_roles};

use crate::ModelInfo;

/// The run's bound roles and the prompt-wide default.
pub(crate) struct Roles {}

impl Roles {
    pub(crate) fn new(
        _declared: &BTreeMap<String, RoleDeclaration>,
        _bound: BTreeMap<String, ModelInfo>,
    ) -> Self {
        Self {}
    }
}

/// A section's `models.use`.
pub(crate) struct Selection {}

/// A keyword as the frontmatter spells it.
pub(crate) fn spelling(keyword: Keyword) -> &'static str {
    match keyword {
        Keyword::Thinking => "thinking",
        Keyword::NoThinking => "no-thinking",
        Keyword::Frontier => "frontier",
        Keyword::Fast => "fast",
        Keyword::Small => "small",
        Keyword::Creative => "creative",
        Keyword::Chat => "chat",
    }
}
