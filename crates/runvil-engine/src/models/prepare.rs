//! Binding the roles to the current model, and what that model falls short of (book: Model roles at prepare).

use std::{collections::BTreeMap, fmt};

use runvil_syntax::{Keyword, RoleDeclaration};
use serde::{Deserialize, Serialize};

use crate::{ModelInfo, ThinkingMode, prompt::Prompt};

/// What preparing a prompt's model roles gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreparedRoles {
    /// The model that each role is bound to, by role label. Every role has the current model; without one no role is bound.
    pub roles: BTreeMap<String, ModelInfo>,
    /// What the current model falls short of: by role label, the context minimum before the hard keywords.
    pub unmet: Vec<UnmetRole>,
}

/// One check of one role that the current model fails. It displays as its line of the requirements notice, without
/// the leading `- `.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmetRole {
    /// The role's label.
    pub role: String,
    /// What was checked.
    pub check: RoleCheck,
    /// What the role asks for: a count of tokens, or a keyword.
    pub required: String,
    /// What the current model has: a count of tokens, or `Never` or `Always`.
    pub actual: String,
}

/// The two checks of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleCheck {
    /// `min_context` against the model's context window.
    ContextMinimum,
    /// A hard keyword against the model's thinking mode.
    HardKeyword,
}

impl fmt::Display for UnmetRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            role,
            check,
            required,
            actual,
        } = self;
        match check {
            RoleCheck::ContextMinimum => write!(
                f,
                "role '{role}': requires a context of at least {required} tokens; the current model provides {actual}"
            ),
            RoleCheck::HardKeyword => write!(
                f,
                "role '{role}': requires '{required}'; the current model's thinking capability is {actual}"
            ),
        }
    }
}

/// Binds every role of a prompt to the Host's current model and checks what each role asks of it.
///
/// Without a current model no role is bound and nothing is checked.
#[must_use]
pub fn prepare_roles(prompt: &Prompt, current: Option<&ModelInfo>) -> PreparedRoles {
    let mut prepared = PreparedRoles::default();
    let Some(model) = current else {
        return prepared;
    };
    for (label, role) in &prompt.tree().frontmatter.models {
        prepared.roles.insert(label.clone(), model.clone());
        prepared.unmet.extend(unmet(label, role, model));
    }
    prepared
}

/// The checks of one role that a model fails.
fn unmet(label: &str, role: &RoleDeclaration, model: &ModelInfo) -> Vec<UnmetRole> {
    let unmet = |check, required: String, actual: String| UnmetRole {
        role: label.to_owned(),
        check,
        required,
        actual,
    };
    let context = role
        .min_context
        .filter(|minimum| model.context < minimum.get())
        .map(|minimum| {
            unmet(
                RoleCheck::ContextMinimum,
                minimum.to_string(),
                model.context.to_string(),
            )
        });
    let keyword = failed_keyword(model.thinking)
        .filter(|(keyword, _)| role.keywords.contains(keyword))
        .map(|(keyword, mode)| {
            unmet(
                RoleCheck::HardKeyword,
                super::spelling(keyword).to_owned(),
                mode.to_owned(),
            )
        });
    context.into_iter().chain(keyword).collect()
}

/// The one hard keyword that a model of this thinking mode cannot serve, and the notice's name of the mode.
fn failed_keyword(mode: ThinkingMode) -> Option<(Keyword, &'static str)> {
    match mode {
        ThinkingMode::Never => Some((Keyword::Thinking, "Never")),
        ThinkingMode::Always => Some((Keyword::NoThinking, "Always")),
        ThinkingMode::Switchable => None,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::ModelId;

    fn model(context: u32, thinking: ThinkingMode) -> ModelInfo {
        ModelInfo {
            id: ModelId::new("gateway", "fast").expect("a valid id"),
            context,
            thinking,
            description: String::new(),
            provider: None,
        }
    }

    fn role(keywords: &[Keyword], min_context: Option<u32>) -> RoleDeclaration {
        RoleDeclaration {
            keywords: keywords.to_vec(),
            min_context: min_context.and_then(NonZeroU32::new),
            description: None,
        }
    }

    fn lines(role: &RoleDeclaration, model: &ModelInfo) -> Vec<String> {
        unmet("reader", role, model).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_role_that_fails_both_checks_gets_a_line_for_each_context_first() {
        let role = role(&[Keyword::Frontier, Keyword::Thinking], Some(5000));
        assert_eq!(
            lines(&role, &model(4096, ThinkingMode::Never)),
            [
                "role 'reader': requires a context of at least 5000 tokens; the current model provides 4096",
                "role 'reader': requires 'thinking'; the current model's thinking capability is Never",
            ]
        );
    }

    #[test]
    fn the_context_minimum_is_inclusive() {
        let role = role(&[], Some(5000));
        assert!(lines(&role, &model(5000, ThinkingMode::Never)).is_empty());
        assert_eq!(lines(&role, &model(4999, ThinkingMode::Never)).len(), 1);
    }

    #[test]
    fn a_switchable_model_meets_both_hard_keywords_and_a_fixed_one_fails_its_opposite_once() {
        let both = role(&[Keyword::NoThinking, Keyword::Thinking, Keyword::NoThinking], None);
        assert!(lines(&both, &model(1, ThinkingMode::Switchable)).is_empty());
        assert_eq!(
            lines(&both, &model(1, ThinkingMode::Always)),
            ["role 'reader': requires 'no-thinking'; the current model's thinking capability is Always"]
        );
    }

    #[test]
    fn soft_keywords_ask_nothing() {
        let soft = role(
            &[
                Keyword::Frontier,
                Keyword::Fast,
                Keyword::Small,
                Keyword::Creative,
                Keyword::Chat,
            ],
            None,
        );
        for mode in [ThinkingMode::Never, ThinkingMode::Always] {
            assert!(lines(&soft, &model(1, mode)).is_empty());
        }
    }
}
