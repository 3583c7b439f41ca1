//! Model roles, their binding, and what a section selected (book: Models).

mod prepare;
mod role;
mod sampling;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use runvil_syntax::{Keyword, RoleDeclaration};

pub use prepare::{PreparedRoles, RoleCheck, UnmetRole, prepare_roles};
pub(crate) use role::Model;
pub(crate) use sampling::{OptionFault, Sampling};

use crate::ModelInfo;

/// A section's `models.use`: the role with its sampling options on top.
pub(crate) type Selection = Arc<Model>;

/// The run's bound roles, and the one that is the prompt-wide default.
pub(crate) struct Roles {
    bound: BTreeMap<String, Arc<Model>>,
    default: Mutex<Option<Arc<Model>>>,
}

/// Another role is the prompt-wide default already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefaultIsSet {
    /// The default's label.
    pub(crate) existing: String,
}

impl Roles {
    /// Joins what the prompt declares with the models that prepare bound. Each role's thinking switch is fixed here.
    pub(crate) fn new(declared: &BTreeMap<String, RoleDeclaration>, bound: BTreeMap<String, ModelInfo>) -> Self {
        let bound = bound
            .into_iter()
            .filter_map(|(label, model)| {
                let role = Model::of_role(&label, declared.get(&label)?, model);
                Some((label, Arc::new(role)))
            })
            .collect();
        Self {
            bound,
            default: Mutex::default(),
        }
    }

    /// The bound role with this label.
    pub(crate) fn get(&self, label: &str) -> Option<Arc<Model>> {
        self.bound.get(label).cloned()
    }

    /// The prompt-wide default.
    pub(crate) fn default(&self) -> Option<Arc<Model>> {
        self.default.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes a bound role the prompt-wide default. Naming the default again changes nothing.
    pub(crate) fn set_default(&self, role: &Arc<Model>) -> Result<(), DefaultIsSet> {
        let mut default = self.default.lock().unwrap_or_else(PoisonError::into_inner);
        match &*default {
            Some(existing) if existing.label != role.label => Err(DefaultIsSet {
                existing: existing.label.clone(),
            }),
            _ => {
                *default = Some(Arc::clone(role));
                Ok(())
            }
        }
    }
}

/// A keyword as the frontmatter spells it.
fn spelling(keyword: Keyword) -> &'static str {
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
