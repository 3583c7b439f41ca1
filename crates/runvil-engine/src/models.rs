//! Model roles, their binding, and what a section selected (book: Models).

use std::collections::BTreeMap;

use runvil_syntax::RoleDeclaration;

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
