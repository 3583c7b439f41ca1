//! The case format: one prompt file, what the Host supplies to its run, and what must come out.

mod decode;
mod expect;
mod host;
mod load;
mod pack;
mod reply;

use std::path::PathBuf;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::Deserialize;

pub use expect::{
    ErrorWant, EventWant, Expect, LocationWant, OutcomeWant, ParseProblemWant, ParseWant, RequestWant, ToolCallWant,
};
pub use host::{
    Action, ActionKind, ActionMoment, AnswerOrder, HostSpec, HttpAnswer, ModelSpec, OperatorAnswer, PolicyRule,
    SearchAnswer, StoreKind, StoreMode, Verdict,
};
pub use load::{CaseFile, LoadError};
pub use pack::{PackSpec, ScriptedPackSpec, ToolAnswer, ToolAnswers, ToolSpec};
pub use reply::{Arguments, ReplyCallSpec, ReplyFailure, ReplySpec, UsageSpec, When};

/// One conformance case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// `chapter/slug`, unique over all files.
    pub id: String,
    /// The heading of the language book that states the rule.
    pub spec: String,
    /// The rule in one sentence.
    pub rule: String,
    /// The prompt file's text.
    #[serde(default)]
    prompt: Option<String>,
    /// The prompt file's bytes, where they are no UTF-8.
    #[serde(default)]
    prompt_base64: Option<String>,
    /// What the Host supplies.
    #[serde(default)]
    pub host: HostSpec,
    /// What must come out.
    pub expect: Expect,
    /// Where the case stands.
    #[serde(skip)]
    pub place: Place,
}

/// Where a case stands, for messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The case file.
    pub file: PathBuf,
    /// The line in that file where the case starts, from 1.
    pub line: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

impl Case {
    /// The bytes of the prompt file.
    ///
    /// # Errors
    /// The case gives no prompt, gives two, or its base64 text does not decode.
    pub fn prompt_bytes(&self) -> Result<Vec<u8>, String> {
        match (&self.prompt, &self.prompt_base64) {
            (Some(text), None) => Ok(text.clone().into_bytes()),
            (None, Some(encoded)) => BASE64
                .decode(encoded.trim())
                .map_err(|error| format!("`prompt_base64` does not decode: {error}")),
            (Some(_), Some(_)) => Err("give `prompt` or `prompt_base64`, not both of them".to_owned()),
            (None, None) => Err("the case has neither `prompt` nor `prompt_base64`".to_owned()),
        }
    }

    /// What serde cannot check: everything that would otherwise turn up as a failure of the run.
    ///
    /// # Errors
    /// The first thing in the case that cannot be meant.
    pub fn validate(&self) -> Result<(), String> {
        self.prompt_bytes()?;
        self.host.validate()?;
        self.expect.validate()
    }
}
