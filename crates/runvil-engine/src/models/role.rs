//! The frozen binding that a round runs on (book: A handle's frozen binding).

use runvil_syntax::{Keyword, RoleDeclaration};

use super::{Sampling, spelling};
use crate::{InvalidModelId, ModelId, ModelInfo, RAW_MODEL_CONTEXT};

/// The server namespace of a model that the prompt names itself.
const RAW_MODEL_SERVER: &str = "gateway";

/// A model as a role, a raw id or a selection fixes it for the rounds that run on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Model {
    /// The role's label; for a raw id the id.
    pub(crate) label: String,
    /// The model that requests go to.
    pub(crate) id: ModelId,
    pub(crate) description: String,
    /// The context window in tokens.
    pub(crate) context: u32,
    /// The role's keywords as written.
    pub(crate) capabilities: Vec<&'static str>,
    pub(crate) provider: Option<String>,
    /// The thinking switch that every request sends.
    pub(crate) thinking: Option<bool>,
    pub(crate) sampling: Sampling,
}

impl Model {
    /// A declared role bound to a model.
    pub(super) fn of_role(label: &str, role: &RoleDeclaration, model: ModelInfo) -> Self {
        Self {
            label: label.to_owned(),
            id: model.id,
            description: role.description.clone().unwrap_or(model.description),
            context: model.context,
            capabilities: role.keywords.iter().copied().map(spelling).collect(),
            provider: model.provider,
            thinking: thinking_switch(&role.keywords),
            sampling: Sampling::default(),
        }
    }

    /// A model that Lua names by its id (book: Raw model ids and the Host-state snapshot).
    ///
    /// # Errors
    /// The id breaks the rules of model ids.
    pub(crate) fn of_raw_id(id: &str) -> Result<Self, InvalidModelId> {
        Ok(Self {
            label: id.to_owned(),
            id: ModelId::new(RAW_MODEL_SERVER, id)?,
            description: id.to_owned(),
            context: RAW_MODEL_CONTEXT,
            capabilities: Vec::new(),
            provider: None,
            thinking: None,
            sampling: Sampling::default(),
        })
    }

    /// The same binding with sampling options on top.
    pub(crate) fn with(&self, sampling: Sampling) -> Self {
        Self {
            sampling,
            ..self.clone()
        }
    }

    /// The name that requests carry.
    pub(crate) fn name(&self) -> &str {
        self.id.name()
    }
}

/// The switch that a role's hard keywords set: the last of them wins.
fn thinking_switch(keywords: &[Keyword]) -> Option<bool> {
    keywords.iter().rev().find_map(|keyword| match keyword {
        Keyword::Thinking => Some(true),
        Keyword::NoThinking => Some(false),
        _ => None,
    })
}
