//! How a server is told to think or not to think.

use std::{fmt, str::FromStr};

use serde_json::{Map, Value, json};

use crate::ApiRoot;

/// The request field that carries the thinking switch. The chat-completions form has none of its own, so each
/// family of servers grew one.
///
/// A round whose switch is unset sends no such field at all (book: The thinking switch).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThinkingDialect {
    /// `chat_template_kwargs` with `enable_thinking` and `thinking`, the two names under which chat templates know
    /// the switch: llama.cpp, vLLM, SGLang. A template that knows neither passes over both.
    #[default]
    ChatTemplate,
    /// `reasoning_effort`, `medium` or `none`: OpenAI, Ollama.
    ReasoningEffort,
    /// `reasoning: {enabled}`: OpenRouter and other routers.
    Reasoning,
    /// `thinking: {type}`, `enabled` or `disabled`: DeepSeek, Z.ai.
    ThinkingType,
    /// `enable_thinking`: Model Studio.
    EnableThinking,
    /// No field: the switch is not sent.
    Unsent,
}

/// A name of no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown thinking dialect `{0}`: expected {names}", names = ThinkingDialect::names())]
pub struct UnknownDialect(
    /// The name as given.
    pub String,
);

impl ThinkingDialect {
    /// Every dialect.
    pub const ALL: [Self; 6] = [
        Self::ChatTemplate,
        Self::ReasoningEffort,
        Self::Reasoning,
        Self::ThinkingType,
        Self::EnableThinking,
        Self::Unsent,
    ];

    /// The dialect's name in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatTemplate => "chat-template",
            Self::ReasoningEffort => "reasoning-effort",
            Self::Reasoning => "reasoning",
            Self::ThinkingType => "thinking-type",
            Self::EnableThinking => "enable-thinking",
            Self::Unsent => "unsent",
        }
    }

    /// The dialect of a well-known service, told by its host, and of Ollama, told by its port; of any other server,
    /// the chat template's.
    #[must_use]
    pub fn of(root: &ApiRoot) -> Self {
        /// Ollama's default port.
        const OLLAMA: Option<u16> = Some(11434);
        match root.host() {
            "api.openai.com" => Self::ReasoningEffort,
            "openrouter.ai" => Self::Reasoning,
            "api.deepseek.com" | "api.z.ai" | "open.bigmodel.cn" => Self::ThinkingType,
            "dashscope.aliyuncs.com" | "dashscope-intl.aliyuncs.com" => Self::EnableThinking,
            _ if root.port() == OLLAMA => Self::ReasoningEffort,
            _ => Self::default(),
        }
    }

    /// The request fields that turn thinking on or off.
    #[must_use]
    pub fn fields(self, on: bool) -> Map<String, Value> {
        let (name, value) = match self {
            Self::ChatTemplate => ("chat_template_kwargs", json!({ "enable_thinking": on, "thinking": on })),
            Self::ReasoningEffort => ("reasoning_effort", json!(if on { "medium" } else { "none" })),
            Self::Reasoning => ("reasoning", json!({ "enabled": on })),
            Self::ThinkingType => ("thinking", json!({ "type": if on { "enabled" } else { "disabled" } })),
            Self::EnableThinking => ("enable_thinking", json!(on)),
            Self::Unsent => return Map::new(),
        };
        Map::from_iter([(name.to_owned(), value)])
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for ThinkingDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ThinkingDialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_known_by_its_name() {
        for dialect in ThinkingDialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        assert_eq!(
            "think".parse::<ThinkingDialect>().expect_err("unknown").to_string(),
            "unknown thinking dialect `think`: expected chat-template, reasoning-effort, reasoning, thinking-type, \
             enable-thinking, unsent"
        );
    }

    #[test]
    fn a_well_known_server_is_told_by_its_host_or_port() {
        let of = |url: &str| ThinkingDialect::of(&url.parse().expect("a valid root"));
        assert_eq!(of("https://API.openai.com/v1"), ThinkingDialect::ReasoningEffort);
        assert_eq!(of("https://openrouter.ai/api/v1"), ThinkingDialect::Reasoning);
        assert_eq!(of("https://api.deepseek.com"), ThinkingDialect::ThinkingType);
        assert_eq!(of("http://localhost:11434/v1"), ThinkingDialect::ReasoningEffort);
        assert_eq!(of("http://127.0.0.1:8081/v1"), ThinkingDialect::ChatTemplate);
        assert_eq!(
            of("https://api.openai.com.example.org/v1"),
            ThinkingDialect::ChatTemplate
        );
    }

    #[test]
    fn each_dialect_carries_both_settings() {
        for dialect in ThinkingDialect::ALL {
            let (on, off) = (dialect.fields(true), dialect.fields(false));
            assert_eq!(on == off, dialect == ThinkingDialect::Unsent);
        }
    }
}
